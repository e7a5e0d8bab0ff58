"""Bounds on partial matches: `max_runs` stops one query, by name, and nothing else."""

from __future__ import annotations

import gzip
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import spaseq
from spaseq.cli import main
from spaseq.engine.job import Job
from spaseq.engine.live import Engine
from spaseq.engine.options import RunOptions
from spaseq.errors import InputError, RunError

EX = "http://ex.org/"
STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
KINDS = dict(zip("ABCDEF", "ABCBBB", strict=True))
BOUND = 500
RUNS = 4000
REPLAYED = 40_000


def query(sequence: str, window: str = "1000 SECONDS SLIDING", name: str = "many") -> spaseq.Query:
    defines = "\n".join(f"DEFINE GPM {each} ON S1 {{ ?{each} a :{KINDS[each]} }}" for each in KINDS if each in sequence)
    return spaseq.parse(
        f"PREFIX : <{EX}> SELECT * WITHIN {window} FROM STREAM S1 <{EX}s1> WHERE {{ SEQ({sequence}) {defines} }}",
        name=name,
    )


def events(kinds: str) -> str:
    return "".join(
        f'<urn:e{n}> <{STAMP}> "2026-01-01T00:{n // 60:02}:{n % 60:02}Z"^^<{DATE_TIME}> .\n'
        f"<urn:n{n}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}{kind}> <urn:e{n}> .\n"
        for n, kind in enumerate(kinds)
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "events.nq"
    path.write_text(events("A" + 40 * "B" + "C"))
    return path


def rows_before_the_error(job: Job) -> Iterator[spaseq.Row]:
    with pytest.raises(RunError, match="query 'many' was stopped: more than 500 partial matches"):
        for rows in job.rows():
            yield from rows


@pytest.mark.parametrize("batch", [1, 1000])
@pytest.mark.parametrize(
    ("evaluator", "sequence", "compiled"),
    [
        ("nfa", "A : B:+ : C", False),
        ("nfa", "ALL(A, B:+) : C", False),
        ("nfa", "A : B:+ : C", True),
        ("cea", "A : B:+ : C", True),
        ("lazy", "A : B:+ : C", False),
        ("lazy", "ALL(A, B, D) : E : F", False),
        ("tree", "B : D : E", False),
        ("adaptive", "B : D : E", False),
    ],
)
def test_a_query_with_too_many_partial_matches_is_stopped_and_others_go_on(
    file: Path, evaluator: str, sequence: str, compiled: bool, batch: int
) -> None:
    queries = [query(sequence), query("A : B", name="few")]
    options = RunOptions(evaluator=evaluator, compiled=compiled, batch_events=batch, max_runs=BOUND)
    job = Job(queries, {"S1": file}, options=options)
    rows = list(rows_before_the_error(job))
    assert sum(row.query == "few" for row in rows) == 40


def test_a_stopped_query_releases_what_it_held_and_its_derived_stream_ends(tmp_path: Path) -> None:
    made = spaseq.parse(
        f"PREFIX : <{EX}> REGISTER STREAM <{EX}made> AS CONSTRUCT {{ ?A :to ?C }} WITHIN 1000 SECONDS SLIDING "
        f"FROM STREAM S1 <{EX}s1> WHERE {{ SEQ(A : B:+ : C) DEFINE GPM A ON S1 {{ ?A a :A }} "
        "DEFINE GPM B ON S1 { ?B a :B } DEFINE GPM C ON S1 { ?C a :C } }",
        name="many",
    )
    reader = spaseq.parse(
        f"PREFIX : <{EX}> SELECT * WITHIN 1000 SECONDS FROM STREAM S1 <{EX}s1> FROM STREAM M <{EX}made> "
        "WHERE { SEQ(A) DEFINE GPM A ON S1 { ?A a :A } DEFINE GPM X ON M { ?x :to ?y } }",
        name="reader",
    )
    path = tmp_path / "events.nq"
    path.write_text(events("AC" + 40 * "B" + "A"))
    job = Job([made, reader], {"S1": path}, options=RunOptions(batch_events=4, max_runs=BOUND))
    assert [row.query for row in rows_before_the_error(job)].count("reader") == 2


def test_an_input_that_broke_off_and_a_query_that_was_stopped_are_both_said(tmp_path: Path) -> None:
    path = tmp_path / "events.nq.gz"
    path.write_bytes(gzip.compress(events("A" + 40 * "B").encode())[:-4])
    queries = [query("A : B:+ : C"), query("A : B", name="few")]
    job = Job(queries, {"S1": path}, options=RunOptions(batch_events=4, max_runs=BOUND))
    with pytest.raises(
        RunError, match=r"query 'many' was stopped: .*; .*events\.nq\.gz: the input breaks off"
    ) as raised:
        list(job.rows())
    assert "--max-runs" in raised.value.hint and "mend the file" in raised.value.hint


def test_push_reports_a_stopped_query_once_and_the_others_go_on() -> None:
    found: list[spaseq.Row] = []
    with Engine(max_runs=BOUND) as engine:
        engine.register(query("A : B:+ : C"))
        engine.register(query("A : B", name="few"), on_match=found.append)
        engine.push("S1", f"<urn:a> a <{EX}A> .", 0)
        reported = 0
        for second in range(1, 30):
            try:
                engine.push("S1", f"<urn:b{second}> a <{EX}B> .", second)
            except RunError as error:
                assert "query 'many' was stopped" in str(error) and "max_runs" in error.hint
                reported += 1
    assert (reported, len(found)) == (1, 29)


def test_a_snapshot_remembers_that_a_query_was_stopped() -> None:
    engine = Engine(max_runs=BOUND)
    engine.register(query("A : B:+ : C"))
    engine.push("S1", f"<urn:a> a <{EX}A> .", 0)
    with pytest.raises(RunError):
        for second in range(1, 30):
            engine.push("S1", f"<urn:b{second}> a <{EX}B> .", second)
    engine.push("S1", f"<urn:c> a <{EX}C> .", 40)
    engine.close()
    assert engine.statistics.matches == 0


def test_a_window_keeps_a_query_below_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "events.nq"
    path.write_text(events(60 * "AAB" + "C"))
    job = Job([query("A : B : C", "5 SECONDS SLIDING")], {"S1": path}, options=RunOptions(batch_events=5, max_runs=200))
    assert sum(map(len, job.rows())) == 4


def test_the_command_line_names_the_query_the_bound_and_the_way_out(tmp_path: Path, file: Path) -> None:
    text = tmp_path / "many.rq"
    text.write_text(query("A : B:+ : C").text)
    arguments = ["run", str(text), "--stream", f"S1={file}", "--max-runs", "500"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "error: query 'many' was stopped: more than 500 partial matches" in result.stderr
    assert "--max-runs" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("bound", [0, -1, 1.5, "many", None])
def test_a_bound_that_is_none_is_refused(bound: object) -> None:
    with pytest.raises(InputError, match="max_runs"), Engine(max_runs=bound) as engine:
        engine.register(query("A : B"))


CHOSEN = {
    ("MAX *", ""): [40],
    ("NEXT *", ""): [40],
    ("LAST *", ""): [40],
    ("STRICT *", ""): [40],
    ("*", "LIMIT 1"): [40],
    ("*", "LIMIT 3"): [40, 39, 39],
    ("MAX *", "LIMIT 3"): [40],
    ("DISTINCT ?A ?C", "LIMIT 3"): [40],
    ("*", "AFTER MATCH SKIP PAST LAST EVENT"): [40],
    ("*", "AFTER MATCH SKIP TO NEXT EVENT"): [40],
    ("*", "AFTER MATCH CONSUME ALL LIMIT 3"): [40, 39, 39],
}
"""The B's of each row of A : B:+ : C over A, 40 B's and C, by what stands after SELECT and at the end."""


@pytest.mark.parametrize("evaluator", ["nfa", "lazy", "tree"])
def test_memory_is_bounded_within_a_batch_too(tmp_path: Path, evaluator: str) -> None:
    path = tmp_path / "events.nq"
    path.write_text(events(300 * "B"))
    options = RunOptions(evaluator=evaluator, compiled=False, batch_events=300, max_runs=100_000)
    tracemalloc.start()
    try:
        with pytest.raises(RunError, match="more than 100,000 partial matches"):
            list(Job([query("ALL(B:{1,3}, D)")], {"S1": path}, options=options).rows())
        assert tracemalloc.get_traced_memory()[1] < 5_000 * options.max_runs
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("batch", [1, 1000])
@pytest.mark.parametrize(
    ("evaluator", "compiled"),
    [
        ("nfa", False),
        ("nfa", True),
        ("cea", True),
        ("lazy", False),
        ("tree", False),
        ("adaptive", False),
        ("auto", False),
    ],
)
def test_no_run_is_built_whose_matches_are_all_discarded(
    file: Path, evaluator: str, compiled: bool, batch: int
) -> None:
    bound = (
        REPLAYED if evaluator in ("lazy", "tree", "adaptive") else RUNS
    )  # the last B is found first, and then those before it
    options = RunOptions(evaluator=evaluator, compiled=compiled, batch_events=batch, max_runs=bound)
    for (chosen, last), sizes in CHOSEN.items():
        if evaluator == "cea" and "DISTINCT" in chosen:
            continue  # its automaton knows no values
        if evaluator == "adaptive" and ("PAST" in last or "CONSUME" in last):
            continue  # it cannot run these in a sliding window
        text = query("A : B:+ : C").text.replace("SELECT *", f"SELECT {chosen}") + last
        rows = [row for some in Job([spaseq.parse(text)], {"S1": file}, options=options).rows() for row in some]
        assert [len(dict(row.events)["B"]) for row in rows] == sizes, (chosen, last)


@pytest.mark.parametrize(("chosen", "last"), CHOSEN)
def test_runs_are_left_out_where_events_of_two_streams_may_have_one_time(
    file: Path, tmp_path: Path, chosen: str, last: str
) -> None:
    empty = tmp_path / "empty.nq"
    empty.write_text("")
    text = query("A : B:+ : C").text.replace("SELECT *", f"SELECT {chosen}")
    text = text.replace("WHERE", f"FROM STREAM S2 <{EX}s2> WHERE") + last
    rows = spaseq.run(spaseq.parse(text), {"S1": file, "S2": empty}, max_runs=RUNS)
    assert [len(dict(row.events)["B"]) for row in rows] == CHOSEN[chosen, last]


@pytest.mark.parametrize("batch", [1, 1000])
def test_more_steps_may_come_next_than_a_word_has_bits(tmp_path: Path, batch: int) -> None:
    path, steps = tmp_path / "events.nq", [f"M{n}" for n in range(70)]
    path.write_text(events("ABCA"))
    defines = " ".join(f"DEFINE GPM {name} ON S1 {{ ?{name} a :{'BC'[n % 2]} }}" for n, name in enumerate(steps))
    query = spaseq.parse(
        f"PREFIX : <{EX}> SELECT * WITHIN 10 SECONDS FROM STREAM S1 <{EX}s1> WHERE {{ "
        f"SEQ(A{''.join(f' ; {name}?' for name in steps)}) DEFINE GPM A ON S1 {{ ?A a :A }} {defines} }}"
    )
    rows = list(spaseq.run(query, {"S1": path}, evaluator="nfa", batch_events=batch))
    assert Counter(len(row.events) for row in rows) == {1: 1, 3: 35 * 36 // 2}


@pytest.mark.parametrize("batch", [1, 1000])
@pytest.mark.parametrize("evaluator", ["auto", "nfa", "lazy", "tree"])
def test_a_window_cuts_the_members_of_all_inside_a_batch(tmp_path: Path, evaluator: str, batch: int) -> None:
    path = tmp_path / "events.nq"
    path.write_text(events("ABCA" * 60))
    options = RunOptions(evaluator=evaluator, batch_events=batch, max_runs=3000)
    job = Job([query("ALL(A, B, C)", "4 SECONDS SLIDING")], {"S1": path}, options=options)
    assert sum(map(len, job.rows())) == 356


@pytest.mark.parametrize("batch", [1, 1000])
@pytest.mark.parametrize("evaluator", ["auto", "nfa", "lazy", "tree"])
@pytest.mark.parametrize(("count", "missing"), [(10, 0), (40, 1)])
def test_all_ends_at_once_without_enough_events_or_a_member(
    tmp_path: Path, evaluator: str, batch: int, count: int, missing: int
) -> None:
    path, steps = tmp_path / "events.nq", [f"M{n}" for n in range(12)]
    path.write_text(events(count * "A"))
    defines = " ".join(
        f"DEFINE GPM {name} ON S1 {{ ?{name} a :{'Z' if n < missing else 'A'} }}" for n, name in enumerate(steps)
    )
    each = spaseq.parse(
        f"PREFIX : <{EX}> SELECT * WITHIN 1000 SECONDS SLIDING FROM STREAM S1 <{EX}s1> "
        f"WHERE {{ SEQ(ALL({', '.join(steps)})) {defines} }}"
    )
    job = Job([each], {"S1": path}, options=RunOptions(evaluator=evaluator, batch_events=batch, max_runs=1000))
    assert sum(map(len, job.rows())) == 0
