"""Expressions as text are SPARQL: what is written is read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.algebra.expression_text import ExpressionWriter
from sparql_gpm.parse import parse_expression
from sparql_gpm.pattern import Aggregate, Call, Cast, Constant, Expression, Iteration, Pattern, Variable
from sparql_gpm.terms import XSD, Literal

INTEGER = XSD + "integer"
_leaves = st.one_of(
    st.sampled_from("xyz").map(Variable),
    st.integers(0, 9).map(lambda n: Constant(Literal(str(n), INTEGER))),
    st.just(Constant(Literal('a "quoted"\n\\text'))),
)


def _operators(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    lists = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(lambda o, a, b: Call(o, (a, b)), st.sampled_from(["=", "<", "+", "/", "&&", "||"]), inner, inner),
        st.builds(lambda o, a: Call(o, (a,)), st.sampled_from(["!", "NEG", "POS"]), inner),
        st.builds(lambda o, arguments: Call(o, arguments), st.sampled_from(["IN", "NOTIN", "COALESCE"]), lists),
        st.builds(lambda a: Cast(INTEGER, (a,)), inner),
    )


def _no_group(pattern: Pattern) -> str:
    raise AssertionError(pattern)


TEXT = ExpressionWriter(lambda name: f"?{name}", _no_group).text


@given(st.recursive(_leaves, _operators, max_leaves=8))
def test_what_is_written_is_read_again(expression: Expression) -> None:
    assert parse_expression(TEXT(expression), {}, None) == expression


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Call("!", (Call("!", (Variable("x"),)),)), "!(!?x)"),
        (Call("NEG", (Call("+", (Variable("x"), Variable("y"))),)), "-(?x + ?y)"),
        (Aggregate("GROUP_CONCAT", Variable("x"), True, "; "), 'GROUP_CONCAT(DISTINCT ?x; SEPARATOR="; ")'),
        (Aggregate("COUNT", None, False), "COUNT(*)"),
        (Iteration("PREV", "x"), "PREV(?x)"),
    ],
)
def test_operators_aggregates_and_iterations_have_one_form(expression: Expression, text: str) -> None:
    assert TEXT(expression) == text
