"""Moving filters never changes solutions, and moves those that it may."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparql_gpm.algebra.describe import describe
from sparql_gpm.algebra.rewrite import filtered, push_filters
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import PatternSyntaxError
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.parse import parse_expression, parse_group
from sparql_gpm.pattern import (
    BGP,
    Call,
    Constant,
    Exists,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Link,
    PathTriple,
    Pattern,
    Repeat,
    Triple,
    Union,
    Values,
    Variable,
)
from sparql_gpm.terms import IRI
from tests.drawn import drawn
from tests.sparql_gpm.matcher_oracle import Triples, World, integer
from tests.sparql_gpm.matcher_strategies import KBS, conditions, graphs, patterns

P = IRI("http://x/p")
X, Y = Variable("x"), Variable("y")
X_P_Y = BGP((Triple(X, P, Y),))
SMALL_Y = Call("<", (Y, Constant(integer(5))))

joins = st.builds(LeftJoin, patterns(1), patterns(1), st.none()) | st.builds(Join, patterns(1), patterns(1))
filters = st.builds(Filter, conditions(1), joins | patterns(2))


def solutions(pattern: Pattern, graph: Triples) -> Counter[frozenset[object]]:
    world = World(graph, dict.fromkeys(KBS, graph))
    return Counter(frozenset(m.items()) for m in world.solve(pattern))


@settings(max_examples=drawn(500))
@given(filters, graphs)
def test_moving_filters_keeps_the_solutions(pattern: Filter, graph: Triples) -> None:
    assert solutions(push_filters(pattern), graph) == solutions(pattern, graph)


def test_a_filter_stays_above_an_optional_part_that_may_bind_its_variable() -> None:
    optional = LeftJoin(BGP((Triple(X, P, X),)), X_P_Y, None)
    assert push_filters(Filter(SMALL_Y, optional)) == Filter(SMALL_Y, optional)


def test_a_filter_goes_below_an_optional_part_that_cannot_change_its_variable() -> None:
    other = BGP((Triple(X, P, Variable("z")),))
    assert push_filters(Filter(SMALL_Y, LeftJoin(X_P_Y, other, None))) == LeftJoin(Filter(SMALL_Y, X_P_Y), other, None)


def test_a_conjunction_is_split_and_each_part_moved_by_itself() -> None:
    bound = Call("BOUND", (Variable("z"),))
    pattern = Filter(Call("&&", (SMALL_Y, bound)), Extend(X_P_Y, "z", Constant(integer(1))))
    assert push_filters(pattern) == Filter(bound, Extend(Filter(SMALL_Y, X_P_Y), "z", Constant(integer(1))))


def test_a_filter_enters_both_sides_of_a_union() -> None:
    assert push_filters(Filter(SMALL_Y, Union(X_P_Y, X_P_Y))) == Union(Filter(SMALL_Y, X_P_Y), Filter(SMALL_Y, X_P_Y))


def test_a_plan_shows_scans_joins_filters_and_knowledge_bases() -> None:
    kb = Graph(IRI("http://kb/1"), BGP((PathTriple(Y, Repeat(Link(P), True, True), X),)))
    absent = Exists(BGP((Triple(Y, P, integer(1)),)), negated=True)
    pattern = Filter(absent, LeftJoin(Join(Filter(SMALL_Y, X_P_Y), kb), Values(("z",), ((None,),)), None))
    assert describe(pattern).splitlines() == [
        "optional",
        "  join, smallest first, on event and shared variables",
        "    scan ?x <http://x/p> ?y",
        '    filter NOT EXISTS { scan ?y <http://x/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> }',
        '    filter (?y < "5"^^<http://www.w3.org/2001/XMLSchema#integer>)',
        "    knowledge base <http://kb/1>",
        "      path ?y (<http://x/p>)+ ?x",
        "  values ?z, 1 rows",
    ]


MANY = [
    " && ".join(f"?y != {number}" for number in range(1_000)),
    " || ".join(f"?y = {number}" for number in range(1_000)),
    "?y = " + " + ".join(["1"] * 1_000),
    "?y = " + " * ".join(["1"] * 1_000),
]


@pytest.mark.parametrize("text", [f"?x <http://x/p> ?y FILTER({condition})" for condition in MANY])
def test_what_is_flat_in_the_text_is_not_deep(text: str) -> None:
    check_runs(text)


@pytest.mark.parametrize(
    "text",
    [
        " UNION ".join(f"{{ ?x <http://x/p> {number} }}" for number in range(1_000)),
        " ".join(f"{{ ?x <http://x/p{number}> ?y{number} }}" for number in range(300)),
        f"?x ({'/'.join('<http://x/p>' for number in range(500))}) ?y",
        f"?x {'|'.join(f'<http://x/p{number}>' for number in range(1_000))} ?y",
        "?x <http://x/p> ?y" + "".join(f" FILTER(?y != {number})" for number in range(1_000)),
    ],
)
def test_many_parts_side_by_side_are_matched(text: str) -> None:
    check_runs(text)


def check_runs(text: str) -> None:
    """The body of a GPM is parsed and compiled within Python's usual recursion limit."""
    group = parse_group(text, {}, None)
    pattern = filtered([found.expression for found in group.filters], group.pattern)
    assert sys.getrecursionlimit() <= 1_000 and describe(push_filters(pattern))
    dictionary = Dictionary()
    matcher = compile_pattern(pattern, dictionary, ExpressionEvaluator(dictionary))
    assert len(matcher.match(EventBatch.empty()).events) == 0


@pytest.mark.parametrize(
    "part", ["OPTIONAL { ?x <http://x/p> ?y%d }", "MINUS { ?x <http://x/%d> ?y }", "BIND(?x AS ?y%d)"]
)
def test_a_pattern_too_deep_is_refused_at_its_place_and_the_deepest_other_one_runs(part: str) -> None:
    parts = [part % number for number in range(201)]
    check_runs("?x <http://x/p> ?x " + " ".join(parts[:200]))
    text = "?x <http://x/p> ?x " + " ".join(parts)
    with pytest.raises(PatternSyntaxError, match="more than 200 OPTIONAL, MINUS and BIND") as caught:
        parse_group(text, {}, None)
    assert caught.value.offset == text.rindex(part.split()[0].split("(")[0])


def test_a_long_chain_in_brackets_means_what_it_means_without() -> None:
    members = ["?a = 1 && ?b", "(?a || ?b + 1 < -3)", "!BOUND(?a)", "?a IN (1, 2)", "CONCAT(?a, 'x') = 'y' && -?a = 2"]
    text = " || ".join(members * 10)
    assert parse_expression(f"({text})", {}, None) == parse_expression(text, {}, None)


@pytest.mark.parametrize(("bad", "at"), [("?v = = 1", 5), ("", 0), ("?v = PREV(1)", 10)])
def test_a_fault_in_a_long_chain_is_reported_at_its_place(bad: str, at: int) -> None:
    before = "?x <http://x/p> ?v FILTER(" + "?v = 1 || " * 50
    with pytest.raises(PatternSyntaxError) as caught:
        parse_group(f"{before}{bad} || ?v = 2)", {}, None)
    assert caught.value.offset == len(before) + (at or 1)
