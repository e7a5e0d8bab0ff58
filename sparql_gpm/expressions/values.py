"""The values behind literals: numbers with promotion, truth, comparison and order (SPARQL 1.1, Sections 15.1, 17)."""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from enum import IntEnum
from functools import lru_cache, partial, reduce
from typing import Any

from sparql_gpm.dictionary import INTEGER_TYPES
from sparql_gpm.expressions.datetimes import DateTime, parse_date, parse_date_time
from sparql_gpm.pattern import FALSE, TRUE
from sparql_gpm.terms import IRI, RDF_LANG_STRING, XSD, XSD_STRING, BlankNode, Literal, Term


class ExpressionError(Exception):
    """SPARQL's type error: an expression has no value."""


class Kind(IntEnum):
    """The numeric types, in the order of promotion."""

    INTEGER = 0
    DECIMAL = 1
    FLOAT = 2
    DOUBLE = 3


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric value: int, Decimal, or float (of single precision for FLOAT)."""

    kind: Kind
    value: int | Decimal | float


_EXACT = Context(prec=2000)
_KINDS = {XSD + "decimal": Kind.DECIMAL, XSD + "float": Kind.FLOAT, XSD + "double": Kind.DOUBLE}
_LEXICAL = {
    Kind.INTEGER: re.compile(r"[+-]?[0-9]+"),
    Kind.DECIMAL: re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"),
    Kind.FLOAT: re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|INF)|NaN"),
}
_LEXICAL[Kind.DOUBLE] = _LEXICAL[Kind.FLOAT]
_WHITE_SPACE = " \t\r\n"
_MOMENTS = ("dateTime", "date")
_ZONE_SECONDS_MAX = 14 * 3600
_DIVISION_DIGITS = 28
_LAST_PLACE = Decimal(1).scaleb(-_DIVISION_DIGITS)
_NUMBERS_MAX = 1 << 14
"""Lexical forms whose values are remembered."""
_INTEGER_BITS_MAX = 13_000
_INTEGER_DIGITS_MAX = 4_000
"""Python prints integers of up to 4300 digits."""
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def boolean(value: bool) -> Literal:
    """`true` or `false`."""
    return TRUE if value else FALSE


def number(term: Term) -> Number | None:
    """The value of a well-formed numeric literal, else None."""
    return _number_of(term.lexical, term.datatype) if isinstance(term, Literal) else None


@lru_cache(maxsize=_NUMBERS_MAX)
def _number_of(lexical: str, datatype: str) -> Number | None:
    kind = Kind.INTEGER if datatype in INTEGER_TYPES else _KINDS.get(datatype)
    return None if kind is None else parse_number(lexical.strip(_WHITE_SPACE), kind)


def parse_number(lexical: str, kind: Kind) -> Number | None:
    """The value of a lexical form of that type, or None if it has none there."""
    if _LEXICAL[kind].fullmatch(lexical) is None:
        return None
    match kind:
        case Kind.INTEGER:
            return Number(kind, int(lexical)) if len(lexical) <= _INTEGER_DIGITS_MAX else None
        case Kind.DECIMAL:
            return Number(kind, Decimal(lexical))
        case Kind.FLOAT:
            return Number(kind, single(float(lexical)))
    return Number(kind, float(lexical))


def single(value: float) -> float:
    """The nearest number of single precision."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def require_number(term: Term) -> Number:
    """The value of a numeric literal; anything else is an error."""
    value = number(term)
    if value is None:
        raise ExpressionError("not a number")
    return value


def promoted(left: Number, right: Number) -> tuple[Kind, Any, Any]:
    """Both values as the wider of their types."""
    kind = max(left.kind, right.kind)
    return kind, _as(left, kind), _as(right, kind)


def _as(value: Number, kind: Kind) -> int | Decimal | float:
    if kind == Kind.DECIMAL:
        return Decimal(value.value)
    if kind < Kind.FLOAT:
        return value.value
    try:
        wide = float(value.value)
    except OverflowError:
        wide = float("inf") if value.value > 0 else float("-inf")
    return single(wide) if kind == Kind.FLOAT else wide


def calculate(name: str, left: Number, right: Number) -> Number:
    """`+ - * /`; integers divide to a decimal, and dividing an exact number by zero is an error."""
    kind, a, b = promoted(left, right)
    if kind < Kind.FLOAT:
        return _exact(name, kind, a, b)
    match name:
        case "+":
            result = a + b
        case "-":
            result = a - b
        case "*":
            result = a * b
        case _:
            result = a / b if b else _over_zero(a, b)
    return Number(kind, single(result) if kind == Kind.FLOAT else result)


def _exact(name: str, kind: Kind, a: Any, b: Any) -> Number:
    if name == "/":
        if b == 0:
            raise ExpressionError("division by zero")
        top, bottom = Decimal(a), Decimal(b)
        digits = _DIVISION_DIGITS + len(top.as_tuple().digits) + len(bottom.as_tuple().digits)
        exact = _context(min(digits, _EXACT.prec)).divide(top, bottom)
        short = exact if _places(exact) <= _DIVISION_DIGITS else exact.quantize(_LAST_PLACE, context=_EXACT)
        return Number(Kind.DECIMAL, short)
    if kind == Kind.INTEGER:
        result: int = {"+": operator.add, "-": operator.sub, "*": operator.mul}[name](a, b)
        if result.bit_length() > _INTEGER_BITS_MAX:
            raise ExpressionError("an integer too large")
        return Number(kind, result)
    return Number(kind, {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply}[name](a, b))


@lru_cache(maxsize=_EXACT.prec)
def _context(digits: int) -> Context:
    return Context(prec=digits)


def _places(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), value
    return -exponent


def _over_zero(a: float, b: float) -> float:
    if a == 0 or a != a:
        return float("nan")
    negative = (a < 0) != str(b).startswith("-")
    return float("-inf") if negative else float("inf")


def total(numbers: Sequence[Number]) -> Number:
    """Their sum, added one after the other; 0 if there is none."""
    if numbers and all(each.kind == Kind.DECIMAL for each in numbers):
        return Number(Kind.DECIMAL, reduce(_EXACT.add, [Decimal(each.value) for each in numbers], Decimal(0)))
    return reduce(partial(calculate, "+"), numbers, Number(Kind.INTEGER, 0))


def numeric_literal(value: Number) -> Literal:
    """The literal of a value, in canonical form: `3`, `3.5`, `1.0E0`."""
    match value.kind:
        case Kind.INTEGER:
            return Literal(str(value.value), XSD + "integer")
        case Kind.DECIMAL:
            return Literal(_decimal_text(Decimal(value.value)), XSD + "decimal")
        case Kind.FLOAT:
            import numpy as np

            return Literal(_float_text(float(value.value), str(np.float32(value.value))), XSD + "float")
    return Literal(_float_text(float(value.value), repr(float(value.value))), XSD + "double")


def number_text(value: Number) -> str:
    """A number cast to a string: without an exponent from a millionth up to a million (XPath Functions 3.0, 19.1.2)."""
    if isinstance(value.value, float) and (value.value == 0 or 1e-6 <= abs(value.value) < 1e6):
        shortest = numeric_literal(value).lexical
        return _decimal_text(Decimal(shortest)) if value.value else shortest.partition(".")[0]
    return numeric_literal(value).lexical


def _decimal_text(value: Decimal) -> str:
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _float_text(value: float, shortest: str) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "INF" if value > 0 else "-INF"
    if value == 0:
        return "-0.0E0" if str(value).startswith("-") else "0.0E0"
    sign, digits, exponent = Decimal(shortest).normalize().as_tuple()
    assert isinstance(exponent, int), shortest
    mantissa = "".join(map(str, digits))
    return f"{'-' * sign}{mantissa[0]}.{mantissa[1:] or '0'}E{exponent + len(digits) - 1}"


def truth(term: Term) -> bool:
    """The effective boolean value (Section 17.2.2); an error for what has none."""
    if isinstance(term, Literal):
        if term.datatype == XSD + "boolean":
            return term.lexical.strip(_WHITE_SPACE) in ("true", "1")
        if term.datatype in (XSD_STRING, RDF_LANG_STRING):
            return term.lexical != ""
        if term.datatype in INTEGER_TYPES or term.datatype in _KINDS:
            value = number(term)
            return value is not None and value.value == value.value and value.value != 0
    raise ExpressionError("no effective boolean value")


def compare(name: str, left: Term, right: Term) -> bool:
    """`= != < <= > >=` on terms (Section 17.3); an error where they cannot be compared."""
    a, b = number(left), number(right)
    if a is not None and b is not None:
        _, first, second = promoted(a, b)
        return _COMPARISONS[name](first, second)
    space, value = _comparable(left)
    other_space, other = _comparable(right)
    if space == other_space and space in _MOMENTS:
        return _COMPARISONS[name](*_moments(value, other))
    if space == other_space and space in ("string", "boolean"):
        return _COMPARISONS[name](value, other)
    if name in ("=", "!="):
        return _same_value(left, right, space, other_space) == (name == "=")
    raise ExpressionError("cannot be compared")


def _moments(left: DateTime, right: DateTime) -> tuple[Decimal, Decimal]:
    """Both as seconds; an error if one has no zone and some zone would reverse the order (XML Schema 1.1, D.2.1)."""
    first, second = left.instant(), right.instant()
    if bool(left.zone) != bool(right.zone) and abs(first - second) <= _ZONE_SECONDS_MAX:
        raise ExpressionError("not known without a time zone")
    return first, second


def _same_value(left: Term, right: Term, space: str, other_space: str) -> bool:
    """RDFterm-equal: literals are different if their value spaces are, or one is language-tagged; else who knows."""
    if left == right:
        return True
    if isinstance(left, Literal) and isinstance(right, Literal):
        known = space != "" and other_space != "" and space != other_space
        if not known and "tagged" not in (space, other_space):
            raise ExpressionError("not known to be different")
    return False


def _comparable(term: Term) -> tuple[str, Any]:
    """The value space of a term and its value there; "" for those without an order."""
    if not isinstance(term, Literal):
        return "", None
    if term.datatype == XSD_STRING:
        return "string", term.lexical
    if term.datatype == RDF_LANG_STRING:
        return "tagged", None
    lexical = term.lexical.strip(_WHITE_SPACE)
    if term.datatype == XSD + "boolean" and lexical in ("true", "false", "1", "0"):
        return "boolean", lexical in ("true", "1")
    if term.datatype in (XSD + "dateTime", XSD + "dateTimeStamp"):
        moment = parse_date_time(lexical)
        return ("dateTime", moment) if moment else ("", None)
    if term.datatype == XSD + "date":
        day = parse_date(lexical)
        return ("date", day) if day else ("", None)
    return ("number", None) if number(term) is not None else ("", None)


_ORDER = {"boolean": 0, "dateTime": 2, "date": 3, "string": 4}


def order_key(term: Term) -> tuple[Any, ...]:
    """The place of a term in ORDER BY: blank nodes, IRIs, literals; terms that `<` compares follow it."""
    match term:
        case BlankNode(label):
            return (0, 0, label)
        case IRI(value):
            return (1, 0, value)
    found = number(term)
    if found is not None:
        is_number = found.value == found.value
        return (2, 1, is_number, found.value if is_number else 0)
    space, comparable = _comparable(term)
    if space in _ORDER:
        return (2, _ORDER[space], comparable.instant() if space in _MOMENTS else comparable)
    return (2, 5, term.datatype, term.lexical, term.language)
