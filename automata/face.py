"""The face that every evaluator shows: a state machine fed with stretches of the merged order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from automata.program import Events, Ids, Match, SymbolSolutions


class Evaluator(Protocol):
    """Finds the matches of one program.

    There is no thread, clock, file or socket inside; how the input is cut into stretches does not
    change the multiset of matches.
    """

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Sequence[Match]:
        """The next stretch of the merged order: all its events, and symbol → solutions. Matches in report order."""

    def on_watermark(self, time: int) -> Sequence[Match]:
        """No event at or before `time` will come any more. Matches that were waiting for that."""

    def finish(self) -> Sequence[Match]:
        """The input has ended. The last matches."""

    def live_ids(self) -> list[Ids]:
        """Columns of every id that is still needed."""

    def oldest_position(self) -> int:
        """Events before this position are in no run, and can be in no match, any more."""

    def oldest_output_time(self, watermark: int) -> int:
        """No match to come ends before this time, given that no event before `watermark` will come."""

    @property
    def needs_whole_slots(self) -> bool:
        """Whether a stretch must not end between two events of one time."""


FEW_EVENTS_MAX = 24
"""So many events may come one by one where they come together: columns cost one or two milliseconds a stretch."""


@runtime_checkable
class SingleEvaluator(Evaluator, Protocol):
    """An evaluator that takes events that come alone without columns."""

    def prefers_single_events(self) -> bool:
        """Whether the next event, which comes alone, should go to `on_event`."""

    def on_event(self, time: int, stream: int, solutions: Mapping[int, Sequence[tuple[int, ...]]]) -> Sequence[Match]:
        """As `on_batch` for a stretch of one event, alone in its time where `needs_whole_slots`.

        solutions   symbol → the values of its variables in ascending order, for each solution; of those that have any
        """
