from __future__ import annotations

import pytest

from sparql_gpm.algebra.scope import (
    aggregates,
    background_names,
    certain,
    expression_variables,
    in_scope,
    iterations,
)
from sparql_gpm.algebra.traversal import exists_in, walk
from sparql_gpm.parse import parse_expression, parse_group
from sparql_gpm.pattern import Pattern, Service, Variable
from sparql_gpm.terms import IRI

PREFIXES = {"": "http://e/"}


def pattern(text: str) -> Pattern:
    """The pattern with its filters dropped, which scope does not depend on."""
    return parse_group(text, PREFIXES, None).pattern


@pytest.mark.parametrize(
    ("text", "scope", "bound"),
    [
        ("", "", ""),
        ("?a :p _:b . [] ?p ?c", "a p c", "a p c"),
        ("?a :p+ ?b", "a b", "a b"),
        ("?a :p ?b OPTIONAL { ?b :q ?c }", "a b c", "a b"),
        ("{ ?a :p ?b } UNION { ?a :q ?c }", "a b c", "a"),
        ("?a :p ?b MINUS { ?b :q ?c }", "a b", "a b"),
        ("?a :p ?b BIND(?b + 1 AS ?c)", "a b c", "a b"),
        ("?a :p ?b BIND(?b AS ?c) BIND(1 AS ?d)", "a b c d", "a b c d"),
        ("VALUES (?a ?b) { (1 2) (UNDEF 3) }", "a b", "b"),
        ("GRAPH ?g { ?a :p ?b }", "g a b", "g a b"),
        ("SERVICE ?e { ?a :p ?b }", "e a b", "e a b"),
        ("SERVICE SILENT :e { ?a :p ?b }", "a b", ""),
        ("{ SELECT ?a ?z { ?a :p ?b } }", "a z", "a"),
        ("{ SELECT ?a (COUNT(?b) AS ?n) { ?a :p ?b } GROUP BY ?a }", "a n", "a"),
        ("{ SELECT DISTINCT * { ?a :p ?b } ORDER BY ?c LIMIT 1 }", "a b", "a b"),
        ("{ ?a :p ?b FILTER(?z) }", "a b", "a b"),
    ],
)
def test_scope_and_certainty_follow_the_specification(text: str, scope: str, bound: str) -> None:
    found = pattern(text)
    assert in_scope(found) == frozenset(scope.split())
    assert certain(found) == frozenset(bound.split())


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("?a + 1 < PREV(?b)", "a b"),
        ("SUM(?a) / COUNT(DISTINCT ?b)", "a b"),
        ("EXISTS { ?a :p _:c FILTER(?b > 1) MINUS { ?d :p ?e } }", "a b d e"),
        ("NOT EXISTS { { SELECT ?a { ?a :p ?hidden } } }", "a"),
        ("COALESCE(<http://e/f>(?a), IF(?b, 1, ?c))", "a b c"),
    ],
)
def test_an_expression_uses_all_variables_that_reach_it(text: str, variables: str) -> None:
    assert expression_variables(parse_expression(text, PREFIXES, None)) == frozenset(variables.split())


def test_aggregates_iterations_and_exists_are_found_inside_of_calls() -> None:
    expression = parse_expression("ABS(SUM(?a) - LAST(?b)) > 1 || EXISTS { ?a ?b ?c }", PREFIXES, None)
    assert [found.name for found in aggregates(expression)] == ["SUM"]
    assert [found.variable for found in iterations(expression)] == ["b"]
    assert len(exists_in(expression)) == 1
    assert not exists_in(Variable("a"))


def test_graphs_and_endpoints_are_found_inside_of_exists() -> None:
    found = pattern(
        "GRAPH :k { ?a :p ?b } OPTIONAL { GRAPH ?g { ?a :p ?b } } SERVICE :s { ?a ?b ?c } GRAPH :k { ?a :q ?b }"
        " { FILTER EXISTS { GRAPH :x { ?a ?b ?c FILTER NOT EXISTS { SERVICE :t { ?a ?b ?c } } } } }"
    )
    assert background_names(found) == (IRI("http://e/k"), Variable("g"), IRI("http://e/x"))
    endpoints = {node.endpoint for node in walk(found) if isinstance(node, Service)}
    assert endpoints == {IRI("http://e/s"), IRI("http://e/t")}
