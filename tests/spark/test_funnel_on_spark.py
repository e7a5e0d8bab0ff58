"""The funnel of a Spark job is the sum over its tasks and shards: the counts of the embedded run."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparql_gpm.terms import IRI, Literal
from spaseq.engine.staged import StagedJob
from spaseq.engine.staged_funnels import staged_funnels
from spaseq.errors import InputError
from spaseq.inputs.texts import InputText
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.runtime.spark.accumulated import SHARDS, Counted
from spaseq.runtime.zero_rows.tally import Tally
from tests.drawn import drawn
from tests.runtime.test_funnel import QUERY, counted
from tests.spark.pipeline import MicroBatch, job_of, run_stages
from tests.spark.test_rescaling import divided
from tests.strategies.keyed import keyed_queries
from tests.strategies.query import queries
from tests.strategies.stream import Arrived, batches, cuts, interleaved, streams, to_trig

SECOND = 1_000_000_000
QUERY_BY_KEY = """PREFIX : <http://x/> SELECT ?k WITHIN 9 SECONDS SLIDING FROM STREAM S1 <http://x/s>
    WHERE { SEQ(A ; B) DEFINE GPM A ON S1 { ?k :a ?v } DEFINE GPM B ON S1 { ?k :b ?v } }"""
END = InputText(b"#!spaseq end", "end")


def micro_batches(pieces: Sequence[Sequence[Arrived]], names: Sequence[str]) -> list[MicroBatch]:
    """Each piece as a micro-batch, in which two tasks read a stream; then the end of all streams."""
    found = [{name: tasks([e[1:] for e in piece if e[0] == name]) for name in names} for piece in pieces]
    return [*found, {name: [[END]] for name in names}]


def tasks(events: Sequence[tuple[int, str, frozenset[tuple[object, ...]]]]) -> list[list[InputText]]:
    half = (len(events) + 1) // 2
    parts = [part for part in (events[:half], events[half:]) if part]
    return [[InputText(to_trig(part).encode(), "events", 0, "trig")] for part in parts]


def event(second: int, kind: str, key: int) -> Arrived:
    triple = IRI(f"http://x/k{key}"), IRI(f"http://x/{kind}"), Literal(str(key))
    return "S1", second * SECOND, f"urn:e{second}", frozenset({triple})


def analyzed(query: Query, names: Sequence[str], shards: int, *, static: bool, evaluator: str = "nfa") -> StagedJob:
    job = job_of([query], names, shards, 0, static, evaluator=evaluator)
    return replace(job, options=replace(job.options, analyze=True))


@settings(max_examples=drawn(24))
@given(st.data())
def test_the_counts_are_those_of_the_embedded_run(data: st.DataObject) -> None:
    query = parse(data.draw(queries() | keyed_queries()), "q")
    drawn_streams = data.draw(streams())
    names = [stream.name for stream in query.streams]
    arrived = interleaved({name: drawn_streams[name] for name in names})
    expected = counted(query, [arrived], optimise=False, evaluator="nfa")[0]
    static = data.draw(st.booleans())
    job, tally = analyzed(query, names, data.draw(st.integers(1, 3)), static=static), Tally()
    pieces = [arrived] if static else batches(arrived, data.draw(cuts(len(arrived))))
    run_stages(job, micro_batches(pieces, names), tally=tally)
    (found,) = staged_funnels(job, tally)
    assert found.steps == expected.steps
    if not query.over_matches:
        assert found.rows == expected.rows
    tells_lost = static and not job.plans[0].distribution.key
    edges = tuple(edge if tells_lost else replace(edge, lost=None) for edge in expected.edges)
    assert (found.edges, found.matches, found.removed) == (edges, expected.matches, expected.removed)


def test_what_spark_runs_again_is_not_counted_again() -> None:
    first, second = (Counted.of(Tally(rows=1), 0, (SHARDS, number)) for number in range(2))
    total, task = Counted(), Counted()
    task.add(second)
    for part in (first, task, deepcopy(task), Counted(), deepcopy(first)):
        total.add(part)
    assert total.tally.rows == 2
    total.add(Counted.of(Tally(rows=5), 1, (SHARDS, 0)))
    total.add(Counted.of(Tally(rows=5), 1, (SHARDS, 0)))
    assert (total.tally.rows, task.tally.rows) == (7, 1)


def test_a_job_that_goes_on_counts_what_it_has_read_since_and_one_of_more_shards_no_partial_matches() -> None:
    query = parse(QUERY_BY_KEY, "q")
    arrived = [event(1, "a", 1), event(2, "a", 2), event(3, "b", 1), event(4, "b", 2), event(5, "b", 1)]
    first, *rest = micro_batches([arrived[:3], arrived[3:]], ["S1"])
    states: dict[int, bytes] = {}

    def edges(shards: int, batches: Sequence[MicroBatch], number: int) -> list[tuple[int | None, int | None]]:
        job, tally = analyzed(query, ["S1"], shards, static=False), Tally()
        run_stages(job, batches, tally=tally, states=states, first=number)
        (found,) = staged_funnels(job, tally)
        assert found.steps[1].solutions == 1 + number
        return [(edge.waited, edge.took) for edge in found.edges]

    assert edges(2, [first], 0) == [(1, 2), (2, 1)]
    kept = dict(states)
    assert edges(2, rest, 1) == [(1, 0), (0, 1)]
    states = divided(kept, 4)
    assert edges(4, rest, 1) == [(None, None), (None, None)]


def test_queries_that_feed_each_other_are_refused() -> None:
    from spaseq.engine import staged

    text = QUERY.replace("SELECT ?a ?b", "REGISTER STREAM <http://x/d> AS CONSTRUCT { ?a <http://x/then> ?b }")
    reader = QUERY.replace("<http://x/s>", "<http://x/d>")
    job = job_of([parse(text, "maker"), parse(reader, "reader")], ["http://x/s"], 1, 0, True)
    with pytest.raises(InputError, match="query 'reader' reads what another one derives"):
        staged.check(replace(job, options=replace(job.options, analyze=True)))
