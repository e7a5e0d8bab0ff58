"""The numbers and the order of terms, as propagated aggregates ask for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automata.propagation.measures import Addend, Scaled, Sum, Values
from automata.values import Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.exact_sum import ExactSum
from sparql_gpm.expressions.values import comparison_class, full_order_key
from sparql_gpm.numeric import EXACT, NumericType, number

_KEPT_MAX = 1 << 16
"""Values remembered by their ids."""
_BINARY_BITS = 1074
_DIGITS_MAX = 15
_INFINITE, _NEGATIVE, _UNDEFINED = 1 << 4, 1 << 5, 1 << 6
"""Flags of sums, beside those of the types: bit n is type n."""
_TYPES = (1 << 4) - 1
_UNKNOWN, _NO_NUMBER = -1, -2


@dataclass(slots=True, eq=False)
class TermValues(Values):
    """The numbers and the order of terms, by their ids."""

    dictionary: Dictionary
    _addends: dict[int, Addend | None] = field(default_factory=dict)
    _kinds: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, dtype=np.int8))
    _generation: int = -1

    def addend(self, identifier: int) -> Addend | None:
        """The id as a number to be added."""
        self._refresh()
        if identifier not in self._addends:
            if len(self._addends) >= _KEPT_MAX:
                self._addends.clear()
            self._addends[identifier] = self._addend(identifier)
        return self._addends[identifier]

    def place(self, identifier: int) -> tuple[Any, Any]:
        """The class of terms that it can be compared with, and its place in ORDER BY."""
        term = self.dictionary.term(identifier)
        return comparison_class(term), full_order_key(term)

    def sum_place(self, addend: Addend) -> Any:
        """The place of a sum among those with the same flags."""
        return addend.decimal + addend.binary

    def numbers(self, ids: Ids) -> NDArray[np.float64]:
        """The ids as float64; NaN where it would not compare exactly."""
        return self.dictionary.numbers[ids]

    def scaled(self, ids: Ids) -> Scaled | None:
        """The ids as numbers of one type; None where they are not, or not exactly float64."""
        kinds = self._kinds_of(ids)
        kind = int(kinds[0])
        if kind < 0 or (kinds != kind).any():
            return None
        numbers = self.dictionary.numbers[ids]
        if not np.isfinite(numbers).all():
            return None
        flags = 1 << kind
        if kind == NumericType.INTEGER:
            return Scaled(flags, False, numbers.astype(np.int64), np.zeros(len(ids), dtype=np.int64))
        if kind == NumericType.DECIMAL:
            return _decimals(flags, numbers)
        fractions, exponents = np.frexp(numbers)
        mantissas = (fractions * (1 << 53)).astype(np.int64)
        zeros = np.where(mantissas == 0, 0, _trailing_zeros(mantissas))
        return Scaled(flags, True, mantissas >> zeros, np.where(mantissas == 0, 0, exponents - 53 + zeros))

    def _kinds_of(self, ids: Ids) -> NDArray[np.int8]:
        """The numeric type of each, _NO_NUMBER for other terms."""
        self._refresh()
        largest = int(ids.max())
        if largest >= len(self._kinds):
            kinds = np.full(max(2 * len(self._kinds), largest + 1), _UNKNOWN, dtype=np.int8)
            kinds[: len(self._kinds)] = self._kinds
            self._kinds = kinds
        kinds = self._kinds[ids]
        unknown = ids[kinds == _UNKNOWN]
        if len(unknown):
            for identifier in np.unique(unknown).tolist():
                found = number(self.dictionary.term(identifier))
                self._kinds[identifier] = _NO_NUMBER if found is None else int(found.kind)
            kinds = self._kinds[ids]
        return kinds

    def _refresh(self) -> None:
        """Ids that have been given up may be given out anew."""
        if self._generation != self.dictionary.generation:
            self._generation = self.dictionary.generation
            self._addends.clear()
            self._kinds = np.zeros(0, dtype=np.int8)

    def _addend(self, identifier: int) -> Addend | None:
        found = number(self.dictionary.term(identifier))
        if found is None:
            return None
        flags, value = 1 << found.kind, found.value
        match value:
            case int():
                return Addend(value, 0, flags)
            case Decimal():
                return Addend(_whole(Fraction(EXACT.plus(value))), 0, flags)
        if isfinite(value):
            return Addend(0, _whole(Fraction(value)), flags)
        special = _UNDEFINED if value != value else _INFINITE if value > 0 else _NEGATIVE
        return Addend(0, 0, flags | special)


def exact_sum_of(value: Sum) -> ExactSum:
    """A sum of integers, decimals, floats and doubles."""
    top, bottom = value.decimal.as_integer_ratio()
    scale = 0
    while bottom > 1 and 10**scale % bottom:
        scale += 1
    binary = value.binary * (1 << _BINARY_BITS)
    assert binary == int(binary), value
    flags = value.flags
    kind = NumericType(max((flags & _TYPES).bit_length() - 1, 0))
    special = (bool(flags & flag) for flag in (_INFINITE, _NEGATIVE, _UNDEFINED))
    return ExactSum(kind, top * 10**scale // bottom, scale, int(binary), *special)


def _decimals(flags: int, numbers: NDArray[np.float64]) -> Scaled | None:
    """Decimals of up to 15 digits, which float64 tells apart: with the fewest places that give all of them."""
    for places in range(_DIGITS_MAX + 1):
        scaled = np.rint(numbers * 10.0**places)
        if (np.abs(scaled) < 10.0**_DIGITS_MAX).all() and (scaled / 10.0**places == numbers).all():
            exponents = np.full(len(numbers), -places, dtype=np.int64)
            return Scaled(flags, False, scaled.astype(np.int64), exponents)
    return None


def _trailing_zeros(values: Ids) -> Ids:
    """The number of zeros at the end of each number but 0, in base two."""
    _, exponents = np.frexp((values & -values).astype(np.float64))
    zeros: Ids = exponents.astype(np.int64) - 1
    return zeros


def _whole(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value
