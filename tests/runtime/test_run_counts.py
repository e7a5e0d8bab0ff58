"""The partial matches of a query that runs: where they stand, and which edges were taken, in lists and in columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import protocol
from automata.plan.products import product_positions
from automata.plan.pruning import is_gapless, pruning_of, skips_later_starts
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, RDF, BlankNode
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.physical.program import compile_program
from spaseq.runtime.embedded.audience import Reader
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.stages.run_counts import RunCounts, WaitingRun
from tests.drawn import drawn
from tests.driving import as_batch
from tests.reference import funnel as literal
from tests.reference.stream import merge
from tests.reference.whole import Match, matches
from tests.reference.world import partitions, whole_world
from tests.strategies.keyed import keyed_queries
from tests.strategies.query import queries
from tests.strategies.stream import SECOND, Arrived, batches, cuts, interleaved, streams

CHAIN = """SELECT ?k WITHIN 100 SECONDS SLIDING FROM STREAM S1 <http://ex.org/s1>
WHERE { SEQ(A : B : C) DEFINE GPM A ON S1 { ?k a <urn:A> } DEFINE GPM B ON S1 { ?k a <urn:B> }
  DEFINE GPM C ON S1 { ?k a <urn:C> } }"""
END = 2_000_000_000_000_000_000
"""A time after all events that are drawn."""


def run_counts(query: Query, pieces: Sequence[Sequence[Arrived]], moved: int | None, time: int) -> RunCounts | None:
    """The counts once no event before `time` is to come, the state having been moved to another network on the way."""
    return reading(query, pieces, moved, time).run_counts(time)


def reading(query: Query, pieces: Sequence[Sequence[Arrived]], moved: int | None, time: int) -> Reader:
    """The query once no event before `time` is to come, likewise."""
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
    return reader


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
        found = sum(len(matches(part)) for part in parts)
        waiting = counts.standing[-1] if counts.standing is not None and build(query).window.in_events else 0
        assert counts.matches <= found <= counts.matches + waiting  # no time ends a window of events


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


@settings(max_examples=drawn(40))
@given(st.data())
def test_partial_matches_that_wait_are_those_of_the_reference_and_none_that_goes_on_is_missing(
    data: st.DataObject,
) -> None:
    query = parse(data.draw(queries() | keyed_queries()), "q")
    arrivals = data.draw(streams())
    arrivals = {stream.name: arrivals[stream.name] for stream in query.streams}
    arrived = interleaved(arrivals)
    if not arrived:
        return
    now = data.draw(st.sampled_from([event[1] for event in arrived]))
    before = [event for event in arrived if event[1] <= now]
    pieces = data.draw(st.sampled_from([[before], [[event] for event in before]]))
    with patch.object(protocol, "FEW_EVENTS_MAX", data.draw(st.sampled_from([0, protocol.FEW_EVENTS_MAX]))):
        reader = reading(query, pieces, data.draw(st.none() | st.just(0)), now + 1)
    waiting = waiting_by_state(reader, now + 1)
    if waiting is None or reader.run_counts(now + 1).plan.unordered:  # type: ignore[union-attr]
        return  # a run inside ALL( ) has the events of its own member alone
    found = [run for runs in waiting for run in runs]
    worlds = list(partitions(whole_world(query, merge(arrivals), {})))
    known = set[tuple[tuple[str, str], ...]]().union(*(literal.partial_matches(world) for world in worlds))
    assert {taken(run) for run in found} <= known
    if not chooses(query):
        for match in (match for world in worlds for match in matches(world)):
            assert any(waits_for(run, match, now) for run in found) or not is_open(match, now), match


@pytest.mark.parametrize("sequence", ["ALL(A, B) : C", "ALL(A+, B) : C", "C? : ALL(A, B)", "A? : B : C"])
def test_no_partial_match_stands_anywhere_before_its_first_event(sequence: str) -> None:
    query = parse(CHAIN.replace("A : B : C", sequence), "q")
    of_none = ("S1", SECOND, "urn:e", frozenset({(IRI("urn:a"), IRI(RDF + "type"), IRI("urn:D"))}))
    counts = run_counts(query, [[of_none]], None, 2 * SECOND)
    assert counts is not None
    assert counts.standing == RunCounts.none_yet(counts.plan).standing


def test_events_that_stand_for_partial_matches_are_put_together() -> None:
    query = parse(CHAIN, "q")
    arrived = [
        (
            "S1",
            SECOND * number,
            f"urn:e{number}",
            frozenset({(IRI(f"urn:{key}"), IRI(RDF + "type"), IRI(f"urn:{kind}"))}),
        )
        for number, (key, kind) in enumerate(40 * [("a", "A"), ("b", "A"), ("a", "B")])
    ]
    now = 120 * SECOND
    together = reading(query, [arrived], None, now)
    alone = reading(query, [[event] for event in arrived], None, now)
    first = together.waiting(1, 3, now)
    assert first is not None and first == alone.waiting(1, 3, now)
    assert [(taken(run), run.bindings, run.until) for run in first] == [
        ((("A", f"urn:e{number}"),), (("k", IRI(f"urn:{key}")),), (number + 100) * SECOND)
        for number, key in ((118, "b"), (117, "a"), (115, "b"))
    ]
    second, rows = together.waiting(2, 10_000, now), alone.waiting(2, 10_000, now)
    assert second is not None and rows is not None and len(second) == len(rows) == 33 * 34 / 2
    assert sorted(second, key=taken) == sorted(rows, key=taken)
    assert second[:2] == together.waiting(2, 2, now)
    assert second[0].events == (("A", ("urn:e117",)), ("B", ("urn:e119",)))


def test_events_whose_window_of_events_has_passed_stand_for_no_partial_match() -> None:
    query = parse(CHAIN.replace("100 SECONDS", "40 EVENTS"), "q")
    kinds = [*"ABABAB" * 10, *"X" * 30]
    arrived = [
        ("S1", SECOND * number, f"urn:e{number}", frozenset({(IRI("urn:a"), IRI(RDF + "type"), IRI(f"urn:{kind}"))}))
        for number, kind in enumerate(kinds)
    ]
    now = 100 * SECOND
    together = reading(query, [arrived[:60], arrived[60:]], None, now)
    alone = reading(query, [[event] for event in arrived], None, now)
    for state in (1, 2):
        found, rows = together.waiting(state, 10_000, now), alone.waiting(state, 10_000, now)
        assert found and rows and sorted(found, key=repr) == sorted(rows, key=repr)


@settings(max_examples=drawn(40))
@given(st.data())
def test_partial_matches_are_put_together_of_events_as_rows_hold_them(data: st.DataObject) -> None:
    text = re.sub("SELECT (STRICT|NEXT|LAST|MAX) ", "SELECT ", data.draw(keyed_queries()))
    query = parse(re.sub(r"SEQ\(.*\)", lambda found: re.sub(" [;,] ", " : ", found[0]), text), "q")
    arrived = [event for event in interleaved(data.draw(streams())) if event[0] in {s.name for s in query.streams}]
    if not arrived:
        return
    now = max(event[1] for event in arrived) + 1
    with patch.object(protocol, "FEW_EVENTS_MAX", 0):
        together = reading(query, [arrived], None, now)
    alone, counts = reading(query, [[event] for event in arrived], None, now), together.run_counts(now)
    assert counts is not None
    for state in range(len(counts.standing or ())):
        found, rows = together.waiting(state, 10_000, now), alone.waiting(state, 10_000, now)
        if found is not None and rows is not None:
            assert sorted(found, key=repr) == sorted(rows, key=repr), text


def waiting_by_state(reader: Reader, time: int) -> list[list[WaitingRun]] | None:
    """By position the partial matches of the query, as many as are counted there, newest first; None: not kept so."""
    counts = reader.run_counts(time)
    if counts is None or counts.standing is None:
        return None
    found = [reader.waiting(state, 1_000_000, time) for state in range(len(counts.standing))]
    listed = [runs for runs in found if runs is not None]
    if len(listed) < len(found):
        return None
    products = product_positions(counts.plan)
    assert all(len(runs) == counts.standing[state] for state, runs in enumerate(listed) if state not in products)
    for state, runs in enumerate(listed):
        assert reader.waiting(state, 2, time) == runs[:2]
        assert all(run.until is None or run.until >= time for run in runs)
    return listed


def chooses(query: Query) -> bool:
    """True if partial matches of matches are left out, because other matches are chosen."""
    plan = compile_program(build(query)).plan
    return bool(pruning_of(plan) or is_gapless(plan) or plan.possessive or skips_later_starts(plan))


def taken(run: WaitingRun) -> tuple[tuple[str, str], ...]:
    """The steps and the graph names of its events, sorted."""
    return tuple(sorted((step, name) for step, names in run.events for name in names))


def is_open(match: Match, now: int) -> bool:
    """True if some events of a match have come by now, and others have not."""
    return len({entry.event.time <= now for entry in match.entries}) == 2


def waits_for(run: WaitingRun, match: Match, now: int) -> bool:
    """True if a partial match is what has come of the match by now, with its values and in time for its next event."""
    come = [entry for entry in match.entries if entry.event.time <= now]
    ahead = min((entry.event.time for entry in match.entries if entry.event.time > now), default=now)
    bound = {name for entry in come for name, _ in entry.solution}
    values = {(name, value) for entry in come for name, value in entry.solution}
    same = taken(run) == tuple(sorted((entry.step, entry.event.name) for entry in come))
    own = {(name, term) for name, term in run.bindings if name in bound and not isinstance(term, BlankNode)}
    return same and own <= values and (run.until is None or ahead <= run.until)


def test_edges_after_which_look_ahead_left_out_runs_are_not_counted() -> None:
    """A B X: where the next event brings no C, a B that follows an A is no row, nor is the A."""
    text = CHAIN.replace("A : B : C", "A , B , C")
    arrived = [
        ("S1", SECOND * number, f"urn:e{number}", frozenset({(IRI("urn:a"), IRI(RDF + "type"), IRI(f"urn:{kind}"))}))
        for number, kind in enumerate("ABX" * 100 + "ABC")
    ]
    counts = run_counts(parse(text, "q"), [arrived], None, END)
    assert counts is not None and counts.taken is not None
    by_target = {counts.plan.edges[n].target: taken for n, taken in enumerate(counts.taken)}
    assert [by_target[position] for position in (1, 2, 3)] == [101, None, 1]
