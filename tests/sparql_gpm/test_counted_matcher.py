"""Matching stage by stage gives the same solutions, and counts the events that each stage leaves over."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sparql_gpm.algebra.stages import stages
from sparql_gpm.bounds import MatchBounds
from sparql_gpm.counted_matcher import CountedMatcher, Passed, compile_counted
from sparql_gpm.pattern import BGP, Call, Constant, Expression, Filter, Join, Pattern, Triple, Variable
from tests.drawn import drawn
from tests.reference.funnel import Solves, alone, left_over
from tests.sparql_gpm.matcher_oracle import Triples, World, integer
from tests.sparql_gpm.matcher_strategies import KBS, batch_of, bgps, conditions, patterns
from tests.sparql_gpm.test_matcher import Engine, P, Q, expected, worlds

MANY = MatchBounds()


def counting(engine: Engine, pattern: Pattern, filters: tuple[Expression, ...] = ()) -> CountedMatcher:
    ordered = stages(pattern, filters)
    return compile_counted(pattern, ordered, engine.dictionary, engine.evaluator, engine.background)


def solves(world: World) -> Solves:
    return lambda pattern: bool(world.solve(pattern))


@st.composite
def joined(draw: st.DrawFn) -> tuple[Pattern, tuple[Expression, ...]]:
    """Patterns as GPMs are: several parts joined, with filters on top."""
    pattern: Pattern = draw(bgps)
    for part in draw(st.lists(patterns(1), max_size=2)):
        pattern = Join(pattern, part)
    filters = tuple(draw(st.lists(conditions(1), max_size=2)))
    for condition in filters:
        pattern = Filter(condition, pattern)
    return pattern, filters


@settings(max_examples=drawn(80))
@given(st.one_of(joined(), patterns().map(lambda pattern: (pattern, ()))), worlds, st.integers(1, 3))
def test_solutions_and_counts_are_those_of_nested_loops(
    drawn_pattern: tuple[Pattern, tuple[Expression, ...]], world: tuple[list[Triples], Triples, Triples], cut: int
) -> None:
    (pattern, filters), (events, first, second) = drawn_pattern, world
    kbs = dict(zip(KBS, (first, second), strict=True))
    engine, parts = Engine(kbs), stages(pattern, filters)
    matcher = counting(engine, pattern, filters)
    found, passed = matcher.match(batch_of(events, engine.dictionary), None, MANY, lambda exceeded: None)
    assert Counter(engine.rows(found)) == Counter(set(expected(pattern, events, kbs)))
    literal = [solves(World(graph, kbs)) for graph in events]
    assert passed == Passed(tuple(alone(parts, literal)), tuple(left_over(parts, literal)))
    pieces = [events[:cut], events[cut:]]
    each = [matcher.match(batch_of(some, engine.dictionary), None, MANY, print)[1] for some in pieces if some]
    assert tuple(map(sum, zip(*(one.left for one in each), strict=True))) == passed.left


def test_filters_on_a_knowledge_base_come_after_it_and_others_before() -> None:
    x, y, z = map(Variable, "xyz")
    text = "{ ?x <urn:p> ?y . GRAPH <http://kb/1> { ?y <urn:q> ?z } }"
    from sparql_gpm.parse import parse_group

    inner = parse_group(text, {}, None).pattern
    on_event, on_both = Call(">", (y, Constant(integer(1)))), Call(">", (z, x))
    parts = stages(Filter(on_both, Filter(on_event, inner)), (on_both, on_event))
    assert [type(part.node).__name__ for part in parts] == ["BGP", "Filter", "Graph", "Filter"]
    assert [part.node.condition for part in parts if isinstance(part.node, Filter)] == [on_event, on_both]


def test_an_event_that_only_stages_make_too_large_keeps_its_solutions_and_is_not_counted() -> None:
    """Of forty values beside forty others, only pairs of equal ones are solutions: nothing but the stages has more."""
    engine = Engine({})
    numbers = [integer(n) for n in range(1001)]
    graph = frozenset((numbers[0], P, n) for n in numbers) | frozenset((numbers[1], Q, n) for n in numbers)
    small = frozenset({(numbers[0], P, numbers[2]), (numbers[1], Q, numbers[2])})
    pattern = Filter(
        Call("=", (Variable("a"), Variable("b"))),
        BGP((Triple(numbers[0], P, Variable("a")), Triple(numbers[1], Q, Variable("b")))),
    )
    batch = batch_of([graph, small], engine.dictionary)
    left_out: list[object] = []
    found, passed = counting(engine, pattern).match(batch, None, MANY, left_out.append)
    assert np.bincount(found.events).tolist() == [1001, 1]
    assert (passed.skipped, passed.left, left_out) == (1, (1, 1, 1), [])
