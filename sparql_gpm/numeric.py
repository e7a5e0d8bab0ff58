"""Numbers of SPARQL: lexical forms, types with promotion, arithmetic, canonical text (SPARQL 1.1, Section 17)."""

from __future__ import annotations

import operator
import struct
from collections.abc import Sequence
from decimal import Context, Decimal, Inexact
from enum import IntEnum
from functools import lru_cache, partial, reduce
from math import gcd, inf, isfinite, nan
from typing import Any, NamedTuple

import numpy as np

from sparql_gpm.errors import ExpressionError
from sparql_gpm.terms import (
    DECIMAL_FORM,
    FLOATING_FORM,
    INTEGER_FORM,
    INTEGER_TYPES,
    WHITE_SPACE,
    XSD,
    Literal,
    Term,
)


class NumericType(IntEnum):
    """The numeric types, in the order of promotion."""

    INTEGER = 0
    DECIMAL = 1
    FLOAT = 2
    DOUBLE = 3


class Number(NamedTuple):
    """A numeric value: int, Decimal, or float (of single precision for FLOAT)."""

    kind: NumericType
    value: int | Decimal | float


_INTEGER, _DECIMAL, _FLOAT, _DOUBLE = NumericType
ZERO = Number(_INTEGER, 0)
EXACT = Context(prec=2000)
NUMERIC_TYPES = dict.fromkeys(INTEGER_TYPES, _INTEGER) | {
    XSD + "decimal": _DECIMAL, XSD + "float": _FLOAT, XSD + "double": _DOUBLE,
}  # fmt: skip
"""The numeric type of each datatype."""
_LEXICAL = (INTEGER_FORM, DECIMAL_FORM, FLOATING_FORM, FLOATING_FORM)
"""The lexical forms of each numeric type."""
_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_DECIMAL_OPERATIONS = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}
_DIVISION_DIGITS = 28
_LAST_PLACE = Decimal(1).scaleb(-_DIVISION_DIGITS)
_NUMBERS_MAX = 1 << 14
"""Lexical forms whose values are cached."""
_INTEGER_BITS_MAX = 13_000
_INTEGER_DIGITS_MAX = 4_000
"""Python prints integers of up to 4300 digits."""
_EXACT_DIGITS_MAX = 15
"""Decimals of up to this many digits keep their order and distinctness as float64."""


def number(term: Term) -> Number | None:
    """The value of a well-formed numeric literal, else None."""
    return _number_of(term.lexical, term.datatype) if isinstance(term, Literal) else None


def _read(lexical: str, datatype: str) -> Number | None:
    kind = NUMERIC_TYPES.get(datatype)
    return None if kind is None else parse_number(lexical.strip(WHITE_SPACE), kind)


_number_of = lru_cache(maxsize=_NUMBERS_MAX)(_read)


def is_number(lexical: str, kind: NumericType) -> bool:
    """The text is a lexical form of that type."""
    return _LEXICAL[kind].fullmatch(lexical) is not None


def parse_number(lexical: str, kind: NumericType) -> Number | None:
    """The value of a lexical form of that type, or None if it has none there."""
    if not is_number(lexical, kind) or (kind == _INTEGER and len(lexical) > _INTEGER_DIGITS_MAX):
        return None
    if kind >= _FLOAT:
        return Number(kind, single(float(lexical)) if kind == _FLOAT else float(lexical))
    return Number(kind, int(lexical) if kind == _INTEGER else Decimal(lexical))


def float64(term: Term) -> float:
    """The value of a numeric literal if float64 compares it exactly as SPARQL does, else NaN."""
    if not isinstance(term, Literal) or (kind := NUMERIC_TYPES.get(term.datatype)) is None:
        return nan
    lexical = term.lexical.strip(WHITE_SPACE)
    if kind <= _DECIMAL and len(lexical) <= _EXACT_DIGITS_MAX:
        return float(lexical if kind else int(lexical)) if is_number(lexical, kind) else nan
    found = parse_number(lexical, kind)
    if found is None:
        return nan
    value = found.value
    if isinstance(value, Decimal):
        return float(value) if len(value.as_tuple().digits) <= _EXACT_DIGITS_MAX else nan
    return nan if isinstance(value, int) and abs(value) > 2**53 else float(value)


def single(value: float) -> float:
    """The nearest number of single precision."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return inf if value > 0 else -inf


def require_number(term: Term) -> Number:
    """The value of a numeric literal; anything else is an error."""
    value = number(term)
    if value is None:
        raise ExpressionError("not a number")
    return value


def promoted(left: Number, right: Number) -> tuple[NumericType, Any, Any]:
    """Both values as the wider of their types."""
    kind = max(left.kind, right.kind)
    return kind, _as(left, kind), _as(right, kind)


def _as(value: Number, kind: NumericType) -> int | Decimal | float:
    if kind < _FLOAT:
        return Decimal(value.value) if kind == _DECIMAL else value.value
    try:
        wide = float(value.value)
    except OverflowError:
        wide = inf if value.value > 0 else -inf
    return single(wide) if kind == _FLOAT else wide


def cast(value: Number, kind: NumericType) -> Number:
    """The value in another type; a narrower type cuts it off, and INF and NaN have no exact value."""
    if kind >= _FLOAT:
        return Number(kind, _as(value, kind))
    if isinstance(value.value, float) and not isfinite(value.value):
        raise ExpressionError("not finite")
    exact = Decimal(repr(value.value)) if isinstance(value.value, float) else Decimal(value.value)
    return Number(kind, exact if kind == _DECIMAL else int(exact))


def calculate(name: str, left: Number, right: Number) -> Number:
    """`+ - * /`; integers divide to a decimal, and dividing an exact number by zero is an error."""
    kind, a, b = promoted(left, right)
    if kind < _FLOAT:
        return _divide(a, b) if name == "/" else _exact(name, kind, a, b)
    if name == "/":
        result = a / b if b else _over_zero(a, b)
    else:
        result = _OPERATIONS[name](a, b)
    return Number(kind, single(result) if kind == _FLOAT else result)


def _exact(name: str, kind: NumericType, a: Any, b: Any) -> Number:
    if kind == _DECIMAL:
        return Number(kind, _DECIMAL_OPERATIONS[name](a, b))
    result: int = _OPERATIONS[name](a, b)
    if result.bit_length() > _INTEGER_BITS_MAX:
        raise ExpressionError("an integer too large")
    return Number(kind, result)


def _divide(a: int | Decimal, b: int | Decimal) -> Number:
    """The quotient: all its digits where they end, else 28 places, rounded half to even (specification 3.1.4)."""
    if b == 0:
        raise ExpressionError("division by zero")
    top, bottom = Decimal(a), Decimal(b)
    digits = _DIVISION_DIGITS + len(top.as_tuple().digits) + len(bottom.as_tuple().digits)
    context = _context(min(digits, EXACT.prec)).copy()  # its flag is of this division alone
    quotient = context.divide(top, bottom)
    exponent = quotient.as_tuple().exponent
    assert isinstance(exponent, int), quotient
    if context.flags[Inexact] and exponent < -_DIVISION_DIGITS:
        ends = _ends(top, bottom)
        quotient = EXACT.divide(top, bottom) if ends else quotient.quantize(_LAST_PLACE, context=EXACT)
    return Number(_DECIMAL, quotient)


def _ends(top: Decimal, bottom: Decimal) -> bool:
    """True if the digits of a quotient end: its denominator has no prime factors but two and five."""
    (above, below), (times, by) = top.as_integer_ratio(), bottom.as_integer_ratio()
    denominator = abs(below * times) // gcd(above * by, below * times)
    return pow(10, denominator.bit_length(), denominator) == 0


@lru_cache(maxsize=EXACT.prec)
def _context(digits: int) -> Context:
    return Context(prec=digits)


def _over_zero(a: float, b: float) -> float:
    if a == 0 or a != a:
        return nan
    return -inf if (a < 0) != str(b).startswith("-") else inf


def total(numbers: Sequence[Number]) -> Number:
    """Their sum, added in their order; 0 if there is none."""
    if numbers and all(each.kind == _DECIMAL for each in numbers):
        return Number(_DECIMAL, reduce(EXACT.add, [Decimal(each.value) for each in numbers], Decimal(0)))
    return reduce(partial(calculate, "+"), numbers, ZERO)


def integer_literal(value: int) -> Literal:
    """An xsd:integer."""
    return Literal(str(value), XSD + "integer")


def numeric_literal(value: Number) -> Literal:
    """The literal of a value, in canonical form: `3`, `3.5`, `1.0E0`."""
    match value.kind:
        case NumericType.INTEGER:
            return integer_literal(int(value.value))
        case NumericType.DECIMAL:
            return Literal(_decimal_text(Decimal(value.value)), XSD + "decimal")
        case NumericType.FLOAT:
            return Literal(_float_text(float(value.value), str(np.float32(value.value))), XSD + "float")
    return Literal(_float_text(float(value.value), repr(float(value.value))), XSD + "double")


def number_text(value: Number) -> str:
    """A number cast to a string: without an exponent from a millionth up to a million (XPath Functions 3.0, 19.1.2)."""
    shortest = numeric_literal(value).lexical
    if isinstance(value.value, float) and (value.value == 0 or 1e-6 <= abs(value.value) < 1e6):
        return _decimal_text(Decimal(shortest)) if value.value else shortest.partition(".")[0]
    return shortest


def _decimal_text(value: Decimal) -> str:
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _float_text(value: float, shortest: str) -> str:
    if value != value:
        return "NaN"
    if value in (inf, -inf):
        return "INF" if value > 0 else "-INF"
    if value == 0:
        return "-0.0E0" if str(value).startswith("-") else "0.0E0"
    sign, digits, exponent = Decimal(shortest).normalize().as_tuple()
    assert isinstance(exponent, int), shortest
    mantissa = "".join(map(str, digits))
    return f"{'-' * sign}{mantissa[0]}.{mantissa[1:] or '0'}E{exponent + len(digits) - 1}"
