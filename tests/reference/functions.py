"""Operators and functions over values (SPARQL 1.2, 17.3 and 17.4)."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sparql_gpm.terms import (
    DIRECTIONS,
    IRI,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    XSD,
    XSD_STRING,
    BlankNode,
    Literal,
    Term,
    TripleTerm,
)
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
    """`=`: by value where both have one, else RDFterm-equal; an error for two literals not known to be different."""
    if isinstance(left, TripleTerm) and isinstance(right, TripleTerm):
        nodes = left.subject == right.subject and left.predicate == right.predicate
        return nodes and equal(left.object, right.object)
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
        spaces = {_space(left), _space(right)}
        if "tagged" not in spaces and (None in spaces or len(spaces) == 1):
            raise ExpressionError("two literals that cannot be compared")
    return False


def _space(term: Literal) -> str | None:
    """The value space of a literal, None for those that are not known or ill-typed."""
    if term.language:
        return "tagged"
    if number(term) is not None:
        return "number"
    if duration(term) is not None:
        return "duration"
    known = comparable(term)
    return None if known is None else known[0]


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


def _string(term: Term) -> Literal:
    if isinstance(term, Literal) and (term.datatype == XSD_STRING or term.language):
        return term
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
        case "LANGDIR", (Literal(direction=direction),):
            return Literal(direction)
        case "HASLANG", (term,):
            return boolean(isinstance(term, Literal) and bool(term.language))
        case "HASLANGDIR", (term,):
            return boolean(isinstance(term, Literal) and bool(term.direction))
        case "STRLANG", (Literal(lexical, "http://www.w3.org/2001/XMLSchema#string"), tag):
            return Literal(lexical, RDF_LANG_STRING, _tag(tag))
        case "STRLANGDIR", (Literal(lexical, "http://www.w3.org/2001/XMLSchema#string"), tag, Literal(direction)):
            if values[2] not in map(Literal, DIRECTIONS):
                raise ExpressionError(f"not a base direction: {direction}")
            return Literal(lexical, RDF_DIR_LANG_STRING, _tag(tag), direction)
        case "TRIPLE", (IRI() | BlankNode() as subject, IRI() as predicate, target):
            return TripleTerm(subject, predicate, target)
        case "SUBJECT", (TripleTerm(subject=part),):
            return part
        case "PREDICATE", (TripleTerm(predicate=part),):
            return part
        case "OBJECT", (TripleTerm(object=part),):
            return part
        case "ISTRIPLE", (term,):
            return boolean(isinstance(term, TripleTerm))
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
    """Results have the language and direction of the first string (17.4.3.1.3)."""
    strings = [_string(value) for value in values]
    match name, strings:
        case "STRLEN", (string,):
            return literal(INTEGER, Fraction(len(string.lexical)))
        case "CONCAT", _:
            joined = "".join(string.lexical for string in strings)
            alike = len({(string.language, string.direction) for string in strings}) == 1
            return replace(strings[0], lexical=joined) if alike else Literal(joined)
        case "UCASE", (string,):
            return replace(string, lexical=string.lexical.upper())
        case "LCASE", (string,):
            return replace(string, lexical=string.lexical.lower())
        case _, (string, part):
            if part.language and (part.language, part.direction) != (string.language, string.direction):
                raise ExpressionError("strings that are not compatible")
            return _part_function(name, string, part.lexical)
    raise ExpressionError(f"the reference does not know {name}")


def _part_function(name: str, string: Literal, part: str) -> Term:
    text = string.lexical
    match name:
        case "STRSTARTS":
            return boolean(text.startswith(part))
        case "STRENDS":
            return boolean(text.endswith(part))
        case "CONTAINS":
            return boolean(part in text)
        case "STRBEFORE":
            return replace(string, lexical=text[: text.index(part)]) if part in text else Literal("")
        case "STRAFTER":
            return replace(string, lexical=text[text.index(part) + len(part) :]) if part in text else Literal("")
    raise ExpressionError(f"the reference does not know {name}")


def _tag(term: Term) -> str:
    if isinstance(term, Literal) and term.datatype == XSD_STRING and re.fullmatch("[A-Za-z]{2,8}", term.lexical):
        return term.lexical.lower()
    raise ExpressionError(f"not a language tag: {term}")


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
