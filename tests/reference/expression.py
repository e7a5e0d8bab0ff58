"""Expressions over one solution mapping (SPARQL 1.1, Section 17; specification 3.2 for iterations)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sparql_gpm.pattern import Aggregate, Call, Cast, Constant, Exists, Expression, Iteration, Variable
from sparql_gpm.terms import Literal, Term
from tests.reference.aggregate import fold
from tests.reference.functions import cast, equal, function
from tests.reference.values import (
    ExpressionError,
    boolean,
    effective,
)

Series = Callable[[str], Sequence[Term | None]]
"""The values of a variable per iteration so far, None where the iteration left it unbound."""


def no_iterations(variable: str) -> Sequence[Term | None]:
    """Outside a match nothing repeats."""
    return ()


def no_graph(exists: Exists, bindings: Mapping[str, Term]) -> bool:
    """Where no event is at hand EXISTS has no meaning."""
    raise ExpressionError("EXISTS without a graph")


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression sees: bindings, iterations, and the graph that EXISTS looks at."""

    bindings: Mapping[str, Term]
    series: Series = no_iterations
    exists: Callable[[Exists, Mapping[str, Term]], bool] = no_graph


def holds(expression: Expression, scope: Scope) -> bool:
    """Whether the effective boolean value is true; an error is not."""
    try:
        return effective(evaluate(expression, scope))
    except ExpressionError:
        return False


def value_or_none(expression: Expression, scope: Scope) -> Term | None:
    """The value, None for an error."""
    try:
        return evaluate(expression, scope)
    except ExpressionError:
        return None


def evaluate(expression: Expression, scope: Scope) -> Term:
    """The value of an expression; raises ExpressionError where SPARQL says error."""
    match expression:
        case Variable(name):
            return _bound(scope.bindings.get(name))
        case Constant(term):
            return term
        case Iteration(name, variable):
            return _bound(_iteration(name, scope.series(variable)))
        case Aggregate(argument=Variable(name)):
            return _bound(fold(expression, [value for value in scope.series(name) if value is not None]))
        case Exists(negated=negated):
            return boolean(scope.exists(expression, scope.bindings) != negated)
        case Call(name, arguments):
            return _call(name.upper(), arguments, scope)
        case Cast(iri, (argument,)):
            return cast(iri, evaluate(argument, scope))
    raise ExpressionError(f"the reference does not know {expression}")


def _bound(value: Term | None) -> Term:
    if value is None:
        raise ExpressionError("unbound")
    return value


def _iteration(name: str, series: Sequence[Term | None]) -> Term | None:
    """`PREV(?v)` is its value one iteration before, unbound if there is none or it left ?v unbound."""
    if name == "PREV":
        return series[-2] if len(series) > 1 else None
    values = [value for value in series if value is not None]
    if not values:
        return None
    return values[0] if name == "FIRST" else values[-1]


def _call(name: str, arguments: tuple[Expression, ...], scope: Scope) -> Term:
    """Functional forms see expressions, functions see values (17.4.1)."""
    match name, arguments:
        case "BOUND", (argument,):
            return boolean(value_or_none(argument, scope) is not None)
        case "COALESCE", _:
            return _bound(next((v for v in (value_or_none(a, scope) for a in arguments) if v is not None), None))
        case "IF", (test, yes, no):
            return evaluate(yes if effective(evaluate(test, scope)) else no, scope)
        case "&&" | "||", _:
            return _logic(name == "||", [_truth(argument, scope) for argument in arguments])
        case "!" | "NOT", (argument,):
            return boolean(not effective(evaluate(argument, scope)))
        case "IN", (item, *candidates):
            return _member(evaluate(item, scope), candidates, scope)
        case "NOTIN", (item, *candidates):
            return boolean(_member(evaluate(item, scope), candidates, scope).lexical == "false")
    return function(name, [evaluate(argument, scope) for argument in arguments])


def _truth(argument: Expression, scope: Scope) -> bool | None:
    try:
        return effective(evaluate(argument, scope))
    except ExpressionError:
        return None


def _logic(deciding: bool, values: Sequence[bool | None]) -> Literal:
    """`||` is decided by a true operand, `&&` by a false one, whatever the others' errors (17.2)."""
    if deciding in values:
        return boolean(deciding)
    if None in values:
        raise ExpressionError("an operand is an error")
    return boolean(not deciding)


def _member(item: Term, candidates: Sequence[Expression], scope: Scope) -> Literal:
    """`x IN (a, b)` is `x = a || x = b`."""
    found: list[bool | None] = []
    for candidate in candidates:
        try:
            found.append(equal(item, evaluate(candidate, scope)))
        except ExpressionError:
            found.append(None)
    return _logic(True, found)
