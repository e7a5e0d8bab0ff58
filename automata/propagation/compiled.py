"""Propagation by the kernel, over tumbling and hopping windows.

Values that the kernel cannot take (texts among numbers, numbers of several types, equal numbers written in two ways)
move all open cells to exact values, one event at a time. Those keep the windows that are open, as they do after a
restore, and the kernel takes the windows that begin later; where windows slide, the matches that begin later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from automata import layouts
from automata.plan.plan import Plan
from automata.propagation.cells import Cell, Cells
from automata.propagation.columns import Unsuited
from automata.propagation.kernel_cells import KernelCells
from automata.propagation.layout import layout_of
from automata.propagation.measures import Measured, Values
from automata.propagation.overlapping.pane_cells import PaneCells
from automata.propagation.overlapping.panes import why_no_panes
from automata.propagation.overlapping.sliding_cells import SlidingCells
from automata.propagation.propagating_evaluator import Propagating, PropagatingEvaluator
from automata.propagation.windows import Found, Key, Moment
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids


class CompiledPropagation(Propagating):
    """The same as a PropagatingEvaluator, which it falls back to."""

    state_kind = PropagatingEvaluator.state_kind
    needs_whole_slots = False

    def __init__(self, plan: Plan, groups: Sequence[int], measured: Sequence[Measured], values: Values) -> None:
        layout = layout_of(measured)
        assert layout is not None, measured
        self.exact = PropagatingEvaluator(plan, groups, measured, values)
        self._sliding = SlidingCells(plan, groups, measured, layout, values) if plan.program.window.sliding else None
        window = plan.program.window
        self._ranked = window.sliding and window.in_events and bool(plan.program.partition)
        kind = KernelCells if why_no_panes(plan) is not None else PaneCells
        self._kernel = self._sliding or kind(plan, groups, measured, layout, values)

    @property
    def position(self) -> int:
        """The position of the next event."""
        return self.exact.position

    @position.setter
    def position(self, position: int) -> None:
        self.exact.position = position

    @property
    def idle(self) -> bool:
        """No cell is open."""
        return self.exact.idle and self._kernel.idle

    def take(self, cells: Iterable[tuple[int, Key, Cell]]) -> None:
        """Goes on with these cells as exact values: window, key, cell."""
        self.exact.take(cells)

    @property
    def measures(self) -> Cells:
        """The algebra of the vectors that are found."""
        return self.exact.measures

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Found]:
        """The next slice of the merged order: what it completes or closes."""
        if not len(events):
            return []
        first = Moment(int(events.times[0]), self.position)
        alone = self.exact.idle and not self.exact.may_begin(first)
        if self._ranked and not alone:
            return self.exact.on_batch(events, solutions)
        if self._kernel.idle:
            self._kernel.begin_at(None if alone else self.exact.retire(first))
        try:
            found = self._kernel.on_batch(events, solutions, self.position)
        except Unsuited:
            self._take_back()
            return self.exact.on_batch(events, solutions)
        if alone:
            self.exact.position += len(events)
            return found
        return _joined(self.exact.on_batch(events, solutions), found)

    def _take_back(self) -> None:
        """Lets exact values go on with all that the kernel holds."""
        if not self._kernel.idle:
            self._kernel.hand_over(self.exact)
        self.exact.resume()

    def on_event(self, time: int, solutions: Mapping[int, Sequence[tuple[int, ...]]]) -> Sequence[Found]:
        """The same for a slice of one event; the exact values take it, with all cells."""
        self._take_back()
        return self.exact.on_event(time, solutions)

    def on_watermark(self, time: int) -> Sequence[Found]:
        """No later event has a time up to `time`."""
        exact = self.exact.on_watermark(time)
        return exact if self._kernel.idle else _joined(exact, self._kernel.passed(time))

    def finish(self) -> Sequence[Found]:
        """The input has ended."""
        exact = self.exact.finish()
        return exact if self._kernel.idle else _joined(exact, self._kernel.finish())

    def live_ids(self) -> list[Ids]:
        """Columns of every id that is still needed."""
        return [*self.exact.live_ids(), *self._kernel.live_ids()]

    def oldest_position(self) -> int:
        """No event before this position is asked for any more: none is kept."""
        return self.exact.position

    def snapshot(self) -> dict[str, Any]:
        """The state, as `State`: that of exact values; the kernel keeps its cells."""
        return self.exact.snapshot() if self._kernel.idle else self._kernel.snapshot(self.exact.twin())

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from a state; nothing has been consumed before."""
        events = None if self._sliding is None else self.exact.events_of(state)
        if self._sliding is not None and events is not None:
            with suppress(Unsuited):
                self._sliding.hold(events)
                self.exact.position = layouts.PROPAGATION.read(state)["position"]
                return
        self.exact.restore(state)


def _joined(exact: Sequence[Found], found: Sequence[Found]) -> Sequence[Found]:
    """All that exact values and the kernel have found; columns stay columns where there is nothing else."""
    return [*exact, *found] if exact else found
