"""The places of events: in the merged order, in a partition's substream, and in windows.

A *place* is an event seen from one partition; without PARTITION BY there is one. It carries:

rank    position in the substream, counted from 0
slot    dense number of the event's time in the substream; with one stream and no conjunction the
        order is total, and the slot is the rank
seq     number of the event among those of its slot and stream
tail    it is the last of its slot and stream
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from arrays.times import AFTER_ALL, BEFORE_ALL, earlier, later, whole_periods
from automata.plan.program import Window
from automata.slices.events import Events, Gap
from automata.values import Ids, Mask

_Numbers = TypeVar("_Numbers", int, Ids)
_CLEAR = 1 << 50
"""Added to the numbers of windows that may lie before the epoch: no window's number is negative."""


@dataclass(frozen=True, slots=True)
class Places:
    """One entry per place; `events` ascending within a partition, partitions in any order."""

    events: Ids
    partitions: Ids
    ranks: Ids
    slots: Ids
    seqs: Ids
    tails: Mask


@dataclass(slots=True)
class Carry:
    """The place of a substream at the end of the last slice."""

    rank: int = 0
    slot: int = -1


class Timeline:
    """Numbers events and places, slice after slice.

    total   events are totally ordered (one stream, no conjunction): a slice may end anywhere. Otherwise
            a slice must not end between two events of one time.
    """

    def __init__(self, total: bool) -> None:
        self.total = total
        self.position = 0
        self.carries: dict[int, Carry] = {}
        self._times = np.zeros(0, dtype=np.int64)
        self._first_rank = 0
        self._places: Places | None = None

    def begin_at(self, position: int) -> None:
        """The first event to come has this position, and this rank where there is no PARTITION BY."""
        self.position = position
        self.carries = {0: Carry(rank=position)}

    def advance(self, events: Events) -> Ids:
        """The positions of the next slice of events in the merged order."""
        first = self.position
        self.position += len(events)
        return events.shared.of(_counted, first, len(events))

    def skip(self, events: Events, partitioned: bool) -> None:
        """The next slice, in which no event has a place that anything asks for."""
        self.position += len(events)
        if partitioned:
            return
        carry = self._unpartitioned(events)
        carry.rank += len(events)
        if self.total:
            carry.slot = carry.rank - 1
        else:
            carry.slot += 1 + int(np.count_nonzero(events.times[1:] != events.times[:-1]))

    def skip_gap(self, gap: Gap, partitioned: bool) -> None:
        """As `skip`, of events known by their number."""
        self.position += gap.events
        if not partitioned:
            carry = self.carries.setdefault(0, Carry())
            carry.rank += gap.events
            carry.slot = carry.rank - 1 if self.total else carry.slot + gap.slots

    def places(self, events: Events, which: Ids, partitions: Ids) -> Places:
        """The places of these (event of the slice, partition) pairs, which are distinct."""
        order = np.lexsort((which, partitions))
        which, partitions = which[order], partitions[order]
        starts = _starts(partitions)
        group = np.cumsum(starts) - 1
        first = np.flatnonzero(starts)
        carries = [self.carries.setdefault(int(p), Carry()) for p in partitions[first]]
        offset = np.arange(len(which), dtype=np.int64) - first[group] if len(which) else which
        ranks = offset + np.array([carry.rank for carry in carries], dtype=np.int64)[group]
        if self.total:
            slots, seqs = ranks, np.zeros_like(ranks)
            tails = np.ones(len(ranks), dtype=np.bool_)
        else:
            slots, seqs, tails = _slotted(events.times[which], events.streams[which], which, partitions, group, carries)
        for number, carry in enumerate(carries):
            last = (first[number + 1] if number + 1 < len(first) else len(which)) - 1
            carry.rank, carry.slot = int(ranks[last]) + 1, int(slots[last])
        self._times, self._places = events.times, Places(which, partitions, ranks, slots, seqs, tails)
        return self._places

    def all_places(self, events: Events) -> Places:
        """The places of all events of a slice, in order, where there are no partitions."""
        carry = self._unpartitioned(events)
        places = events.shared.of(_places, events.times, events.streams, self.total)
        places = events.shared.of(_later, places, carry.rank, carry.rank if self.total else carry.slot + 1)
        if len(events):
            carry.rank, carry.slot = int(places.ranks[-1]) + 1, int(places.slots[-1])
        return places

    def rank(self, partition: int) -> int:
        """The number of events of the partition's substream so far."""
        carry = self.carries.get(partition)
        return carry.rank if carry else 0

    def times_at(self, partitions: Ids, ranks: Ids) -> Ids:
        """The times of the events of the last slice with these ranks in the substreams of these partitions."""
        if self._places is None:
            events = ranks - self._first_rank
        else:
            first = np.searchsorted(self._places.partitions, partitions)
            events = self._places.events[first + ranks - self._places.ranks[first]]
        times: Ids = self._times[events]
        return times

    def end_at(self, time: int) -> None:
        """The last slice was one event of this time; there is no PARTITION BY."""
        self._times, self._first_rank, self._places = np.array([time], dtype=np.int64), self.rank(0) - 1, None

    def slot(self, partition: int) -> int:
        """The slot of the last event of the partition's substream."""
        carry = self.carries.get(partition)
        return carry.slot if carry else -1

    def _unpartitioned(self, events: Events) -> Carry:
        """The carry before a slice where there is no PARTITION BY."""
        carry = self.carries.setdefault(0, Carry())
        self._times, self._first_rank, self._places = events.times, carry.rank, None
        return carry

    def lasts(self, window: Window, partitions: Ids, first_ranks: Ids) -> Mask:
        """True if the next event of its partition is in the window of events of what began at each rank."""
        known, inverse = np.unique(partitions, return_inverse=True)
        following = np.array([self.rank(partition) for partition in known.tolist()], dtype=np.int64)
        return following[inverse.ravel()] < _rank_after(window, first_ranks)

    def reaches(self, window: Window, partition: int, first_rank: int) -> bool:
        """`lasts` of one."""
        return self.rank(partition) < _rank_after(window, first_rank)

    def forget(self, kept: set[int]) -> None:
        """Drop what is known of every other partition; only where ranks need not go on."""
        self.carries = {partition: carry for partition, carry in self.carries.items() if partition in kept}


def _counted(first: int, count: int) -> Ids:
    return np.arange(first, first + count, dtype=np.int64)


def _places(times: Ids, streams: Ids, total: bool) -> Places:
    """The places of events that nothing comes before."""
    which = np.arange(len(times), dtype=np.int64)
    zeros = np.zeros_like(which)
    if total:
        return Places(which, zeros, which, which, zeros, np.ones(len(which), dtype=np.bool_))
    return Places(which, zeros, which, *_slotted(times, streams, which, zeros, zeros, [Carry()]))


def _later(places: Places, rank: int, slot: int) -> Places:
    """The same after so many ranks and slots."""
    return replace(places, ranks=places.ranks + rank, slots=places.slots + slot)


def _slotted(
    times: Ids, streams: Ids, which: Ids, partitions: Ids, group: Ids, carries: list[Carry]
) -> tuple[Ids, Ids, Mask]:
    """Slots, numbers in them and tails of places, whose times and streams these are, by partition and event."""
    new = _starts(partitions)
    new[1:] |= times[1:] != times[:-1]
    steps = np.cumsum(new)
    first = np.flatnonzero(_starts(partitions))
    base = np.array([carry.slot for carry in carries], dtype=np.int64)
    slots = base[group] + (steps - steps[first][group]) + 1 if len(which) else which
    order = np.lexsort((which, streams, steps))
    same = np.ones(len(which), dtype=np.bool_)
    same[1:] = (steps[order][1:] != steps[order][:-1]) | (streams[order][1:] != streams[order][:-1])
    heads = np.flatnonzero(same)
    seqs = np.empty(len(which), dtype=np.int64)
    seqs[order] = np.arange(len(which)) - heads[np.cumsum(same) - 1] if len(which) else which
    tails = np.empty(len(which), dtype=np.bool_)
    tails[order] = np.append(same[1:], True) if len(which) else same
    return slots, seqs, tails


def _rank_after(window: Window, first_ranks: _Numbers) -> _Numbers:
    """The first rank after the window of events of what began at each rank."""
    begins = first_ranks if window.sliding else first_ranks - (first_ranks - window.start) % window.period
    return later(begins, window.size)


def window_numbers(window: Window, times: Ids, ranks: Ids) -> Ids:
    """The tumbling window of each place; 0 for all when the window slides.

    -1 for one before STARTING AT, or between the windows of EVERY.
    """
    if window.sliding:
        return np.zeros(len(times), dtype=np.int64)
    places = ranks if window.in_events else times
    numbers = whole_periods(window.start, window.period, places)
    found: Ids = np.where(numbers < 0, -1, numbers) if window.anchored else numbers + _CLEAR
    if window.hop is None:
        return found
    return np.where(whole_periods(window.start + window.size, window.period, places) < numbers, found, -1)


def next_window(window: Window, time: int) -> int:
    """The number of the first tumbling window of time that ends after a time; of one before STARTING AT it is -1."""
    number = (time - window.start - window.size) // window.period + 1
    return max(number, -1) if window.anchored else number + _CLEAR


def deadline(window: Window, times: _Numbers, ranks: _Numbers, windows: _Numbers) -> _Numbers:
    """The last time (or rank) in the windows of matches, given their first times, first ranks and tumbling windows."""
    if not window.sliding:
        return earlier(_starts_of(window, windows, window.size), 1)
    return later(ranks, window.size) - 1 if window.in_events else later(times, window.size)


def in_window(window: Window, where: Any, first: Any, last: Any, windows: Any) -> Any:
    """True for a time (or rank) in the window of a match with this first and last one (specification 3.3).

    Numbers or columns; `windows` are the tumbling windows of the matches.
    """
    if not window.sliding:
        return (_starts_of(window, windows) <= where) & (where < _starts_of(window, windows, window.size))
    begins, ends = earlier(last, window.size), later(first, window.size)
    if window.in_events:
        return (begins < where) & (where < ends)
    return (begins <= where) & (where <= ends)


def _starts_of(window: Window, numbers: _Numbers, after: int = 0) -> _Numbers:
    """The first times (or ranks) of the tumbling windows with these numbers, or so long after; saturated."""
    origin, period = window.start + after, window.period
    least, most = max(-((origin - BEFORE_ALL) // period), BEFORE_ALL), min((AFTER_ALL - origin) // period, AFTER_ALL)
    numbers = numbers - (0 if window.anchored else _CLEAR)
    if isinstance(numbers, int):
        return BEFORE_ALL if numbers < least else AFTER_ALL if numbers > most else origin + numbers * period
    since = np.clip(numbers, least, most) - least
    if period > AFTER_ALL:
        starts = np.array([origin + number * period for number in range(least, most + 1)], dtype=np.int64)[since]
    else:
        starts = origin + least * period + since * period  # where a product wraps the sum wraps back
    found: Ids = np.where(numbers < least, BEFORE_ALL, np.where(numbers > most, AFTER_ALL, starts))
    return found


def _starts(values: Ids) -> Mask:
    starts = np.ones(len(values), dtype=np.bool_)
    starts[1:] = values[1:] != values[:-1]
    return starts
