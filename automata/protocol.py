"""The evaluator protocol: a state machine that consumes slices of the merged order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from arrays.times import AFTER_ALL, BEFORE_ALL
from automata.plan.semi_join import SemiJoinFilter
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids, Match, PartialMatch

ALWAYS_DUE = BEFORE_ALL
"""A time before all: the evaluator must see every event and every watermark."""
NEVER_DUE = AFTER_ALL
"""A time after all: nothing but a solution can give a match."""


class Evaluator(Protocol):
    """Finds the matches of one program.

    There is no thread, clock, file or socket inside; how the input is cut into slices does not change the multiset of
    matches. It need not be called for every event without a solution, nor for every watermark: see `due` and `skip`.
    """

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        """The next slice of the merged order: all its events, and symbol → solutions. Matches in report order."""

    def on_watermark(self, time: int) -> Sequence[Match]:
        """No later event has a time up to `time`. The matches that this watermark releases."""

    def due(self) -> int:
        """Until no event before this time is to come, events without solutions and watermarks give no match."""

    def skip(self, gap: Gap) -> None:
        """The next events, none of which has a solution, or a time at which the evaluator is due."""

    def finish(self) -> Sequence[Match]:
        """The input has ended. The last matches."""

    @property
    def runs(self) -> int:
        """The number of partial matches that are kept now."""

    def live_ids(self) -> list[Ids]:
        """Columns of every id that is still needed."""

    def oldest_position(self) -> int:
        """Events before this position are in no run, and can be in no match, any more."""

    def oldest_output_time(self, watermark: int) -> int:
        """No later match ends before this time, given that no later event has a time before `watermark`."""

    @property
    def needs_whole_slots(self) -> bool:
        """True if a slice must not end between two events of one time."""


FEW_EVENTS_MAX = 24
"""Slices of up to so many events are evaluated row at a time: columns cost one or two milliseconds a slice."""


@runtime_checkable
class RowEvaluator(Evaluator, Protocol):
    """An evaluator that can also take one event at a time, without columns."""

    def prefers_rows(self) -> bool:
        """True if the next event, a slice of its own, should go to `on_event`."""

    def on_event(self, time: int, stream: int, solutions: Mapping[int, Sequence[tuple[int, ...]]]) -> Sequence[Match]:
        """As `on_batch` for a slice of one event, alone in its time where `needs_whole_slots`.

        solutions   symbol → the values of its variables in ascending order, for each solution; of those that have any
        """


@runtime_checkable
class Restorable(Evaluator, Protocol):
    """An evaluator whose state can be taken out between two slices, and put into a fresh one of the same program."""

    @property
    def state_kind(self) -> str:
        """The kind of evaluator that can read the state."""

    def snapshot(self) -> dict[str, Any]:
        """The state, as `State`; the evaluator may go on."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; nothing has been consumed before."""


@runtime_checkable
class InPieces(Evaluator, Protocol):
    """An evaluator that need not hold all matches of a slice together."""

    def pieces(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Iterator[Sequence[Match]]:
        """As `on_batch`, in pieces; all are read before the evaluator is asked anything else.

        Matches with the same events are in one piece.
        """


@runtime_checkable
class SemiJoinSource(Evaluator, Protocol):
    """An evaluator that restricts the solutions it needs; the others need all of them."""

    def semi_join_filters(self, events: int) -> Mapping[int, SemiJoinFilter]:
        """Symbol → the filter of its solutions in the next slice, of so many events; no entry: all of them."""


@runtime_checkable
class EdgeCounter(Evaluator, Protocol):
    """An evaluator that counts partial matches."""

    def edges_taken(self) -> Sequence[int | None] | None:
        """By edge of the plan, the partial matches whose last step it is; None: not every one is made."""

    def count_edges(self, lost: bool) -> None:
        """Has every partial match made, and if `lost` `edges_lost` counted, where it can be; at the beginning."""

    def edges_lost(self) -> Sequence[Mapping[str, int] | None] | None:
        """By edge, once the streams have ended, the partial matches that it did not extend, by cause.

        None: they were not counted.
        """


@runtime_checkable
class StateCounter(Evaluator, Protocol):
    """An evaluator that knows where its partial matches stand."""

    def standing(self, time: int) -> Sequence[int] | None:
        """By position of the plan the partial matches that an event at or after `time` may extend, 0 at START.

        One more number follows: the matches that wait to be reported. None: they are not kept by position. No event
        before `time` is to come.
        """

    def waiting(self, position: int, limit: int, time: int) -> Sequence[PartialMatch] | None:
        """Some of those that `standing` counts at a position, those with the newest events first, `limit` at most.

        The position after the last is that of the matches that wait to be reported. None: they are not kept one by one.
        """
