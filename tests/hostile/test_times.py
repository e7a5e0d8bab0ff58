"""Times at and beyond the ends of int64 nanoseconds: malformed events, never an error of arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import spaseq
from arrays.times import BEFORE_ALL
from automata.lazy import partial
from automata.lazy.horizon import Horizon
from automata.plan.program import Window
from automata.slices.timeline import Timeline
from spaseq.errors import InputError
from tests.conformance.times import from_iso

XSD = "http://www.w3.org/2001/XMLSchema#"
QUERY = "SELECT ?o WITHIN %s FROM STREAM S <urn:S> { SEQ(A) DEFINE GPM A ON S { ?s <urn:p> ?o } }"
FIRST, LAST = "1677-09-21T00:12:43.145224193Z", "2262-04-11T23:47:16.854775806Z"
BEYOND = [
    ("9999-12-31T23:59:59Z", "dateTime"), ("2262-04-11T23:47:16.854775807Z", "dateTime"),
    ("-9999-01-01T00:00:00Z", "dateTime"), ("1677-09-21T00:12:43Z", "dateTime"), ("2262-04-12", "date"),
    ("9" * 400, "integer"), ("1e300", "double"), ("INF", "double"), ("-9223372037", "decimal"),
]  # fmt: skip


def event(graph: str, time: str, kind: str = "dateTime") -> str:
    stamp = f'<{graph}> <http://www.w3.org/ns/prov#generatedAtTime> "{time}"^^<{XSD}{kind}>'
    return f'{stamp} .\n<urn:s> <urn:p> "{graph}" <{graph}> .\n'


@pytest.mark.parametrize("compiled", [False, True])
def test_an_event_of_a_time_that_int64_does_not_reach_is_a_dead_letter(tmp_path: Path, compiled: bool) -> None:
    beyond = "".join(event(f"urn:x{n}", *time) for n, time in enumerate(BEYOND))
    (tmp_path / "s.nq").write_text(event("urn:a", "2026-01-01T00:00:00Z") + beyond + event("urn:b", LAST))
    options = spaseq.RunOptions(dead_letter=tmp_path / "dead", compiled=compiled)
    job = spaseq.Job([spaseq.parse(QUERY % "1 HOUR")], {"S": tmp_path / "s.nq"}, None, options)
    found = [row.events for rows in job.rows() for row in rows]
    job.close()
    assert found == [(("A", ("urn:a",)),), (("A", ("urn:b",)),)]
    assert job.statistics.dead_letters == {"bad timestamp": len(BEYOND)}
    letters = [json.loads(line) for line in (tmp_path / "dead").read_text().splitlines()]
    assert [letter["sort"] for letter in letters] == ["malformed"] * len(BEYOND)


@pytest.mark.parametrize("within", ["1 HOUR", "90000 DAYS SLIDING", "106751 DAYS", "9 EVENTS SLIDING"])
@pytest.mark.parametrize("max_delay_ns", [0, 1, 10**9 * 86_400 * 106_751, 2**63 - 2])
def test_times_at_both_ends_run_with_every_window_and_delay(tmp_path: Path, within: str, max_delay_ns: int) -> None:
    text = event("urn:a", FIRST) + event("urn:b", "2026-01-01T00:00:00Z") + event("urn:c", LAST)
    (tmp_path / "s.nq").write_text(text)
    query = spaseq.parse(QUERY % within)
    rows = list(spaseq.run(query, {"S": tmp_path / "s.nq"}, max_delay_ns=max_delay_ns))
    assert [row.events for row in rows] == [(("A", (f"urn:{name}",)),) for name in "abc"]


@pytest.mark.parametrize("time", [10**30, -(10**30), 2**63, 1e300])
def test_a_time_of_a_table_that_int64_does_not_reach_is_refused(time: float) -> None:
    columns = {"graph": ["urn:e"], "subject": ["urn:s"], "predicate": ["urn:p"], "object": ["urn:o"]}
    table = pa.table({**columns, "time": pa.array([float(time)])})
    with spaseq.Engine() as engine:
        engine.register(spaseq.parse(QUERY % "1 HOUR"))
        with pytest.raises(InputError, match="not a time"):
            engine.push_batch("S", table)
        engine.push("S", "<urn:s> <urn:p> 1 .", 1)
    assert engine.statistics.matches == 1


BOTH = """SELECT * WITHIN %s SLIDING FROM STREAM S <urn:S> { SEQ(ALL(A, B))
  DEFINE GPM A ON S { ?a <urn:p> "urn:a" } DEFINE GPM B ON S { ?b <urn:p> "urn:b" } } AFTER MATCH CONSUME ALL"""
FAR = ("1677-09-22T00:00:0", "1800-01-01T00:00:0", "1860-01-01T00:00:0", "2080-01-01T00:00:0", "2150-01-01T00:00:0")


@pytest.fixture(params=FAR)
def two_events(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Path]:
    """Two events, four seconds apart, before or after half, or a quarter, of the range of times."""
    path = tmp_path / "s.nq"
    path.write_text(event("urn:a", f"{request.param}1Z") + event("urn:b", f"{request.param}5Z"))
    return {"S": path}


@pytest.mark.parametrize("evaluator", ["auto", "nfa", "lazy", "tree"])
def test_all_finds_its_events_wherever_they_are(two_events: dict[str, Path], evaluator: str) -> None:
    rows = list(spaseq.run(spaseq.parse(BOTH % "1 HOUR"), two_events, evaluator=evaluator))
    assert [row.events for row in rows] == [(("A", ("urn:a",)), ("B", ("urn:b",)))]


def test_a_row_is_explained_wherever_it_is(two_events: dict[str, Path]) -> None:
    why = spaseq.why(spaseq.parse(BOTH % "1 HOUR"), two_events, 1)
    assert [step.event for step in why.steps] == ["urn:a", "urn:b"]
    assert spaseq.why_not(spaseq.parse(BOTH % "1 HOUR"), two_events).matches == 1


def test_a_window_that_is_too_short_is_named_wherever_the_events_are(two_events: dict[str, Path]) -> None:
    query = spaseq.parse(BOTH.replace("ALL(A, B)", "A : B") % "3 SECONDS")
    found = spaseq.why_not(query, two_events)
    assert [fault.cause for attempt in found.attempts for fault in attempt.faults] == ["window"]
    job = spaseq.Job([query], two_events)
    assert not [rows for rows in job.rows() if len(rows)]
    assert "window of 3" in job.zero_rows()[0]
    job.close()


@pytest.mark.parametrize(
    "window", ["1 HOUR", "106751 DAYS", "1 HOUR EVERY 20 MINUTES", "106751 DAYS EVERY 100000 DAYS"]
)
def test_periods_beyond_the_range_of_times_are_shown_and_their_columns_have_the_nearest_time(
    window: str, tmp_path: Path
) -> None:
    (tmp_path / "s.nq").write_text(event("urn:a", FIRST) + event("urn:b", LAST))
    query = spaseq.parse(QUERY.replace("SELECT ?o", "SELECT OVER MATCHES (COUNT(*) AS ?n)") % window)
    rows = list(spaseq.run(query, {"S": tmp_path / "s.nq"}))
    assert rows[0].start < from_iso(FIRST) < rows[0].time and rows[-1].start < from_iso(LAST) < rows[-1].time
    table = spaseq.run(query, {"S": tmp_path / "s.nq"}).to_arrow()
    starts, ends = (table.column(name).cast(pa.int64()).to_pylist() for name in ("start", "time"))
    assert starts[0] == from_iso(FIRST) and ends[-1] == from_iso(LAST) and len(starts) == len(rows)


def test_an_event_of_a_window_that_ends_after_all_times_has_the_last_time(tmp_path: Path) -> None:
    (tmp_path / "s.nq").write_text(event("urn:a", LAST))
    made = spaseq.parse(
        "REGISTER STREAM <urn:D> AS CONSTRUCT OVER MATCHES { <urn:s> <urn:p> COUNT(*) } WITHIN 1 HOUR "
        "FROM STREAM S <urn:S> { SEQ(A) DEFINE GPM A ON S { ?s <urn:p> ?o } }"
    )
    reader = spaseq.parse(QUERY.replace("STREAM S <urn:S>", "STREAM S <urn:D>") % "1 HOUR", name="reader")
    rows = list(spaseq.run([made, reader], {"urn:S": tmp_path / "s.nq"}))
    assert [row.time for row in rows if row.query == "reader"] == [from_iso(LAST)]


@pytest.mark.parametrize("evaluator", ["lazy", "tree"])
def test_a_state_with_bounds_that_are_times_goes_on(evaluator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In old states a partial match that has bound nothing has 2^62 and -2^62 as bounds."""
    rows: list[spaseq.Row] = []
    with monkeypatch.context() as before:
        before.setattr(partial, "AFTER_ALL", 1 << 62)
        before.setattr(partial, "BEFORE_ALL", -(1 << 62))
        engine = spaseq.Engine(evaluator=evaluator)
        engine.register(spaseq.parse(BOTH % "1 HOUR"), rows.append)
        engine.push("S", '<urn:s> <urn:p> "urn:a" .', "2026-01-01T00:00:01Z")
        state = engine.snapshot()
    engine = spaseq.Engine.restore(state, on_match={"query": rows.append})
    engine.push("S", '<urn:s> <urn:p> "urn:b" .', "2026-01-01T00:00:02Z")
    for second, name in enumerate("ab"):
        engine.push("S", f'<urn:s> <urn:p> "urn:{name}" .', f"2150-01-01T00:00:0{second}Z")
    engine.close()
    assert len(rows) == 2


def test_a_state_without_a_time_yet_is_before_all_times() -> None:
    horizon = Horizon(Window(10, in_events=False, sliding=True), Timeline(True))
    horizon.restore([-(1 << 61), None])
    assert horizon.time == BEFORE_ALL
