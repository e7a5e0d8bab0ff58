"""The partial matches of a query that runs: where they stand, and which edges were taken, in lists and in columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from automata.plan.products import product_positions
from sparql_gpm.dictionary import Dictionary
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.physical.program import compile_program
from spaseq.runtime.embedded.audience import Reader
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.stages.run_counts import RunCounts
from tests.drawn import drawn
from tests.driving import as_batch
from tests.reference import funnel as literal
from tests.reference.stream import merge
from tests.reference.whole import matches
from tests.reference.world import partitions, whole_world
from tests.strategies import batches, cuts, interleaved, queries, streams
from tests.strategies_stream import Arrived

END = 2_000_000_000_000_000_000
"""A time after all events that are drawn."""


def run_counts(query: Query, pieces: Sequence[Sequence[Arrived]], moved: int | None, time: int) -> RunCounts | None:
    """The counts once no event before `time` is to come, the state having been moved to another network on the way."""
    dictionary = Dictionary()
    setup = Setup({}, RunOptions(compiled=False, evaluator="nfa"), dictionary)

    def network(state: list[Any] | None) -> tuple[Network, Reader]:
        made, operator = Network(dictionary, 0), setup.operator(build(query))
        rows: list[object] = []
        return made, made.add(operator, rows.extend) if state is None else made.add_restored(
            operator, rows.extend, state
        )

    running, reader = network(None)
    for number, piece in enumerate(pieces):
        if number == moved:
            running, reader = network(running.state_of(reader))
        for name, iri in ((stream.name, stream.iri) for stream in query.streams):
            if some := [event for event in piece if event[0] == name]:
                running.push(iri, as_batch(some, dictionary))
    for stream in query.streams:
        running.advance(stream.iri, time)
    return reader.run_counts(time)


@settings(max_examples=drawn(25))
@given(st.data())
def test_edges_taken_are_those_of_the_reference(data: st.DataObject) -> None:
    query = parse(data.draw(queries()), "q")
    arrivals = data.draw(streams())
    arrivals = {stream.name: arrivals[stream.name] for stream in query.streams}
    arrived = interleaved(arrivals)
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    counts = run_counts(query, pieces, data.draw(st.none() | st.integers(0, max(0, len(pieces) - 1))), END)
    if counts is None or counts.taken is None:
        return
    parts = list(partitions(whole_world(query, merge(arrivals), {})))
    expected = sum((literal.edges_taken(part) for part in parts), Counter[tuple[str, str]]())
    labels = ["start"] + [
        " & ".join(build(query).patterns[symbol].name for symbol in position.symbols)
        for position in counts.plan.positions[1:]
    ]
    took, unknown = Counter[tuple[str, str]](), set()
    for edge, count in zip(counts.plan.edges, counts.taken, strict=True):
        between = labels[edge.source], labels[edge.target]
        if count is None:
            unknown.add(between)
        else:
            took[between] += count
    for between in took.keys() | expected.keys():
        assert between in unknown or took[between] == expected[between], (between, took, expected)
    if not build(query).over and counts.matches is not None and not counts.plan.selects:
        assert counts.matches == sum(len(matches(part)) for part in parts)


@settings(max_examples=drawn(15))
@given(st.data())
def test_partial_matches_stand_at_the_same_states_in_lists_and_in_columns(data: st.DataObject) -> None:
    query = parse(data.draw(queries()), "q")
    arrived = [event for event in interleaved(data.draw(streams())) if event[0] in {s.name for s in query.streams}]
    if not arrived or product_positions(compile_program(build(query)).plan):
        return  # a product stands for the partial matches that end in it
    time = data.draw(st.sampled_from([max(event[1] for event in arrived), END]))
    alone, together = (run_counts(query, pieces, None, time) for pieces in ([[event] for event in arrived], [arrived]))
    assert alone is not None and together is not None
    assert alone.standing == together.standing
    if time == END and not together.plan.program.window.in_events and together.standing is not None:
        assert not any(together.standing)
