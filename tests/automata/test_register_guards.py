"""Guards against the evaluator of expressions: what a guard decides is what SPARQL says, or it does not decide."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from arrays.comparison import FALSE, TRUE, UNKNOWN
from automata.registers.code import evaluate_guard, guard_code
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.pattern import Call, Constant, Expression, Variable
from sparql_gpm.terms import IRI, XSD, Literal, Term
from spaseq.physical.register_guard import guard_of
from tests.drawn import drawn

VARIABLES = ("a", "b", "c")
NUMBERS = st.one_of(
    st.integers(-3, 3).map(lambda n: Literal(str(n), XSD + "integer")),
    st.sampled_from(("0.1", "0.25", "16777217.0", "1234567890123456789.5")).map(lambda n: Literal(n, XSD + "decimal")),
    st.sampled_from(("0.1", "1e0", "NaN", "INF", "1e300", "16777217")).map(lambda n: Literal(n, XSD + "double")),
    st.sampled_from(("0.1", "16777217", "3")).map(lambda n: Literal(n, XSD + "float")),
)
TERMS: st.SearchStrategy[Term | None] = st.one_of(
    NUMBERS, st.none(), st.sampled_from((IRI("http://ex.org/x"), Literal("3", XSD + "string")))
)
OPERANDS: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(st.sampled_from(VARIABLES).map(Variable), st.integers(-2, 3).map(lambda n: _integer(n))),
    lambda inner: st.tuples(st.sampled_from("+-*/"), inner, inner).map(lambda t: Call(t[0], (t[1], t[2]))),
    max_leaves=3,
)
COMPARISONS: st.SearchStrategy[Expression] = st.tuples(
    st.sampled_from(("<", "<=", ">", ">=", "=", "!=")), OPERANDS, OPERANDS
).map(lambda t: Call(t[0], (t[1], t[2])))
BOUND: st.SearchStrategy[Expression] = st.sampled_from(VARIABLES).map(lambda name: Call("BOUND", (Variable(name),)))
CONDITIONS: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(COMPARISONS, BOUND),
    lambda inner: st.one_of(
        inner.map(lambda node: Call("!", (node,))),
        st.tuples(st.sampled_from(("&&", "||")), inner, inner).map(lambda t: Call(t[0], (t[1], t[2]))),
    ),
    max_leaves=4,
)


def _integer(number: int) -> Constant:
    return Constant(Literal(str(number), XSD + "integer"))


def _guarded(condition: Expression, dictionary: Dictionary, ids: list[int]) -> int:
    guard = guard_of(condition, {name: number for number, name in enumerate(VARIABLES)}, dictionary)
    assert guard is not None
    return int(evaluate_guard(guard_code([guard]), 0, np.array(ids, dtype=np.int64), dictionary.numbers))


@given(CONDITIONS, st.tuples(TERMS, TERMS, TERMS))
@settings(max_examples=drawn(300))
def test_a_guard_that_decides_decides_as_the_scalar_evaluator(
    condition: Expression, terms: tuple[Term | None, ...]
) -> None:
    dictionary = Dictionary()
    ids = [0 if term is None else dictionary.intern(term) for term in terms]
    columns = {name: np.array([i], dtype=np.int64) for name, i in zip(VARIABLES, ids, strict=True)}
    expected = TRUE if ExpressionEvaluator(dictionary).holds(condition, columns, 1)[0] else FALSE
    assert _guarded(condition, dictionary, ids) in (expected, UNKNOWN)


def test_small_numbers_are_decided_without_the_host() -> None:
    dictionary = Dictionary()
    ids = [dictionary.intern(Literal(text, XSD + "decimal")) for text in ("12.5", "12.25", "0.25")]
    a, b, c = (Variable(name) for name in VARIABLES)
    rises = Call("&&", (Call(">", (a, b)), Call("=", (Call("-", (a, b)), c))))
    assert _guarded(rises, dictionary, ids) == TRUE
    assert _guarded(Call("<", (a, Call("*", (b, c)))), dictionary, ids) == FALSE


def test_what_float64_cannot_tell_is_left_to_the_host() -> None:
    dictionary = Dictionary()
    ids = [0, dictionary.intern(IRI("http://ex.org/x")), dictionary.intern(Literal("1", XSD + "integer"))]
    assert _guarded(Call("<", (Variable("b"), Variable("c"))), dictionary, ids) == UNKNOWN
    assert _guarded(Call("=", (Call("/", (Variable("c"), _integer(0))), _integer(1))), dictionary, ids) == UNKNOWN


def test_unbound_variables_are_errors_that_only_a_decisive_side_outweighs() -> None:
    dictionary = Dictionary()
    ids = [0, dictionary.intern(Literal("2", XSD + "integer")), dictionary.intern(Literal("1", XSD + "integer"))]
    unbound = Call("<", (Call("+", (Variable("a"), Variable("b"))), Variable("c")))
    holds = Call(">", (Variable("b"), Variable("c")))
    assert _guarded(unbound, dictionary, ids) == _guarded(Call("!", (unbound,)), dictionary, ids) == FALSE
    assert _guarded(Call("||", (unbound, holds)), dictionary, ids) == TRUE
    assert _guarded(Call("&&", (unbound, holds)), dictionary, ids) == FALSE
    assert _guarded(Call("!", (Call("&&", (unbound, Call("!", (holds,)))),)), dictionary, ids) == TRUE


def test_conditions_beyond_numbers_have_no_guard() -> None:
    registers = {name: number for number, name in enumerate(VARIABLES)}
    for condition in (
        Call("REGEX", (Variable("a"), Variable("b"))),
        Call("=", (Call("STR", (Variable("a"),)), Variable("b"))),
        Call("=", (Variable("a"), Constant(IRI("http://ex.org/x")))),
        Call("<", (Variable("a"), Variable("nowhere"))),
        Variable("a"),
    ):
        assert guard_of(condition, registers, Dictionary()) is None
