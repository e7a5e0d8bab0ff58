"""Expressions over one solution mapping (SPARQL 1.1, Section 17; LANGUAGE 3.2 for iterations)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sparql_gpm.pattern import Aggregate, Call, Cast, Constant, Exists, Expression, Iteration, Variable
from sparql_gpm.terms import IRI, XSD, XSD_STRING, BlankNode, Literal, Term
from tests.reference.aggregate import fold
from tests.reference.values import (
    DECIMAL,
    DOUBLE,
    INTEGER,
    ExpressionError,
    Number,
    boolean,
    comparable,
    effective,
    literal,
    number,
    order_key,
    promote,
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
            return _cast(iri, evaluate(argument, scope))
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
    return _function(name, [evaluate(argument, scope) for argument in arguments])


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


def equal(left: Term, right: Term) -> bool:
    """`=`: by value where both have one, else RDFterm-equal, an error for two different literals."""
    a, b = number(left), number(right)
    if a is not None and b is not None:
        _, x, y = promote(a, b)
        return x == y
    p, q = comparable(left), comparable(right)
    if p is not None and q is not None and p[0] == q[0]:
        return p[1] == q[1]
    if left == right:
        return True
    if isinstance(left, Literal) and isinstance(right, Literal):
        raise ExpressionError("two literals that cannot be compared")
    return False


_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _compare(name: str, left: Term, right: Term) -> bool:
    a, b = number(left), number(right)
    if a is not None and b is not None:
        _, x, y = promote(a, b)
        return _ORDER[name](x, y)
    p, q = comparable(left), comparable(right)
    if p is None or q is None or p[0] != q[0]:
        raise ExpressionError("values without a common order")
    return _ORDER[name](p[1], q[1])


def _arithmetic(name: str, left: Term, right: Term) -> Literal:
    """+ - * / with numeric promotion; integers divide to a decimal."""
    rank, x, y = promote(_numeric(left), _numeric(right))
    match name:
        case "+":
            return literal(rank, x + y)
        case "-":
            return literal(rank, x - y)
        case "*":
            return literal(rank, x * y)
    if rank <= DECIMAL:
        if y == 0:
            raise ExpressionError("division by zero")
        return literal(DECIMAL, Fraction(x) / Fraction(y))
    if y == 0:
        quotient = math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)
        return literal(rank, quotient)
    return literal(rank, x / y)


def _numeric(term: Term) -> Number:
    value = number(term)
    if value is None:
        raise ExpressionError(f"not a number: {term}")
    return value


def _string(term: Term) -> str:
    if isinstance(term, Literal) and (term.datatype == XSD_STRING or term.language):
        return term.lexical
    raise ExpressionError(f"not a string: {term}")


def _function(name: str, values: Sequence[Term]) -> Term:
    match name, values:
        case "=", (left, right):
            return boolean(equal(left, right))
        case "!=", (left, right):
            return boolean(not equal(left, right))
        case "<" | "<=" | ">" | ">=", (left, right):
            return boolean(_compare(name, left, right))
        case "+" | "-" | "*" | "/", (left, right):
            return _arithmetic(name, left, right)
        case "NEG" | "POS" | "ABS" | "CEIL" | "FLOOR" | "ROUND", (term,):
            return _unary(name, _numeric(term))
        case "SAMETERM", (left, right):
            return boolean(left == right)
    return _term_function(name, values)


def _unary(name: str, value: Number) -> Literal:
    rank, x = value
    if rank > DECIMAL and name not in ("NEG", "POS", "ABS") and not math.isfinite(x):
        return literal(rank, x)
    rounded: dict[str, Callable[[], Fraction | float]] = {
        "POS": lambda: x,
        "NEG": lambda: -x,
        "ABS": lambda: x if x >= 0 else -x,
        "CEIL": lambda: Fraction(math.ceil(x)),
        "FLOOR": lambda: Fraction(math.floor(x)),
        "ROUND": lambda: Fraction(math.floor(Fraction(x) + Fraction(1, 2))),
    }
    result = rounded[name]()
    return literal(rank, Fraction(result) if rank <= DECIMAL else float(result))


def _term_function(name: str, values: Sequence[Term]) -> Term:
    match name, values:
        case "STR", (IRI(value),):
            return Literal(value)
        case "STR", (Literal(lexical),):
            return Literal(lexical)
        case "DATATYPE", (Literal(datatype=datatype),):
            return IRI(datatype)
        case "LANG", (Literal(language=language),):
            return Literal(language)
        case "ISIRI" | "ISURI", (term,):
            return boolean(isinstance(term, IRI))
        case "ISBLANK", (term,):
            return boolean(isinstance(term, BlankNode))
        case "ISLITERAL", (term,):
            return boolean(isinstance(term, Literal))
        case "ISNUMERIC", (term,):
            return boolean(number(term) is not None)
    return _string_function(name, values)


def _string_function(name: str, values: Sequence[Term]) -> Term:
    texts = [_string(value) for value in values]
    match name, texts:
        case "STRLEN", (text,):
            return literal(INTEGER, Fraction(len(text)))
        case "CONCAT", _:
            return Literal("".join(texts))
        case "UCASE", (text,):
            return Literal(text.upper())
        case "LCASE", (text,):
            return Literal(text.lower())
        case "STRSTARTS", (text, part):
            return boolean(text.startswith(part))
        case "STRENDS", (text, part):
            return boolean(text.endswith(part))
        case "CONTAINS", (text, part):
            return boolean(part in text)
    raise ExpressionError(f"the reference does not know {name}")


def _cast(iri: str, value: Term) -> Term:
    """xsd:integer, xsd:decimal, xsd:double and xsd:string of numbers and strings."""
    if iri == XSD_STRING:
        return _term_function("STR", [value])
    known = number(value)
    if known is None and isinstance(value, Literal):
        known = number(Literal(value.lexical, iri))
    if known is None:
        raise ExpressionError(f"cannot cast {value} to {iri}")
    ranks = {XSD + "integer": INTEGER, XSD + "decimal": DECIMAL, XSD + "double": DOUBLE}
    if iri not in ranks or (ranks[iri] <= DECIMAL and not math.isfinite(known[1])):
        raise ExpressionError(f"cannot cast {value} to {iri}")
    if iri == XSD + "integer":
        return literal(INTEGER, Fraction(int(known[1])))
    return literal(ranks[iri], Fraction(known[1]) if ranks[iri] == DECIMAL else float(known[1]))


__all__ = ["Scope", "Series", "equal", "evaluate", "holds", "order_key", "value_or_none"]
