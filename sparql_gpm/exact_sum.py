"""Exact sums of numbers of any types, rounded once: the order in which numbers come does not matter."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, nan, nextafter
from struct import pack

from sparql_gpm.numeric import EXACT, Number, NumericType, calculate, numeric_literal, single
from sparql_gpm.terms import Literal, Term

_EXACT = "urn:spaseq:exact-sum"
"""The datatype of a sum that is not rounded: between two aggregates, and nowhere else."""

_BINARY_BITS = 1074
"""Every finite double is a multiple of 2 to the power of minus this."""


@dataclass(slots=True)
class ExactSum:
    """A sum of integers, decimals, floats and doubles; its type is the widest of them.

    coefficient, scale   integers and decimals together: coefficient times 10 to the power of -scale
    binary               floats and doubles together: times 2 to the power of -1074
    positive, negative   an infinity is among them
    undefined            NaN is
    """

    kind: NumericType = NumericType.INTEGER
    coefficient: int = 0
    scale: int = 0
    binary: int = 0
    positive: bool = False
    negative: bool = False
    undefined: bool = False

    def add(self, number: Number, times: int = 1) -> None:
        """One more number, so many times."""
        self.kind = max(self.kind, number.kind)
        value = number.value
        match value:
            case int():
                self._add_decimal(value * times, 0)
            case Decimal():
                rounded = EXACT.plus(value)
                exponent = rounded.as_tuple().exponent
                assert isinstance(exponent, int), value
                whole = int(EXACT.scaleb(rounded, -exponent))
                self._add_decimal(whole * times * 10 ** max(exponent, 0), max(-exponent, 0))
            case float() if isfinite(value):
                top, bottom = value.as_integer_ratio()
                self.binary += times * (top << (_BINARY_BITS + 1 - bottom.bit_length()))
            case _:
                self.positive |= value == inf
                self.negative |= value == -inf
                self.undefined |= value != value

    def merge(self, other: ExactSum, times: int = 1) -> None:
        """Adds what another sum has added, so many times."""
        self.kind = max(self.kind, other.kind)
        self._add_decimal(other.coefficient * times, other.scale)
        self.binary += other.binary * times
        self.positive |= other.positive
        self.negative |= other.negative
        self.undefined |= other.undefined

    def literal(self) -> Literal:
        """The sum as a number, or where that would be rounded as a literal that `inner_sum` reads."""
        if self.kind < NumericType.FLOAT:
            return numeric_literal(self.total())
        numbers = (self.kind, self.coefficient, self.scale, self.binary, self.positive, self.negative, self.undefined)
        return Literal(" ".join(format(int(number), "x") for number in numbers), _EXACT)

    def total(self) -> Number:
        """The sum, rounded once if it is a float or double; raises ExpressionError for an integer too large."""
        if self.kind >= NumericType.FLOAT:
            return Number(self.kind, self._rounded(1))
        exact = Number(NumericType.INTEGER, self.coefficient)
        if self.kind == NumericType.INTEGER:
            return calculate("+", exact, Number(NumericType.INTEGER, 0))
        return Number(self.kind, EXACT.scaleb(Decimal(self.coefficient), -self.scale))

    def mean(self, count: int) -> Number:
        """The sum divided by a number of values, rounded once."""
        if self.kind >= NumericType.FLOAT:
            return Number(self.kind, self._rounded(count))
        return calculate("/", self.total(), Number(NumericType.INTEGER, count))

    def state(self) -> list[object]:
        """Plain values, for snapshots: whole numbers as texts, for they may be long."""
        numbers = [format(number, "x") for number in (self.coefficient, self.scale, self.binary)]
        return [int(self.kind), *numbers, self.positive, self.negative, self.undefined]

    @classmethod
    def of(cls, state: list[object]) -> ExactSum:
        """The sum of a state."""
        coefficient, scale, binary = (int(str(text), 16) for text in state[1:4])
        positive, negative, undefined = map(bool, state[4:])
        return cls(NumericType(int(str(state[0]))), coefficient, scale, binary, positive, negative, undefined)

    def _add_decimal(self, coefficient: int, scale: int) -> None:
        if scale > self.scale:
            self.coefficient *= 10 ** (scale - self.scale)
            self.scale = scale
        self.coefficient += coefficient * 10 ** (self.scale - scale)

    def _rounded(self, count: int) -> float:
        if self.undefined or (self.positive and self.negative):
            return nan
        if self.positive or self.negative:
            return inf if self.positive else -inf
        exact = Fraction(self.coefficient, 10**self.scale) + Fraction(self.binary, 1 << _BINARY_BITS)
        return _nearest(exact / count, self.kind)


def inner_sum(term: Term) -> ExactSum | None:
    """The sum that `ExactSum.literal` has written, unless that is a number; None: the term is none."""
    if not isinstance(term, Literal) or term.datatype != _EXACT:
        return None
    kind, coefficient, scale, binary, *special = (int(text, 16) for text in term.lexical.split(" "))
    positive, negative, undefined = map(bool, special)
    return ExactSum(NumericType(kind), coefficient, scale, binary, positive, negative, undefined)


def _nearest(exact: Fraction, kind: NumericType) -> float:
    """The nearest double, or number of single precision."""
    try:
        near = exact.numerator / exact.denominator
    except OverflowError:
        return inf if exact > 0 else -inf
    if kind == NumericType.DOUBLE:
        return near
    if Fraction(near) != exact and not _is_odd(near):
        near = nextafter(near, inf if exact > near else -inf)  # rounded to odd, so that rounding again is exact
    return single(near)


def _is_odd(value: float) -> bool:
    """True if the last bit of its significand is set."""
    return bool(pack("<d", value)[0] & 1)
