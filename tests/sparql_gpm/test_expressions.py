"""Expressions over columns: the array path against the scalar one, and what is remembered."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrays.comparison import TRUE
from sparql_gpm.columns import UNBOUND, Ids, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator, column_name, distinct_rows
from sparql_gpm.expressions.scalar import Solution, current_time, evaluate_or_none
from sparql_gpm.expressions.values import truth_of
from sparql_gpm.parse import parse_expression
from sparql_gpm.pattern import Aggregate, Call, Constant, Exists, Expression, Iteration, Variable
from sparql_gpm.terms import IRI, XSD, Literal, Term

_NUMBERS = st.builds(
    Literal,
    st.sampled_from(("0", "1", "-1", "01", "2", "16777216", "16777217", "9007199254740993", "0.1", "0.5", "1.0", "1e0",
                     "0.1e0", "NaN", "INF", "-INF", "x", "16777217.0", "0.10000000149011612")),
    st.sampled_from([XSD + name for name in ("integer", "decimal", "double", "float", "byte")]),
)  # fmt: skip
_TERMS: st.SearchStrategy[Term] = st.one_of(
    _NUMBERS,
    st.sampled_from((
        Literal(""), Literal("a"), Literal("true", XSD + "boolean"), Literal("0", XSD + "boolean"), IRI("http://e/a"),
        Literal("x", "http://e/t"), Literal("2000-01-01", XSD + "date"),
    )),
)  # fmt: skip
_NAMES = ("x", "y", "z")


def _membership(name: str, arguments: list[Expression]) -> Expression:
    return Call(name, tuple(arguments))


def _expressions() -> st.SearchStrategy[Expression]:
    leaves = st.one_of(st.sampled_from(_NAMES).map(Variable), _TERMS.map(Constant))
    operators = st.sampled_from(("=", "!=", "<", "<=", ">", ">=", "&&", "||", "+", "-", "*", "/", "SAMETERM"))

    def extend(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        return st.one_of(
            st.builds(lambda name, a, b: Call(name, (a, b)), operators, inner, inner),
            st.builds(lambda a: Call("!", (a,)), inner),
            st.builds(lambda name: Call("BOUND", (Variable(name),)), st.sampled_from(_NAMES)),
            st.builds(_membership, st.sampled_from(("IN", "NOTIN")), st.lists(inner, min_size=1)),
            st.builds(lambda a, b: Call("COALESCE", (a, b)), inner, inner),
            st.builds(lambda a, b, c: Call("IF", (a, b, c)), inner, inner, inner),
        )

    return st.recursive(leaves, extend, max_leaves=8)


def _columns(dictionary: Dictionary, rows: list[tuple[Term | None, ...]]) -> dict[str, Ids]:
    ids = [[UNBOUND if term is None else dictionary.intern(term) for term in row] for row in rows]
    table = np.array(ids, dtype=np.int64).reshape(len(rows), len(_NAMES))
    return {name: table[:, i].copy() for i, name in enumerate(_NAMES)}


def _scalar(expression: Expression, row: tuple[Term | None, ...]) -> Term | None:
    values = dict(zip(_NAMES, row, strict=True))
    return evaluate_or_none(expression, Solution(values.get, current_time(), random.Random(0)))


def _is_true(term: Term | None) -> bool:
    return truth_of(term) == TRUE


_ROWS = st.lists(st.tuples(*[st.none() | _TERMS] * 3), min_size=1, max_size=40)


@given(_expressions(), _ROWS)
def test_the_array_path_equals_the_scalar_path(expression: Expression, rows: list[tuple[Term | None, ...]]) -> None:
    dictionary = Dictionary()
    columns = _columns(dictionary, rows)
    evaluator = ExpressionEvaluator(dictionary)
    expected = [_scalar(expression, row) for row in rows]
    for _ in range(2):  # the second time from memory
        found = evaluator.evaluate(expression, columns, len(rows)).tolist()
        assert [None if i == UNBOUND else dictionary.term(i) for i in found] == expected
        assert evaluator.holds(expression, columns, len(rows)).tolist() == [_is_true(term) for term in expected]


@given(st.sampled_from(("=", "!=", "<", "<=", ">", ">=")), st.lists(st.tuples(_NUMBERS, _NUMBERS), min_size=20))
def test_numbers_of_all_types_compare_alike_on_both_paths(operator: str, pairs: list[tuple[Term, Term]]) -> None:
    rows: list[tuple[Term | None, ...]] = [(left, right, None) for left, right in pairs]
    expression = Call(operator, (Variable("x"), Variable("y")))
    dictionary = Dictionary()
    found = ExpressionEvaluator(dictionary).holds(expression, _columns(dictionary, rows), len(rows))
    assert found.tolist() == [_is_true(_scalar(expression, row)) for row in rows]


_SPREAD = st.builds(
    Literal,
    st.one_of(
        st.decimals(-1000, 1000, places=2).map(str),
        st.integers(-20_000_000, 20_000_000).map(str),
        st.integers(-(2**24), 2**24).map(lambda n: repr(n / 1024)),
        st.floats(1e-14, 1e14).map(lambda value: f"{value:.12f}"),
        st.sampled_from(("0", "0.1", "0.3", "1e-20", "1e30", "1e38", "16777217", "3")),
    ),
    st.sampled_from([XSD + name for name in ("integer", "decimal", "double", "float")]),
)


@given(
    st.sampled_from(("=", "<", "<=")),
    st.tuples(*[st.sampled_from("+-*/")] * 2),
    st.lists(st.tuples(_SPREAD, _SPREAD, _SPREAD), min_size=20, max_size=40),
    st.booleans(),
)
def test_calculated_numbers_compare_alike_on_both_paths(
    comparison: str, operators: tuple[str, str], rows: list[tuple[Term | None, ...]], twice: bool
) -> None:
    x, y, z = (Variable(name) for name in _NAMES)
    side: Expression = Call(operators[0], (x, y))
    if twice:
        side = Call(operators[1], (side, y))
    expression = Call(comparison, (side, z))
    rows = [*rows, *((a, b, _scalar(side, (a, b, None))) for a, b, _ in rows)]  # where sides are equal, too
    dictionary = Dictionary()
    found = ExpressionEvaluator(dictionary).holds(expression, _columns(dictionary, rows), len(rows))
    assert found.tolist() == [_is_true(_scalar(expression, row)) for row in rows]


def _ids(dictionary: Dictionary, *numbers: int) -> Ids:
    return np.array([dictionary.intern(Literal(str(n), XSD + "integer")) for n in numbers], dtype=np.int64)


def _read(text: str) -> Expression:
    return parse_expression(text, {}, None)


def test_a_missing_column_is_unbound() -> None:
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    assert evaluator.evaluate(Variable("x"), {}, 3).tolist() == [UNBOUND] * 3
    assert evaluator.holds(_read("!BOUND(?x)"), {}, 2).tolist() == [True, True]
    assert evaluator.evaluate(_read("?x + 1"), {}, 0).tolist() == []
    assert evaluator.evaluate(_read("1 + 1"), {}, 2).tolist() == _ids(dictionary, 2, 2).tolist()


@pytest.mark.parametrize(
    ("node", "name"),
    [
        (Iteration("PREV", "v"), "PREV(?v)"),
        (Aggregate("COUNT", None), "COUNT(*)"),
        (Aggregate("COUNT", Variable("v"), True), "COUNT(DISTINCT ?v)"),
        (Aggregate("GROUP_CONCAT", Variable("v"), False, ","), 'GROUP_CONCAT(?v; SEPARATOR=",")'),
        (Aggregate("GROUP_CONCAT", Variable("v"), True, '"'), 'GROUP_CONCAT(DISTINCT ?v; SEPARATOR="\\"")'),
        (Aggregate("GROUP_CONCAT", Variable("v")), "GROUP_CONCAT(?v)"),
    ],
)
def test_iterations_and_aggregates_are_columns_by_their_text(node: Iteration | Aggregate, name: str) -> None:
    assert column_name(node) == name
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    column = _ids(dictionary, 1, 5)
    assert evaluator.evaluate(node, {name: column}, 2).tolist() == column.tolist()
    columns = {name: column, "x": _ids(dictionary, 2, 2)}
    assert evaluator.holds(Call(">", (Variable("x"), node)), columns, 2).tolist() == [True, False]
    assert evaluator.holds(Call("BOUND", (node,)), {}, 1).tolist() == [False]


def test_exists_is_asked_of_the_resolver_and_negated_here() -> None:
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    asked: list[Exists] = []

    def resolve(exists: Exists, columns: Mapping[str, Ids], rows: int) -> Mask:
        asked.append(exists)
        return np.asarray(dictionary.numbers[columns["x"]] > 1)

    columns = {"x": _ids(dictionary, 1, 2, 3)}
    found = evaluator.holds(_read("NOT EXISTS { ?x ?p ?o } || ?x = 3 && EXISTS { ?x ?p ?q }"), columns, 3, resolve)
    assert found.tolist() == [True, False, True]
    assert [exists.negated for exists in asked] == [True, False]


def test_what_is_remembered_does_not_outlive_the_ids() -> None:
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    length = _read("STRLEN(?x)")
    first = np.array([dictionary.intern(Literal("abc"))], dtype=np.int64)
    assert dictionary.term(evaluator.evaluate(length, {"x": first}, 1)[0]) == Literal("3", XSD + "integer")
    dictionary.retain([])
    second = np.array([dictionary.intern(Literal("a"))], dtype=np.int64)
    assert dictionary.term(evaluator.evaluate(length, {"x": second}, 1)[0]) == Literal("1", XSD + "integer")


def test_random_values_are_fresh_in_every_row_and_now_is_not() -> None:
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    for text in ("RAND()", "UUID()", "STRUUID()", "BNODE()", 'BNODE("a")', "CONCAT(STR(RAND()), 'x')"):
        assert len(set(evaluator.evaluate(_read(text), {}, 30).tolist())) == 30
    assert len(set(evaluator.evaluate(_read("NOW()"), {}, 30).tolist())) == 1
    then = Literal("2000-01-01T00:00:00Z", XSD + "dateTime")
    evaluator = ExpressionEvaluator(dictionary, now=then)
    assert dictionary.term(evaluator.evaluate(_read("NOW()"), {}, 1)[0]) == then
    assert evaluator.holds(_read("YEAR(NOW()) = 2000"), {}, 1).all()


def test_volatile_comparisons_are_decided_row_by_row() -> None:
    found = ExpressionEvaluator(Dictionary(), seed=1).holds(_read("RAND() < 0.5"), {}, 200)
    assert 0 < found.sum() < 200


def test_distinct_rows_stand_for_all_rows() -> None:
    left, right = np.array([3, 1, 3, 1, 3], dtype=np.int64), np.array([7, 7, 7, 9, 2], dtype=np.int64)
    first, of_row = distinct_rows([left, right])
    assert len(first) == 4
    assert (left[first][of_row] == left).all() and (right[first][of_row] == right).all()


def test_an_expression_too_deep_for_the_stack_is_a_defect_and_not_unbound() -> None:
    deep: Expression = Constant(Literal("1", XSD + "integer"))
    for _ in range(2_000):
        deep = Call("NEG", (deep,))
    with pytest.raises(RecursionError):
        evaluate_or_none(deep, Solution({}.get, current_time(), random.Random(0)))
