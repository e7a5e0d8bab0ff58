"""Propagated aggregates over term ids: the source of a query OVER MATCHES of which no match is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automata.plan.plan import Plan
from automata.propagation.measures import Addend, Kind, Measured, Scaled, Sum, Value, Values
from automata.propagation.propagating_evaluator import Propagating, PropagatingEvaluator
from automata.propagation.windows import Found
from automata.protocol import ALWAYS_DUE, NEVER_DUE, Restorable, RowEvaluator, Skipping
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.slices.timeline import LAST
from automata.values import UNBOUND, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import ExpressionError
from sparql_gpm.exact_sum import ExactSum
from sparql_gpm.expressions.accumulators import Accumulator, Count, Extreme, accumulator
from sparql_gpm.expressions.accumulators import Sum as SumOfValues
from sparql_gpm.expressions.values import comparison_class, full_order_key
from sparql_gpm.numeric import EXACT, NumericType, number, numeric_literal
from spaseq.algebra.nodes import OverMatches
from spaseq.physical.plan import Form, PhysicalPlan
from spaseq.physical.propagation import propagation_of
from spaseq.runtime.stages.groups import Partial

_KEPT_MAX = 1 << 16
"""Values remembered by their ids."""
_BINARY_BITS = 1074
_DIGITS_MAX = 15
_INFINITE, _NEGATIVE, _UNDEFINED = 1 << 4, 1 << 5, 1 << 6
"""Flags of sums, beside those of the types: bit n is type n."""
_TYPES = (1 << 4) - 1
_UNKNOWN, _NO_NUMBER = -1, -2
_BEFORE = -(1 << 62)
"""A time before all windows, in nanoseconds."""


class PropagatedMatches(RowEvaluator, Restorable, Skipping):
    """The evaluator of a query's sequence that gives aggregates of groups of matches instead of matches."""

    state_kind = PropagatingEvaluator.state_kind
    needs_whole_slots = False

    def __init__(self, plan: PhysicalPlan, dictionary: Dictionary) -> None:
        query = plan.compiled.query
        assert query.over is not None, query.name
        planned = propagation_of(plan.compiled)
        given = planned.plan, planned.groups, planned.measured, TermValues(dictionary)
        self._evaluator: Propagating = _compiled(*given) if plan.form is Form.KERNELS else PropagatingEvaluator(*given)
        self._told = _Told(query.over, planned.measured, planned.asked, dictionary)
        self._reached, self._ended = _BEFORE, False

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Any]:
        """The `Partial`s that the next slice completes or closes."""
        if len(events):
            self._reached = int(events.times[-1])
        return self._partials(self._evaluator.on_batch(events, solutions))

    def due(self) -> int:
        """Until no event before this time is to come, events without solutions and watermarks give nothing."""
        idle = isinstance(self._evaluator, PropagatingEvaluator) and self._evaluator.idle
        return NEVER_DUE if idle else ALWAYS_DUE

    def skip(self, gap: Gap) -> None:
        """The next events, none of which has a solution, while no window is open."""
        assert isinstance(self._evaluator, PropagatingEvaluator), self._evaluator
        self._evaluator.position += gap.events
        self._reached = gap.time

    def prefers_rows(self) -> bool:
        """True: exact values are advanced one event at a time."""
        return True

    def on_event(self, time: int, stream: int, solutions: Mapping[int, Sequence[tuple[int, ...]]]) -> Sequence[Any]:
        """The same for a slice of one event."""
        self._reached = time
        return self._partials(self._evaluator.on_event(time, solutions))

    def on_watermark(self, time: int) -> Sequence[Any]:
        """All that is closed once no event has a time up to `time`."""
        return self._partials(self._evaluator.on_watermark(time))

    def finish(self) -> Sequence[Any]:
        """All that is left."""
        self._ended = True
        return self._partials(self._evaluator.finish())

    def live_ids(self) -> list[Ids]:
        """Columns of every id that is still needed."""
        return self._evaluator.live_ids()

    def oldest_position(self) -> int:
        """No event before this position is asked for any more."""
        return self._evaluator.oldest_position()

    def oldest_output_time(self, watermark: int) -> int:
        """No match to come ends before this time: none waits, but windows are open until the input ends."""
        return watermark if watermark <= LAST or self._ended else self._reached

    def snapshot(self) -> dict[str, Any]:
        """The state, as `automata.state.State`."""
        return self._evaluator.snapshot()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from a state."""
        self._evaluator.restore(state)

    def _partials(self, found: Sequence[Found]) -> list[Partial]:
        return [self._told.partial(each) for each in found]


def _compiled(plan: Plan, groups: Sequence[int], measured: Sequence[Measured], values: Values) -> Propagating:
    from automata.propagation.compiled import CompiledPropagation

    return CompiledPropagation(plan, groups, measured, values)


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


@dataclass(frozen=True, slots=True)
class _Told:
    """From the vectors of groups to the accumulators of the query's aggregates."""

    over: OverMatches
    measured: tuple[Measured, ...]
    asked: tuple[int | None, ...]
    dictionary: Dictionary

    def partial(self, found: Found) -> Partial:
        """The aggregates of one group of matches."""
        count, first, last, values = found.vector
        accumulators = []
        for aggregate, place in zip(self.over.aggregates, self.asked, strict=True):
            each = accumulator(aggregate, self.dictionary)
            if place is None:
                assert isinstance(each, Count), each
                each.count(count)
            else:
                self._fill(each, self.measured[place], count, values[place])
            accumulators.append(each)
        return Partial(found.unit, found.key, first, last, accumulators)

    def _fill(self, each: Accumulator, measured: Measured, count: int, value: Value) -> None:
        match each:
            case Count():
                each.count(value)
            case SumOfValues() if measured.inner is Kind.COUNT:
                each.sum, each.number = ExactSum(coefficient=value), count
            case SumOfValues():
                assert isinstance(value, Sum), value
                each.sum, each.number, each.failed = _exact(value), value.matches, value.failed
            case Extreme() if measured.inner in (Kind.COUNT, Kind.SUM):
                for _, total in value.values():
                    self._add_sum(each, total)
            case Extreme():
                for _, identifier in value.values():
                    if identifier != UNBOUND:
                        each.add(identifier)
            case _:
                raise AssertionError(each)

    def _add_sum(self, each: Extreme, total: Addend) -> None:
        try:
            found = _exact(Sum(1, total.decimal, total.binary, total.flags)).total()
        except ExpressionError:
            return
        each.add(self.dictionary.intern(numeric_literal(found)))


def _exact(value: Sum) -> ExactSum:
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
