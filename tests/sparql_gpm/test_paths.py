"""Property paths against the literal reading of SPARQL 1.1, Section 18.4, and on cases worth a name."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.paths import Anchor, CompiledPath, path_pairs, reached
from sparql_gpm.pattern import Inverse, Link, Path, PathAlternative, PathSequence, Repeat, Variable
from sparql_gpm.terms import IRI, Term
from tests.drawn import drawn
from tests.sparql_gpm.matcher_oracle import Triples, World, integer
from tests.sparql_gpm.matcher_strategies import PREDICATES, batch_of, graphs, paths

P, Q = PREDICATES
STAR = Repeat(Link(P), at_least_one=False, unbounded=True)
PLUS = Repeat(Link(P), at_least_one=True, unbounded=True)


def pairs(path: Path, events: list[Triples], live: list[bool] | None = None) -> list[tuple[int, Term, Term]]:
    dictionary = Dictionary()
    ids = {iri: dictionary.pin(iri) for iri in PREDICATES}
    view = BatchView(batch_of(events, dictionary))
    mask = None if live is None else np.array(live)
    found = path_pairs(CompiledPath(path, ids), view, mask, None, None)
    rows = zip(*(column.tolist() for column in found), strict=True)
    return [(event, dictionary.term(start), dictionary.term(end)) for event, start, end in rows]


def chain(length: int, predicate: IRI = P) -> Triples:
    return frozenset((integer(i), predicate, integer(i + 1)) for i in range(length))


@settings(max_examples=drawn(500))
@given(paths, st.lists(graphs, min_size=1, max_size=3))
def test_the_pairs_of_a_path_are_those_of_the_specification(path: Path, events: list[Triples]) -> None:
    ends = (Variable("s"), Variable("o"))
    wanted = [(i, s, o) for i, graph in enumerate(events) for s, o in World(graph, {}).path(ends[0], path, ends[1])]
    assert Counter(pairs(path, events)) == Counter(wanted)


def test_a_closure_does_not_leave_its_event() -> None:
    first, second = frozenset({(integer(0), P, integer(1))}), frozenset({(integer(1), P, integer(2))})
    assert sorted(pairs(PLUS, [first, second]), key=repr) == [(0, integer(0), integer(1)), (1, integer(1), integer(2))]


def test_a_closure_ends_on_a_cycle() -> None:
    cycle = frozenset((integer(i), P, integer((i + 1) % 4)) for i in range(4))
    assert len(pairs(PLUS, [cycle])) == 16


def test_a_long_chain_has_all_its_pairs() -> None:
    assert len(pairs(PLUS, [chain(60)])) == 60 * 61 // 2
    assert len(pairs(STAR, [chain(60)])) == 60 * 61 // 2 + 61


def test_sequences_and_alternatives_count_every_way() -> None:
    diamond = frozenset((integer(a), P, integer(b)) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3)))
    twice = PathSequence(Link(P), Link(P))
    assert Counter(pairs(twice, [diamond])) == Counter({(0, integer(0), integer(3)): 2})
    both_ways = PathAlternative(Link(P), Inverse(Inverse(Link(P))))
    assert set(Counter(pairs(both_ways, [diamond])).values()) == {2}


def test_events_that_are_not_wanted_are_not_walked() -> None:
    assert {event for event, _, _ in pairs(STAR, [chain(2), chain(3)], [False, True])} == {1}


OPTIONAL = Repeat(Link(P), at_least_one=False, unbounded=False)


@settings(max_examples=drawn(300))
@example(Repeat(OPTIONAL, True, True), [frozenset()], 0, "start")  # a written term is no node of the graph
@example(PathSequence(OPTIONAL, Repeat(OPTIONAL, True, True)), [frozenset()], 0, "both")
@given(
    paths, st.lists(graphs, min_size=1, max_size=3), st.integers(0, 5), st.sampled_from(("start", "end", "both", ""))
)
def test_a_path_followed_from_one_end_connects_the_same_pairs(
    path: Path, events: list[Triples], given_term: int, ends: str
) -> None:
    dictionary = Dictionary()
    compiled = CompiledPath(path, {iri: dictionary.pin(iri) for iri in PREDICATES})
    view = BatchView(batch_of(events, dictionary))
    term = dictionary.pin(integer(given_term))
    every = np.arange(len(events), dtype=np.int64)
    anchor = Anchor(every, np.full(len(events), term, dtype=np.int64), written=True)
    start, end = (anchor if ends in (side, "both") else None for side in ("start", "end"))
    expected = zip(*(column.tolist() for column in path_pairs(compiled, view, None, start, end)), strict=True)
    found = list(zip(*(column.tolist() for column in reached(compiled, view, None, start, end)), strict=True))
    assert len(found) == len(set(found))

    def wanted(pair: tuple[int, int, int]) -> bool:
        return (start is None or pair[1] == term) and (end is None or pair[2] == term)

    assert set(filter(wanted, found)) == set(filter(wanted, expected))


def test_sequences_of_closures_cost_what_their_solutions_cost() -> None:
    size = 1_000
    dictionary = Dictionary()
    cycle: Triples = frozenset((integer(i), P, integer((i + 1) % size)) for i in range(size))
    path = PathSequence(STAR, PathSequence(STAR, STAR))
    view = BatchView(batch_of([cycle], dictionary))
    anchor = Anchor(np.zeros(1, dtype=np.int64), np.array([dictionary.pin(integer(0))]), written=True)
    compiled = CompiledPath(path, {P: dictionary.pin(P)})
    for start, end in ((anchor, None), (None, anchor)):
        assert len(reached(compiled, view, None, start, end).events) == size
