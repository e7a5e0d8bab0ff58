"""Replaces one evaluator by another while a query runs: no match lost or doubled, in the same order.

The first slice is measured before it is evaluated, so that rates choose the first evaluator, too.

No match spans the boundary of a tumbling window of time: there the old evaluator ends and the new one begins.
Elsewhere the new one shadows the old one, its matches discarded, for the length of a window, or of two where negations
or earlier matches matter. Then it has read every event that a later match depends on, and takes over. One for which
the latest slices are remembered reads them all at once, and takes over between two slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from arrays.times import AFTER_ALL
from automata import layouts, protocol
from automata.adaptive.edge_counts import EdgeCounts
from automata.adaptive.policy import Policy, Startable, Switch
from automata.adaptive.row_switch import RowSwitch
from automata.adaptive.slice_log import Logged, SliceLog
from automata.matches.match_table import all_of
from automata.plan.plan import Plan
from automata.plan.program import Skip
from automata.plan.refusals import Refusal, first_refusal
from automata.plan.semi_join import SemiJoinFilter
from automata.protocol import EdgeCounter, InPieces, Restorable, RowEvaluator, SemiJoinSource, StateCounter
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids, Match, PartialMatch, implements

_SWITCHES_MAX = 100
"""Switches remembered; of more, the last."""


@dataclass(frozen=True, slots=True)
class _Shadow:
    """An evaluator that reads the stream, its matches discarded, before it takes over."""

    name: str
    reason: str
    evaluator: Startable
    since_time: int
    since_position: int


def why_not_adaptive(plan: Plan) -> str | None:
    """The reason why the evaluator cannot be replaced while it runs, in words, or None."""
    program = plan.program
    refusal = first_refusal(plan, Refusal.OWN_COUNTS)
    if refusal is not None:
        return refusal
    if program.window.sliding and program.skip not in (Skip.NO_SKIP, Skip.TO_NEXT):
        return f"in sliding windows AFTER MATCH {program.skip.value} depends on all earlier matches"
    return None


def _reach(plan: Plan) -> int:
    """The distance that later matches may look back, on the window's axis."""
    program = plan.program
    alone = not plan.negations and program.skip is Skip.NO_SKIP
    return program.window.size if alone else 2 * program.window.size


class AdaptiveEvaluator(Restorable, RowEvaluator, SemiJoinSource, InPieces, EdgeCounter, StateCounter):
    """An evaluator that is exchanged while it runs, for programs for which `why_not_adaptive` gives no reason.

    makers      name → a new evaluator
    first       the one to begin with where the first slice measures no rates
    alone       the one to begin with if the first slice is a single event
    at_once     those that take over between two slices; slices are remembered until one of them runs
    switches    the latest exchanges
    """

    state_kind = layouts.ADAPTIVE.name

    def __init__(
        self,
        plan: Plan,
        makers: Mapping[str, Callable[[], Startable]],
        first: str,
        policy: Policy,
        alone: str | None = None,
        at_once: frozenset[str] = frozenset(),
    ) -> None:
        self._at_once = at_once
        self._first_alone = alone or first
        self._alone = RowSwitch(plan.program)
        self._window = plan.program.window
        self._reach = _reach(plan)
        self._log = SliceLog(plan.program.window, self._reach)
        self._whole_slots = plan.whole_slots
        self._makers = makers
        self._policy = policy
        self._observes = policy.observes
        self._counts_lost: bool | None = None
        self._run(first, makers[first]())
        self._shadow: _Shadow | None = None
        self._position = 0
        self._edge_counts = EdgeCounts(len(plan.edges))
        self._time: int | None = None
        self._retired_operations = 0
        self.switches: tuple[Switch, ...] = ()

    @property
    def name(self) -> str:
        """The evaluator that runs now."""
        return self._name

    @property
    def operations(self) -> int:
        """Run operations of all evaluators so far."""
        return self._retired_operations + sum(evaluator.operations for evaluator in self._running())

    @property
    def needs_whole_slots(self) -> bool:
        return self._whole_slots

    def edges_taken(self) -> Sequence[int | None] | None:
        """Those of all evaluators so far."""
        return self._edge_counts.taken(self._evaluator)

    def count_edges(self, lost: bool) -> None:
        self._counts_lost = lost
        self._run(self._name, self._evaluator)

    def edges_lost(self) -> Sequence[Mapping[str, int] | None] | None:
        """Those of the current evaluator, if it has read every event."""
        evaluator = self._evaluator
        return evaluator.edges_lost() if implements(evaluator, EdgeCounter) and not self.switches else None

    def standing(self, time: int) -> Sequence[int] | None:
        """Those of the current evaluator."""
        return self._evaluator.standing(time) if implements(self._evaluator, StateCounter) else None

    def waiting(self, position: int, limit: int, time: int) -> Sequence[PartialMatch] | None:
        """Those of the current evaluator."""
        evaluator = self._evaluator
        return evaluator.waiting(position, limit, time) if implements(evaluator, StateCounter) else None

    def semi_join_filters(self, events: int) -> Mapping[int, SemiJoinFilter]:
        """Those of the current evaluator; a shadowing evaluator finds nothing else."""
        return self._evaluator.semi_join_filters(events) if isinstance(self._evaluator, SemiJoinSource) else {}

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        return all_of(list(self.pieces(events, solutions)))

    def pieces(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Iterator[Sequence[Match]]:
        """As `on_batch`, in the pieces of the current evaluator."""
        if not len(events):
            return
        self._observe_alone()
        self._alone.slice_(len(events))
        first = self._time is None
        if first:
            self._policy.observe(events, solutions)
        name, reason = self._policy.wanted(self._name, self._alone.usual, self.operations)
        passed: Sequence[Match] = []
        if first and name != self._name:
            self._run(name, self._made(name))
        elif name != self._name and name in self._at_once and (slices := self._log.slices()) is not None:
            passed = self._catch_up(name, reason, int(events.times[0]), slices)
        if self._window.sliding or self._window.in_events or passed:
            yield passed
            yield self._prepare(name, reason, events)
            yield from self._feed(events, solutions)
        else:
            yield from self._up_to_boundary(name, reason, events, solutions)
        if not first:
            self._policy.observe(events, solutions)

    def _up_to_boundary(
        self, name: str, reason: str, events: Events, solutions: Mapping[int, SymbolSolutions]
    ) -> Iterator[Sequence[Match]]:
        """Feeds a slice; at the boundary of a tumbling window in it, the evaluator with this name takes over."""
        cut = self._boundary(events) if name != self._name else len(events)
        if cut == len(events):
            yield from self._feed(events, solutions)
            return
        if cut:
            yield from self._feed(*_part(events, solutions, 0, cut))
        yield self._evaluator.on_watermark(int(events.times[cut]) - 1)
        self._replace(name, reason, self._made(name), int(events.times[cut]))
        yield from self._feed(*_part(events, solutions, cut, len(events)))

    def prefers_rows(self) -> bool:
        """As the current evaluator, unless it is about to be replaced."""
        if self._time is None and self._name != self._first_alone:
            self._run(self._first_alone, self._made(self._first_alone))
            self._alone.begin()
        if self._shadow is not None or self._single is None:
            return False
        if not self._observes and self._name not in self._at_once:
            return self._single.prefers_rows()
        wanted, _ = self._policy.wanted(self._name, self._alone.usual, self.operations)
        return wanted == self._name and self._single.prefers_rows()

    def on_event(self, time: int, stream: int, solutions: Mapping[int, Sequence[tuple[int, ...]]]) -> Sequence[Match]:
        assert self._single is not None, self._name
        if self._observes:
            self._alone.add(time, stream, solutions)
            if self._alone.full:
                self._observe_alone()
        else:
            self._alone.slice_(1)
        if self._log.begun:
            self._log.forget()
        self._position += 1
        self._time = time
        return self._single.on_event(time, stream, solutions)

    def on_watermark(self, time: int) -> Sequence[Match]:
        if self._shadow is not None:
            self._shadow.evaluator.on_watermark(time)
        return self._evaluator.on_watermark(time)

    def due(self) -> int:
        """As of the evaluators that run: the current one, and another one that shadows it."""
        return min(evaluator.due() for evaluator in self._running()) if self._shadow else self._evaluator.due()

    def skip(self, gap: Gap) -> None:
        """The next events, none of which has a solution, or a time at which the evaluator is due."""
        if self._name in self._at_once:
            self._log.forget()
        elif self._at_once:
            self._log.skip(self._position, gap)
        self._position += gap.events
        if self._time is not None:
            self._time = gap.time
        self._policy.skip(gap)
        for evaluator in self._running():
            evaluator.skip(gap)

    def finish(self) -> Sequence[Match]:
        return self._evaluator.finish()

    @property
    def runs(self) -> int:
        return self._evaluator.runs

    def live_ids(self) -> list[Ids]:
        self._observe_alone()
        running = [ids for evaluator in self._running() for ids in evaluator.live_ids()]
        return [*running, *self._log.live_ids(), *self._policy.live_ids()]

    def oldest_position(self) -> int:
        return min(evaluator.oldest_position() for evaluator in self._running())

    def oldest_output_time(self, watermark: int) -> int:
        return self._evaluator.oldest_output_time(watermark)

    def snapshot(self) -> dict[str, Any]:
        self._observe_alone()
        shadow = self._shadow
        return layouts.ADAPTIVE.written(
            running=[self._name, self._evaluator.snapshot()],
            beside=shadow
            and [shadow.name, shadow.reason, shadow.since_time, shadow.since_position, shadow.evaluator.snapshot()],
            position=self._position,
            time=self._time,
            retired=self._retired_operations,
            taken=self._edge_counts.before,
            switches=[astuple(switch) for switch in self.switches],
            policy=self._policy.snapshot(),
        )

    def restore(self, state: Mapping[str, Any]) -> None:
        state = layouts.ADAPTIVE.read(state)
        name, running = state["running"]
        self._run(name, self._restored(name, running))
        if state["beside"] is not None:
            name, reason, time, position, own = state["beside"]
            self._shadow = _Shadow(name, reason, self._restored(name, own), time, position)
        self._position, self._time = state["position"], state["time"]
        self._retired_operations, self._edge_counts.before = state["retired"], state["taken"]
        self._log.forget()
        self.switches = tuple(Switch(*parts) for parts in state["switches"])
        self._policy.restore(state["policy"])

    def _restored(self, name: str, state: Mapping[str, Any]) -> Startable:
        evaluator = self._new(name)
        evaluator.restore(state)
        return evaluator

    def _new(self, name: str) -> Startable:
        """A new evaluator, which counts partial matches if that is asked for, but not those that edges have lost."""
        evaluator = self._makers[name]()
        if self._counts_lost is not None and implements(evaluator, EdgeCounter):
            evaluator.count_edges(lost=False)
        return evaluator

    def _run(self, name: str, evaluator: Startable) -> None:
        self._name, self._evaluator = name, evaluator
        if self._counts_lost is not None and not self._position and implements(evaluator, EdgeCounter):
            evaluator.count_edges(self._counts_lost)
        self._single = evaluator if implements(evaluator, RowEvaluator) else None

    def _running(self) -> list[Startable]:
        return [self._evaluator, *([self._shadow.evaluator] if self._shadow else [])]

    def _observe_alone(self) -> None:
        slice_ = self._alone.taken()
        if slice_ is not None:
            self._policy.observe(*slice_)

    def _feed(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Iterator[Sequence[Match]]:
        if self._name in self._at_once or len(events) <= protocol.FEW_EVENTS_MAX:
            self._log.forget()
        elif self._at_once:
            self._log.add(self._position, events, solutions)
        self._position += len(events)
        self._time = int(events.times[-1])
        if self._shadow is not None:
            self._shadow.evaluator.on_batch(events, solutions)
        if implements(self._evaluator, InPieces):
            yield from self._evaluator.pieces(events, solutions)
        else:
            yield self._evaluator.on_batch(events, solutions)

    def _made(self, name: str) -> Startable:
        """A new evaluator that begins at the current position."""
        evaluator = self._new(name)
        evaluator.begin_at(self._position)
        return evaluator

    def _catch_up(self, name: str, reason: str, time: int, slices: Iterable[Logged]) -> Sequence[Match]:
        """Exchanges evaluators before the events at `time`; the new one reads what the log has, and reports nothing.

        Returns the matches of the old one whose windows have passed since the last event.
        """
        passed = self.on_watermark(time - 1)
        evaluator = self._new(name)
        evaluator.begin_at(self._log.oldest_position(self._position))
        for *_, slice_, solutions in slices:
            if isinstance(slice_, Events):
                evaluator.on_batch(slice_, solutions)
            else:
                evaluator.skip(slice_)
        if self._shadow is not None:
            self._retired_operations += self._shadow.evaluator.operations
        self._replace(name, reason, evaluator, time)
        self._log.forget()
        return passed

    def _replace(self, name: str, reason: str, evaluator: Startable, time: int) -> None:
        made = self._evaluator.operations
        self.switches = (*self.switches, Switch(time, self._name, name, reason, made))[-_SWITCHES_MAX:]
        self._retired_operations += made
        self._edge_counts.replace(self._evaluator, evaluator)
        self._run(name, evaluator)
        self._shadow = None

    def _boundary(self, events: Events) -> int:
        """The number of the first events that are in the window of the last event before them; 0 at the beginning."""
        if self._time is None:
            return 0
        size, start = self._window.size, self._window.start
        end = start + ((self._time - start) // size + 1) * size
        return int(np.searchsorted(events.times, min(end, AFTER_ALL)))

    def _prepare(self, name: str, reason: str, events: Events) -> Sequence[Match]:
        """Before these events: a shadow begins, takes over, or is dropped.

        Returns the matches of the replaced evaluator whose windows have passed since the last event.
        """
        time = int(events.times[0])
        shadow = self._shadow
        if shadow is not None and shadow.name != name:
            self._retired_operations += shadow.evaluator.operations
            shadow = self._shadow = None
        if shadow is None and name != self._name:
            self._shadow = _Shadow(name, reason, self._made(name), time, self._position)
        elif shadow is not None and self._has_read_enough(shadow, time):
            passed = self.on_watermark(time - 1)
            self._replace(name, shadow.reason, shadow.evaluator, time)
            return passed
        return []

    def _has_read_enough(self, shadow: _Shadow, time: int) -> bool:
        if self._window.in_events:
            return self._position - shadow.since_position >= self._reach
        return time - shadow.since_time > self._reach


def _part(
    events: Events, solutions: Mapping[int, SymbolSolutions], begin: int, end: int
) -> tuple[Events, Mapping[int, SymbolSolutions]]:
    """Events begin … end - 1 of a slice, and their solutions."""
    some = {}
    for symbol, table in solutions.items():
        first, last = np.searchsorted(table.events, (begin, end))
        values = {variable: column[first:last] for variable, column in table.values.items()}
        some[symbol] = SymbolSolutions(table.events[first:last] - begin, values)
    return Events(events.times[begin:end], events.streams[begin:end]), some
