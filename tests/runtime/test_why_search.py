"""The matches that explanations look into are those of the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from sparql_gpm.terms import Term
from spaseq.lang.ast import Query
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.reasons import absences, matches_of, steps_taken
from spaseq.runtime.why.runs import Run
from spaseq.runtime.why.search import whole
from tests.driving import run_engine
from tests.random_pairs import Pair, drawn
from tests.reference.stream import Events, merge
from tests.reference.whole import matches
from tests.reference.world import partitions, whole_world
from tests.why_evidence import evidence_of, solution_of

PAIRS = 72
ROWS = 2
"""Rows of a pair that are looked at."""


def test_complete_runs_that_are_matches_are_the_matches_of_the_reference() -> None:
    seen = 0
    for number in range(PAIRS):
        pair = drawn(11, number)
        if pair is None or pair.query.window.hop is not None:
            continue
        events = merged_events(pair)
        expected = Counter(expected_matches(pair.query, events))
        assert Counter(found_matches(pair.query, events)) == expected, number
        seen += sum(expected.values())
    assert seen > PAIRS


def test_every_row_is_found_again_with_its_events_and_values() -> None:
    seen = 0
    for number in range(PAIRS // 2):
        pair = drawn(12, number)
        if pair is None or pair.query.over_matches:
            continue
        evidence = evidence_of(pair.query, merged_events(pair))
        for row in run_engine(pair.query, [pair.arrived])[:ROWS]:
            first = next(matches_of(evidence, row))
            steps = steps_taken(evidence, first)
            for name, events in row.events:
                assert tuple(dict.fromkeys(step.event for step in steps if step.step == name)) == events
            assert all(condition.holds for step in steps for condition in step.conditions)
            assert all(absent.start <= absent.end for absent in absences(evidence, first))
            seen += 1
    assert seen > PAIRS // 6


def merged_events(pair: Pair) -> Events:
    """The events of a pair, by the reference."""
    return merge({s.name: tuple(e[1:] for e in pair.arrived if e[0] == s.name) for s in pair.query.streams})


def expected_matches(query: Query, events: Events) -> Iterator[object]:
    hidden = hidden_variables(query)
    for part in partitions(whole_world(query, events, {})):
        for match in matches(part):
            yield (
                tuple(part.given.values()),
                frozenset((e.step, e.event.name, without(hidden, e.solution)) for e in match.entries),
            )


def found_matches(query: Query, events: Events) -> Iterator[object]:
    evidence = evidence_of(query, events)
    for world in evidence.worlds:
        search = whole(world)
        given = tuple(evidence.term(value) for value in world.given.values())
        yield from {(given, identity(evidence, run)) for run in search.complete() if search.matches(run)}


def identity(evidence: Evidence, run: Run) -> object:
    """The same for matches that are one."""
    patterns, hidden = evidence.compiled.query.patterns, hidden_variables(evidence.compiled.query.parsed)
    return frozenset(
        (patterns[e.symbol].name, evidence.name(e.event), without(hidden, solution_of(evidence, e)))
        for e in run.entries
    )


def hidden_variables(query: Query) -> frozenset[str]:
    """The variables of USING: where a step binds one of them, the product may leave it to the partition."""
    return frozenset(query.partition if query.using else ())


def without(names: frozenset[str], solution: Iterable[tuple[str, Term]]) -> frozenset[tuple[str, Term]]:
    return frozenset((name, term) for name, term in solution if name not in names)
