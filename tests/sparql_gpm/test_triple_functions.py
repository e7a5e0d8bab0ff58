"""Triple terms and directional literals in expressions, against the reference."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import ExpressionError
from sparql_gpm.expressions.aggregates import fold
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.expressions.scalar import Solution, current_time, evaluate_or_none
from sparql_gpm.expressions.values import compare, value_key
from sparql_gpm.pattern import FALSE, TRUE, Aggregate, Call, Constant, Expression, Variable
from sparql_gpm.terms import (
    IRI,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    TRIPLE_TERM_DEPTH_MAX,
    XSD,
    BlankNode,
    Literal,
    Term,
    TripleTerm,
)
from tests.drawn import drawn
from tests.reference.aggregate import fold as reference_fold
from tests.reference.expression import Scope, holds, value_or_none

A, B, P, Q, NODE = IRI("urn:a"), IRI("urn:b"), IRI("urn:p"), IRI("urn:q"), BlankNode("n")
ONE, ONE_POINT, EN = Literal("1", XSD + "integer"), Literal("1.0", XSD + "decimal"), Literal("en")
LTR, RTL = (Literal("en", RDF_DIR_LANG_STRING, "en", direction) for direction in ("ltr", "rtl"))
TAGGED, OTHER = Literal("en", RDF_LANG_STRING, "en"), Literal("x", "urn:t")
LITERALS = (
    ONE, ONE_POINT, EN, LTR, RTL, TAGGED, OTHER, Literal("y", "urn:t"), Literal(""), Literal("ltr"), Literal("n"),
    TRUE, FALSE, Literal("x", XSD + "integer"), Literal("NaN", XSD + "double"), Literal("2000-01-01", XSD + "date"),
)  # fmt: skip
STATED = TripleTerm(A, P, ONE)

nodes = st.sampled_from((A, B, NODE))
terms: st.SearchStrategy[Term] = st.recursive(
    nodes | st.sampled_from(LITERALS),
    lambda inner: st.builds(TripleTerm, nodes, st.sampled_from((P, Q)), inner),
    max_leaves=3,
)
NAMES = ("x", "y", "z")
ONE_ARGUMENT = (
    "SUBJECT", "PREDICATE", "OBJECT", "ISTRIPLE", "LANG", "LANGDIR", "HASLANG", "HASLANGDIR", "STR", "DATATYPE",
    "UCASE", "ISLITERAL", "ISBLANK", "!",
)  # fmt: skip
TWO_ARGUMENTS = (
    "=", "!=", "<", ">=", "SAMETERM", "IN", "NOTIN", "&&", "||", "COALESCE", "CONCAT", "CONTAINS", "STRSTARTS",
    "STRBEFORE", "STRAFTER", "STRLANG",
)  # fmt: skip


def calls(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Calls of functions with these arguments."""
    return st.one_of(
        st.builds(lambda name, a: Call(name, (a,)), st.sampled_from(ONE_ARGUMENT), inner),
        st.builds(lambda name, a, b: Call(name, (a, b)), st.sampled_from(TWO_ARGUMENTS), inner, inner),
        st.builds(lambda a, b, c: Call("TRIPLE", (a, b, c)), inner, st.just(Constant(P)) | inner, inner),
        st.builds(lambda a, b: Call("STRLANGDIR", (a, Constant(EN), b)), inner, inner | st.just(Constant(LITERALS[9]))),
        st.builds(lambda a, b, c: Call("IF", (a, b, c)), inner, inner, inner),
    )


expressions = st.recursive(st.sampled_from(NAMES).map(Variable) | terms.map(Constant), calls, max_leaves=6)
rows_of_terms = st.lists(st.tuples(*[st.none() | terms] * len(NAMES)), min_size=1, max_size=30)


@settings(max_examples=drawn(400))
@given(expressions, rows_of_terms)
def test_every_evaluator_agrees_with_the_reference(expression: Expression, rows: list[tuple[Term | None, ...]]) -> None:
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    ids = [[UNBOUND if term is None else dictionary.intern(term) for term in row] for row in rows]
    columns = dict(zip(NAMES, np.array(ids, dtype=np.int64).T, strict=True))
    places = {name: place for place, name in enumerate(NAMES)}
    scopes = [Scope({name: term for name, term in zip(NAMES, row, strict=True) if term is not None}) for row in rows]
    values = [value_or_none(expression, scope) for scope in scopes]
    truths = [holds(expression, scope) for scope in scopes]

    def shown(found: list[int]) -> list[Term | None]:
        return [None if identifier == UNBOUND else dictionary.term(identifier) for identifier in found]

    assert shown(evaluator.evaluate(expression, columns, len(rows)).tolist()) == values
    assert evaluator.holds(expression, columns, len(rows)).tolist() == truths
    assert shown([evaluator.value(expression, places)(row) for row in ids]) == values
    assert [evaluator.test(expression, places)(row) for row in ids] == truths
    for scope, value in zip(scopes, values, strict=True):
        assert evaluate_or_none(expression, Solution(scope.bindings.get, current_time(), random.Random(0))) == value


@settings(max_examples=drawn(200))
@given(st.sampled_from(("COUNT", "SUM", "AVG", "SAMPLE", "GROUP_CONCAT")), st.booleans(), st.lists(terms, max_size=5))
def test_aggregates_agree_with_the_reference(name: str, distinct: bool, values: list[Term]) -> None:
    dictionary = Dictionary()
    aggregate = Aggregate(name, Variable("x"), distinct)
    found = fold(aggregate, [dictionary.intern(value) for value in values], dictionary)
    assert (None if found == UNBOUND else dictionary.term(found)) == reference_fold(aggregate, values)


def call(name: str, *arguments: Term) -> Term | None:
    """The value of a function."""
    expression = Call(name, tuple(map(Constant, arguments)))
    return evaluate_or_none(expression, Solution({}.get, current_time(), random.Random(0)))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("TRIPLE", (A, P, ONE), STATED), ("TRIPLE", (NODE, P, STATED), TripleTerm(NODE, P, STATED)),
        ("TRIPLE", (ONE, P, A), None), ("TRIPLE", (STATED, P, A), None), ("TRIPLE", (A, EN, A), None),
        ("TRIPLE", (A, NODE, A), None), ("TRIPLE", (A, STATED, A), None),
        ("SUBJECT", (STATED,), A), ("PREDICATE", (STATED,), P), ("OBJECT", (STATED,), ONE), ("OBJECT", (A,), None),
        ("ISTRIPLE", (STATED,), TRUE), ("ISTRIPLE", (ONE,), FALSE),
        ("LANGDIR", (LTR,), Literal("ltr")), ("LANGDIR", (TAGGED,), Literal("")), ("LANGDIR", (A,), None),
        ("LANGDIR", (STATED,), None),
        ("HASLANG", (RTL,), TRUE), ("HASLANG", (TAGGED,), TRUE), ("HASLANG", (EN,), FALSE), ("HASLANG", (A,), FALSE),
        ("HASLANGDIR", (RTL,), TRUE), ("HASLANGDIR", (TAGGED,), FALSE), ("HASLANGDIR", (STATED,), FALSE),
        ("STRLANGDIR", (EN, Literal("EN"), Literal("ltr")), LTR), ("STRLANGDIR", (EN, EN, Literal("LTR")), None),
        ("STRLANGDIR", (EN, EN, Literal("")), None), ("STRLANGDIR", (EN, Literal(""), Literal("ltr")), None),
        ("STRLANGDIR", (ONE, EN, Literal("ltr")), None), ("STRLANGDIR", (A, EN, Literal("ltr")), None),
        ("STRLANGDIR", (TAGGED, EN, Literal("ltr")), None), ("STRLANG", (LTR, EN), None),
        ("CONCAT", (LTR, LTR), Literal("enen", RDF_DIR_LANG_STRING, "en", "ltr")),
        ("CONCAT", (LTR, RTL), Literal("enen")), ("CONCAT", (LTR, TAGGED), Literal("enen")),
        ("CONTAINS", (LTR, Literal("n")), TRUE), ("CONTAINS", (LTR, RTL), None),
        ("STRBEFORE", (LTR, Literal("n")), Literal("e", RDF_DIR_LANG_STRING, "en", "ltr")),
        ("SUBSTR", (LTR, ONE, ONE), Literal("e", RDF_DIR_LANG_STRING, "en", "ltr")),
        ("REPLACE", (LTR, Literal("n"), Literal("")), Literal("e", RDF_DIR_LANG_STRING, "en", "ltr")),
        ("=", (STATED, TripleTerm(A, P, ONE_POINT)), TRUE), ("!=", (STATED, TripleTerm(A, P, ONE_POINT)), FALSE),
        ("=", (STATED, TripleTerm(A, P, EN)), FALSE), ("!=", (STATED, TripleTerm(B, P, OTHER)), TRUE),
        ("=", (TripleTerm(A, P, OTHER), TripleTerm(A, P, Literal("y", "urn:t"))), None), ("=", (STATED, ONE), FALSE),
        ("<", (STATED, STATED), None), ("!", (STATED,), None), ("STR", (STATED,), None),
    ],
)  # fmt: skip
def test_functions_have_the_value_that_the_specification_gives(
    name: str, arguments: tuple[Term, ...], expected: Term | None
) -> None:
    assert call(name, *arguments) == expected


def test_triple_terms_are_not_made_deeper_than_they_can_be_read() -> None:
    term: Term = ONE
    for _ in range(TRIPLE_TERM_DEPTH_MAX):
        found = call("TRIPLE", A, P, term)
        assert found is not None
        term = found
    assert call("TRIPLE", A, P, term) is None


@settings(max_examples=drawn(400))
@given(terms, terms)
def test_terms_that_are_equal_have_one_key(left: Term, right: Term) -> None:
    try:
        equal = compare("=", left, right)
    except ExpressionError:
        return
    assert not equal or value_key(left) == value_key(right)
