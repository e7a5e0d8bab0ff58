"""Times at and beyond the ends of int64 nanoseconds: malformed events, never an error of arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import spaseq
from spaseq.errors import InputError

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
