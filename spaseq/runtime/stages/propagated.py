"""Propagated aggregates over term ids: the source of a query OVER MATCHES of which no match is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from arrays.times import BEFORE_ALL, TIME_NS_MAX
from automata.plan.plan import Plan
from automata.propagation.measures import Addend, Kind, Measured, Sum, Value, Values
from automata.propagation.propagating_evaluator import Propagating, PropagatingEvaluator
from automata.propagation.windows import Found
from automata.protocol import ALWAYS_DUE, NEVER_DUE, Restorable, RowEvaluator
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import UNBOUND, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import ExpressionError
from sparql_gpm.exact_sum import ExactSum
from sparql_gpm.expressions.accumulators import Accumulator, Count, Extreme, accumulator
from sparql_gpm.expressions.accumulators import Sum as SumOfValues
from sparql_gpm.numeric import numeric_literal
from sparql_gpm.shared import Slice
from spaseq.algebra.nodes import OverMatches
from spaseq.physical.plan import Form, PhysicalPlan
from spaseq.physical.propagation import propagation_of
from spaseq.runtime.stages.groups import Partial
from spaseq.runtime.stages.term_values import TermValues, exact_sum_of

if TYPE_CHECKING:  # a group is made of kernels, which are imported on first use
    from automata.propagation.shared.shared_propagation import Left


class Group(Protocol):
    """Queries that are propagated together."""

    def feed(self, slice_: Slice) -> None:
        """Takes a slice, unless it has been taken; a query that cannot stay goes on alone before it."""

    def on_watermark(self, time: int) -> None:
        """No later event has a time up to `time`."""

    def finish(self) -> None:
        """The input has ended."""

    def take(self, matches: PropagatedMatches) -> Sequence[Found]:
        """Return and forget the groups of a query found so far."""

    def state_of(self, matches: PropagatedMatches) -> Left:
        """The state of a query, which stays."""

    def drop(self, matches: PropagatedMatches) -> None:
        """A query has been stopped."""

    def live_ids(self, matches: PropagatedMatches) -> list[Ids]:
        """Columns of every id that is still needed; one query of the group tells those of all."""


class PropagatedMatches(RowEvaluator, Restorable):
    """The evaluator of a query's sequence that gives aggregates of groups of matches instead of matches."""

    state_kind = PropagatingEvaluator.state_kind
    needs_whole_slots = False

    def __init__(self, plan: PhysicalPlan, dictionary: Dictionary) -> None:
        query = plan.compiled.query
        assert query.over is not None, query.name
        planned = self.planned = propagation_of(plan.compiled)
        self.values = TermValues(dictionary)
        given = planned.plan, planned.groups, planned.measured, self.values
        self._evaluator: Propagating = _compiled(*given) if plan.form is Form.KERNELS else PropagatingEvaluator(*given)
        self._exact = partial(PropagatingEvaluator, *given)
        self._told = _Told(query.over, planned.measured, planned.asked, dictionary)
        self._reached, self._ended = BEFORE_ALL, False
        self._group: Group | None = None

    @property
    def may_join(self) -> bool:
        """True if nothing is open, and no group has the query yet."""
        return self._group is None and self._evaluator.idle

    def join(self, group: Group) -> None:
        """Lets a group evaluate the query from now on; nothing is open."""
        self._group = group

    @property
    def group(self) -> Group | None:
        """The group that evaluates the query."""
        return self._group

    def leave(self, state: Left) -> None:
        """Goes on alone from the state of a group."""
        self._group = None
        self._evaluator.take(state.cells_from(self._evaluator.position))

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Any]:
        """The `Partial`s that the next slice completes or closes; a group has taken the slice already."""
        if len(events):
            self._reached = int(events.times[-1])
        if self._group is None:
            return self._partials(self._evaluator.on_batch(events, solutions))
        self._evaluator.position += len(events)
        return self._partials(self._group.take(self))

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
        """The same for a slice of one event; only exact values take it so."""
        assert self._group is None
        self._reached = time
        return self._partials(self._evaluator.on_event(time, solutions))

    def on_watermark(self, time: int) -> Sequence[Any]:
        """All that is closed once no event has a time up to `time`."""
        if self._group is None:
            return self._partials(self._evaluator.on_watermark(time))
        self._group.on_watermark(time)
        return self._partials(self._group.take(self))

    def finish(self) -> Sequence[Any]:
        """All that is left."""
        self._ended = True
        if self._group is None:
            return self._partials(self._evaluator.finish())
        self._group.finish()
        return self._partials(self._group.take(self))

    @property
    def runs(self) -> int:
        """The number of partial matches that are kept: none is built."""
        return 0

    def live_ids(self) -> list[Ids]:
        """Columns of every id that is still needed."""
        return self._evaluator.live_ids() if self._group is None else self._group.live_ids(self)

    def oldest_position(self) -> int:
        """No event before this position is asked for any more."""
        return self._evaluator.oldest_position()

    def oldest_output_time(self, watermark: int) -> int:
        """A lower bound of the times of rows to come: no match waits, but windows are open until the input ends."""
        return watermark if watermark <= TIME_NS_MAX or self._ended else self._reached

    def snapshot(self) -> dict[str, Any]:
        """The state, as `automata.state.State`."""
        if self._group is None:
            return self._evaluator.snapshot()
        alone = self._exact()
        alone.position = self._evaluator.position
        alone.take(self._group.state_of(self).cells_from(alone.position))
        return alone.snapshot()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from a state."""
        self._evaluator.restore(state)

    def _partials(self, found: Sequence[Found]) -> list[Partial]:
        return [self._told.partial(each) for each in found]


def _compiled(plan: Plan, groups: Sequence[int], measured: Sequence[Measured], values: Values) -> Propagating:
    from automata.propagation.compiled import CompiledPropagation

    return CompiledPropagation(plan, groups, measured, values)


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
                each.sum, each.number, each.failed = exact_sum_of(value), value.matches, value.failed
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
            found = exact_sum_of(Sum(1, total.decimal, total.binary, total.flags)).total()
        except ExpressionError:
            return
        each.add(self.dictionary.intern(numeric_literal(found)))
