"""Operators and functions over values (SPARQL 1.1, 17.3 and 17.4)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from sparql_gpm.terms import IRI, XSD, XSD_STRING, BlankNode, Literal, Term
from tests.reference.durations import duration, time_arithmetic
from tests.reference.values import (
    DECIMAL,
    DOUBLE,
    INTEGER,
    ExpressionError,
    Number,
    boolean,
    comparable,
    literal,
    number,
    promote,
)


def equal(left: Term, right: Term) -> bool:
    """`=`: by value where both have one, else RDFterm-equal, an error for two different literals."""
    a, b = number(left), number(right)
    if a is not None and b is not None:
        _, x, y = promote(a, b)
        return x == y
    d, e = duration(left), duration(right)
    if d is not None and e is not None:
        return d[1:] == e[1:]
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
    d, e = duration(left), duration(right)
    if d is not None and e is not None and d[0] == e[0] != "duration":
        return _ORDER[name](d[1:], e[1:])
    p, q = comparable(left), comparable(right)
    if p is None or q is None or p[0] != q[0]:
        raise ExpressionError("values without a common order")
    return _ORDER[name](p[1], q[1])


def _arithmetic(name: str, left: Term, right: Term) -> Literal:
    """+ - * / with numeric promotion; integers divide to a decimal; dates and durations as in XPath."""
    if number(left) is None or number(right) is None:
        return time_arithmetic(name, left, right)
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


def function(name: str, values: Sequence[Term]) -> Term:
    """A function or operator by its name in upper case, applied to values."""
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


def cast(iri: str, value: Term) -> Term:
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
