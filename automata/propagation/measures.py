"""Measures: values kept of a set of partial matches, from which an aggregate over the complete ones follows.

A *value* of a measure stands for a multiset of partial matches. Values are added when sets are united, and every match
of a set takes a step together. All is exact: counts and sums are integers and fractions of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from automata.state import State
from automata.values import UNBOUND, Ids


class Kind(Enum):
    """An outermost aggregate over matches; AVG is the sum and the count of a SUM."""

    COUNT = "COUNT"
    SUM = "SUM"
    MIN = "MIN"
    MAX = "MAX"


@dataclass(frozen=True, slots=True)
class Measured:
    """An aggregate to be told of the matches: of a variable, or of an aggregate over its iterations (`inner`)."""

    kind: Kind
    variable: int
    inner: Kind | None = None


class Addend(NamedTuple):
    """A number to be added: the exact part in base ten, the part in base two, and what else is to be known of it.

    flags       bits that are united in a sum: of types, of infinities and NaN
    """

    decimal: int | Fraction
    binary: int | Fraction
    flags: int


class Scaled(NamedTuple):
    """Numbers of one kind: mantissas * base ** exponents.

    flags       as those of `Addend`, of every one of them
    binary      the base is two (the mantissas have up to 53 bits), else ten
    """

    flags: int
    binary: bool
    mantissas: Ids
    exponents: Ids


class Values(Protocol):
    """Whoever knows what the ids stand for."""

    def numbers(self, ids: Ids) -> NDArray[np.float64]:
        """The ids as float64, which compares them as they are compared; NaN for all that it does not."""

    def scaled(self, ids: Ids) -> Scaled | None:
        """The ids as numbers of one kind; None: they are not."""

    def addend(self, identifier: int) -> Addend | None:
        """The id as a number; None: it is none."""

    def place(self, identifier: int) -> tuple[Hashable, Any]:
        """The class of values that it can be compared with, and its place in the order of all values."""

    def sum_place(self, addend: Addend) -> Any:
        """The place of a sum in the order of numbers."""


Value = Any
"""The value of a measure; its shape is that of the measure."""


class Measure(Protocol):
    """The algebra of one measured aggregate.

    empty       the value of one match that has bound nothing yet; of n such, see `unbound`
    """

    empty: Value

    def plus(self, one: Value, other: Value) -> Value:
        """The value of both sets together."""

    def taken(self, value: Value, count: int, identifier: int) -> Value:
        """The value of `count` matches once they have taken a step that binds the variable to this, or leaves it."""

    def unbound(self, count: int) -> Value:
        """The value of `count` matches that have bound nothing."""

    def ids(self, value: Value) -> Iterable[int]:
        """The ids in a value."""

    def stored(self, value: Value, number: Callable[[int], int]) -> State:
        """The value as plain values; `number` stands for an id."""

    def restored(self, state: Any, identifier: Callable[[int], int]) -> Value:
        """The value again; `identifier` gives the id for a number."""


def stored_number(number: int | Fraction) -> list[str]:
    """A number of any size as plain values."""
    top, bottom = number.as_integer_ratio()
    return [f"{top:x}", f"{bottom:x}"]


def restored_number(state: Sequence[str]) -> int | Fraction:
    """The number again."""
    top, bottom = (int(each, 16) for each in state)
    return top if bottom == 1 else Fraction(top, bottom)


def measure_of(measured: Measured, values: Values) -> Measure:
    """The algebra of a measured aggregate."""
    match measured.kind, measured.inner:
        case Kind.COUNT, None:
            return BoundCount()
        case Kind.SUM, None:
            return LastSum(values)
        case Kind.SUM, Kind.COUNT:
            return CountSum()
        case Kind.SUM, Kind.SUM:
            return SumOfSums(values)
        case (Kind.MIN | Kind.MAX) as kind, (Kind.COUNT | Kind.SUM) as inner:
            return ExtremeSum(_least(kind), values, inner is Kind.COUNT)
        case (Kind.MIN | Kind.MAX) as kind, None:
            return LastExtreme(_least(kind), values)
        case (Kind.MIN | Kind.MAX) as kind, (Kind.MIN | Kind.MAX) as inner:
            return ExtremeOfExtremes(_least(kind), _least(inner), values)
    raise AssertionError(measured)


_Choice = Callable[..., Any]


def _least(kind: Kind) -> _Choice:
    return min if kind is Kind.MIN else max


class _Counts(Measure):
    empty: int = 0

    def plus(self, one: int, other: int) -> int:
        """Both counts together."""
        return one + other

    def unbound(self, count: int) -> int:
        """None of them is counted."""
        return 0

    def ids(self, value: int) -> Iterable[int]:
        """None."""
        return ()

    def stored(self, value: int, number: Callable[[int], int]) -> State:
        """The count as text."""
        return stored_number(value)

    def restored(self, state: Any, identifier: Callable[[int], int]) -> int:
        """The count again."""
        return int(restored_number(state))


class BoundCount(_Counts):
    """COUNT(?v): how many matches have bound it."""

    def taken(self, value: int, count: int, identifier: int) -> int:
        return 0 if identifier == UNBOUND else count


class CountSum(_Counts):
    """SUM(COUNT(?v)): bound iterations, over all matches."""

    def taken(self, value: int, count: int, identifier: int) -> int:
        return value if identifier == UNBOUND else value + count


class Sum(NamedTuple):
    """A sum over `matches` that have a value; `failed`: one of them has none that can be added."""

    matches: int
    decimal: int | Fraction
    binary: int | Fraction
    flags: int
    failed: bool = False


_NO_SUM = Sum(0, 0, 0, 0)


class _Sums(Measure):
    empty: Sum = _NO_SUM

    def __init__(self, values: Values) -> None:
        self._values = values

    def plus(self, one: Sum, other: Sum) -> Sum:
        """The sum over both."""
        return Sum(
            one.matches + other.matches,
            one.decimal + other.decimal,
            one.binary + other.binary,
            one.flags | other.flags,
            one.failed or other.failed,
        )

    def ids(self, value: Sum) -> Iterable[int]:
        """None."""
        return ()

    def stored(self, value: Sum, number: Callable[[int], int]) -> State:
        """Its numbers as texts."""
        return [*map(stored_number, value[:3]), value.flags, value.failed]

    def restored(self, state: Any, identifier: Callable[[int], int]) -> Sum:
        """The sum again."""
        count, decimal, binary, flags, failed = state
        return Sum(int(restored_number(count)), restored_number(decimal), restored_number(binary), flags, failed)


class LastSum(_Sums):
    """SUM(?v): of its last value in each match."""

    def taken(self, value: Sum, count: int, identifier: int) -> Sum:
        if identifier == UNBOUND:
            return _NO_SUM
        addend = self._values.addend(identifier)
        if addend is None:
            return Sum(count, 0, 0, 0, True)
        return Sum(count, addend.decimal * count, addend.binary * count, addend.flags)

    def unbound(self, count: int) -> Sum:
        return _NO_SUM


class SumOfSums(_Sums):
    """SUM(SUM(?v)): `matches` are those whose own sum has a value."""

    empty: Sum = Sum(1, 0, 0, 0)

    def taken(self, value: Sum, count: int, identifier: int) -> Sum:
        if identifier == UNBOUND:
            return value
        addend = self._values.addend(identifier)
        if addend is None or not value.matches:
            return _NO_SUM
        return Sum(
            value.matches,
            value.decimal + addend.decimal * value.matches,
            value.binary + addend.binary * value.matches,
            value.flags | addend.flags,
        )

    def unbound(self, count: int) -> Sum:
        return Sum(count, 0, 0, 0)


Best = dict[Hashable, tuple[Any, Any]]
"""class of comparable values → the place and the id (of sums: the addend) of the best of it; NOTHING: matches that
have none yet."""
NOTHING = -1


class _Extremes(Measure):
    def __init__(self, best: _Choice, values: Values) -> None:
        self.empty: Best = {}
        self._best = best
        self._values = values

    def plus(self, one: Best, other: Best) -> Best:
        """The best of both."""
        if not one or not other:
            return one or other
        united = dict(one)
        for kind, found in other.items():
            united[kind] = self._best(united[kind], found, key=_place) if kind in united else found
        return united

    def ids(self, value: Best) -> Iterable[int]:
        """Those of the best of each class."""
        return [identifier for _, identifier in value.values()]

    def stored(self, value: Best, number: Callable[[int], int]) -> State:
        """The ids; classes and places follow from them."""
        return [number(identifier) for _, identifier in value.values()]

    def restored(self, state: Any, identifier: Callable[[int], int]) -> Best:
        """The best of each class again."""
        found: Best = {}
        for each in map(identifier, state):
            kind, place = (NOTHING, 0) if each == UNBOUND else self._values.place(each)
            found[kind] = (place, each)
        return found


def _place(found: tuple[Any, Any]) -> Any:
    return found[0]


class LastExtreme(_Extremes):
    """MIN(?v), MAX(?v): of its last value in each match, for each class of comparable values."""

    def taken(self, value: Best, count: int, identifier: int) -> Best:
        if identifier == UNBOUND:
            return {}
        kind, place = self._values.place(identifier)
        return {kind: (place, identifier)}

    def unbound(self, count: int) -> Best:
        return {}


class ExtremeOfExtremes(_Extremes):
    """MIN(MIN(?v)), MAX(MIN(?v)) and the like: min and max distribute over each other."""

    def __init__(self, best: _Choice, inner: _Choice, values: Values) -> None:
        super().__init__(best, values)
        self.empty = {NOTHING: (0, UNBOUND)}
        self._inner = inner

    def taken(self, value: Best, count: int, identifier: int) -> Best:
        if identifier == UNBOUND:
            return value
        kind, place = self._values.place(identifier)
        taken = place, identifier
        after: Best = {}
        for known, found in value.items():
            better = taken if known == NOTHING else self._inner(found, taken, key=_place)
            into = kind if better is taken else known
            after[into] = self._best(after[into], better, key=_place) if into in after else better
        return after

    def unbound(self, count: int) -> Best:
        return self.empty


class ExtremeSum(_Extremes):
    """MIN(SUM(?v)), MAX(COUNT(?v)) and the like; the classes are the sets of flags that sums have.

    counts      iterations are counted, their values do not matter
    """

    def __init__(self, best: _Choice, values: Values, counts: bool) -> None:
        super().__init__(best, values)
        self._counts = counts
        self.empty = self._classed(Addend(0, 0, 0))

    def taken(self, value: Best, count: int, identifier: int) -> Best:
        if identifier == UNBOUND:
            return value
        addend = Addend(1, 0, 0) if self._counts else self._values.addend(identifier)
        if addend is None:
            return {}
        after: Best = {}
        for _, found in value.values():
            total = Addend(found.decimal + addend.decimal, found.binary + addend.binary, found.flags | addend.flags)
            after = self.plus(after, self._classed(total))
        return after

    def unbound(self, count: int) -> Best:
        return self.empty

    def ids(self, value: Best) -> Iterable[int]:
        return ()

    def stored(self, value: Best, number: Callable[[int], int]) -> State:
        return [[stored_number(a.decimal), stored_number(a.binary), a.flags] for _, a in value.values()]

    def restored(self, state: Any, identifier: Callable[[int], int]) -> Best:
        found: Best = {}
        for decimal, binary, flags in state:
            found |= self._classed(Addend(restored_number(decimal), restored_number(binary), flags))
        return found

    def _classed(self, total: Addend) -> Best:
        place = total.decimal if self._counts else self._values.sum_place(total)
        return {total.flags: (place, total)}
