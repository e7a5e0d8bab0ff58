"""Aggregates that are folded value by value, each value any number of times, and merged exactly.

They range over the matches of a group (specification 3.4, OVER MATCHES). Values are term ids; UNBOUND, an error or no
value, is skipped. Numbers are summed exactly and rounded once. Values that cannot be added or compared with one another
leave the result unbound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import ExpressionError
from sparql_gpm.exact_sum import ExactSum, inner_sum
from sparql_gpm.expressions.functions_strings import bounded
from sparql_gpm.expressions.values import compare, comparison_class, full_order_key, text_of
from sparql_gpm.numeric import ZERO, integer_literal, number, numeric_literal
from sparql_gpm.pattern import Aggregate
from sparql_gpm.terms import XSD, Literal

_PRINTED_BITS_MAX = 13_000
"""Python prints integers of so many bits by itself."""


class Accumulator(Protocol):
    """An aggregate of values that come one by one."""

    def add(self, value: int, times: int = 1) -> None:
        """One more value, so many times."""

    def merge(self, other: Any) -> None:
        """Adds what another accumulator of the same aggregate has, whose values come after."""

    def result(self) -> int:
        """The id of the aggregate; UNBOUND if it has none."""

    def ids(self) -> Sequence[int]:
        """The ids that it holds."""

    @property
    def size(self) -> int:
        """The values that it holds, where their number has no bound."""
        return 0

    def state(self) -> list[Any]:
        """Plain values, and ids in their order in `ids`, for snapshots."""

    def restore(self, state: Sequence[Any], ids: Sequence[int]) -> None:
        """Continues a new accumulator from a state and the ids that it held."""


def accumulator(aggregate: Aggregate, dictionary: Dictionary) -> Accumulator:
    """A new accumulator of an aggregate."""
    if aggregate.name == "GROUP_CONCAT":
        return Concat(aggregate.separator, aggregate.distinct, dictionary)
    if aggregate.distinct and aggregate.name in ("COUNT", "SUM", "AVG"):
        return Distinct(aggregate, dictionary)
    match aggregate.name:
        case "COUNT":
            return Count(dictionary)
        case "SUM" | "AVG":
            return Sum(aggregate.name == "AVG", dictionary)
        case "MIN" | "MAX":
            return Extreme(aggregate.name == "MAX", dictionary)
    return Sample()


@dataclass(slots=True)
class Count(Accumulator):
    """COUNT; of `*` with any id."""

    dictionary: Dictionary
    number: int = 0

    def add(self, value: int, times: int = 1) -> None:
        if value != UNBOUND:
            self.number += times

    def count(self, times: int) -> None:
        """So many more."""
        self.number += times

    def merge(self, other: Count) -> None:
        self.number += other.number

    def result(self) -> int:
        return self.dictionary.intern(_counted(self.number))

    def ids(self) -> Sequence[int]:
        return ()

    def state(self) -> list[Any]:
        return [format(self.number, "x")]

    def restore(self, state: Sequence[Any], ids: Sequence[int]) -> None:
        self.number = int(state[0], 16)


@dataclass(slots=True)
class Sum(Accumulator):
    """SUM, or AVG if `mean`; `failed` once a value is no number."""

    mean: bool
    dictionary: Dictionary
    sum: ExactSum = field(default_factory=ExactSum)
    number: int = 0
    failed: bool = False

    def add(self, value: int, times: int = 1) -> None:
        if value == UNBOUND:
            return
        term = self.dictionary.term(value)
        if (found := number(term)) is not None:
            self.sum.add(found, times)
        elif (inner := inner_sum(term)) is not None:
            self.sum.merge(inner, times)
        else:
            self.failed = True
        self.number += times

    def merge(self, other: Sum) -> None:
        self.sum.merge(other.sum)
        self.number += other.number
        self.failed |= other.failed

    def result(self) -> int:
        if self.failed:
            return UNBOUND
        try:
            if not self.number:
                return self.dictionary.intern(numeric_literal(ZERO))
            found = self.sum.mean(self.number) if self.mean else self.sum.total()
        except ExpressionError:
            return UNBOUND
        return self.dictionary.intern(numeric_literal(found))

    def ids(self) -> Sequence[int]:
        return ()

    def state(self) -> list[Any]:
        return [self.sum.state(), format(self.number, "x"), self.failed]

    def restore(self, state: Sequence[Any], ids: Sequence[int]) -> None:
        total, count, self.failed = state
        self.sum, self.number = ExactSum.of(total), int(count, 16)


@dataclass(slots=True)
class Extreme(Accumulator):
    """MIN, or MAX if `greatest`.

    best    class of values that `<` compares → the best of them; two classes cannot be compared, but for times with and
            without a zone, which can where they are more than 14 hours apart
    """

    greatest: bool
    dictionary: Dictionary
    best: dict[tuple[str, object], int] = field(default_factory=dict)
    failed: bool = False

    def add(self, value: int, times: int = 1) -> None:
        if value == UNBOUND or self.failed:
            return
        kind = comparison_class(self.dictionary.term(value))
        known = self.best.get(kind)
        if known is None:
            self.best[kind] = value
            self.failed = len({space for space, _ in self.best}) > 1
        elif known != value:
            places = full_order_key(self.dictionary.term(value)), full_order_key(self.dictionary.term(known))
            if (places[0] > places[1]) == self.greatest:
                self.best[kind] = value

    def merge(self, other: Extreme) -> None:
        self.failed |= other.failed
        for value in other.best.values():
            self.add(value)

    def result(self) -> int:
        if self.failed or not self.best:
            return UNBOUND
        first, *rest = self.best.values()
        for other in rest:
            terms = self.dictionary.term(first), self.dictionary.term(other)
            try:
                compare("<", *terms)
            except ExpressionError:
                return UNBOUND
            if (full_order_key(terms[1]) > full_order_key(terms[0])) == self.greatest:
                first = other
        return first

    def ids(self) -> Sequence[int]:
        return tuple(self.best.values())

    def state(self) -> list[Any]:
        return [self.failed]

    def restore(self, state: Sequence[Any], ids: Sequence[int]) -> None:
        for value in ids:
            self.add(value)
        self.failed = state[0]


@dataclass(slots=True)
class Sample(Accumulator):
    """SAMPLE: the first value."""

    value: int = UNBOUND

    def add(self, value: int, times: int = 1) -> None:
        if self.value == UNBOUND:
            self.value = value

    def merge(self, other: Sample) -> None:
        self.add(other.value)

    def result(self) -> int:
        return self.value

    def ids(self) -> Sequence[int]:
        return () if self.value == UNBOUND else (self.value,)

    def state(self) -> list[Any]:
        return []

    def restore(self, state: Sequence[Any], ids: Sequence[int]) -> None:
        self.value = ids[0] if ids else UNBOUND


@dataclass(slots=True)
class Concat(Accumulator):
    """GROUP_CONCAT."""

    separator: str
    distinct: bool
    dictionary: Dictionary
    values: list[int] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    @property
    def size(self) -> int:
        return len(self.values)

    def add(self, value: int, times: int = 1) -> None:
        if value == UNBOUND or value in self.seen:
            return
        if self.distinct:
            self.seen.add(value)
        self.values += [value] * (1 if self.distinct else times)

    def merge(self, other: Concat) -> None:
        for value in other.values:
            self.add(value)

    def result(self) -> int:
        try:
            texts = [text_of(self.dictionary.term(value)) for value in self.values]
            return self.dictionary.intern(Literal(bounded(self.separator, texts)))
        except ExpressionError:
            return UNBOUND

    def ids(self) -> Sequence[int]:
        return self.values

    def state(self) -> list[Any]:
        return []

    def restore(self, state: Sequence[Any], ids: Sequence[int]) -> None:
        self.values = list(ids)
        self.seen = set(ids) if self.distinct else set()


@dataclass(slots=True)
class Distinct(Accumulator):
    """COUNT, SUM or AVG of the distinct values."""

    aggregate: Aggregate
    dictionary: Dictionary
    values: dict[int, None] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.values)

    def add(self, value: int, times: int = 1) -> None:
        if value != UNBOUND:
            self.values[value] = None

    def merge(self, other: Distinct) -> None:
        self.values |= other.values

    def result(self) -> int:
        each = accumulator(Aggregate(self.aggregate.name, self.aggregate.argument), self.dictionary)
        for value in self.values:
            each.add(value)
        return each.result()

    def ids(self) -> Sequence[int]:
        return tuple(self.values)

    def state(self) -> list[Any]:
        return []

    def restore(self, state: Sequence[Any], ids: Sequence[int]) -> None:
        self.values = dict.fromkeys(ids)


def _counted(number: int) -> Literal:
    """An xsd:integer of any length."""
    if number.bit_length() <= _PRINTED_BITS_MAX:
        return integer_literal(number)
    return Literal(format(Decimal(number), "f"), XSD + "integer")
