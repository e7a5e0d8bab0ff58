"""The events of each partition's substream, where a negation must count them or see what lies between two of them.

Specification 3.4.2: `,` and windows of events look at the substream of the partition; an event outside it, which a
negated step may still match, counts as standing right before the next one in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from automata.plan.plan import Plan
from automata.slices.events import Events
from automata.slices.timeline import Places
from automata.values import Ids, Mask

_TRIM_MIN = 1 << 10
"""Events below which dropping old ones is not worth the look."""


@dataclass(slots=True)
class Substream:
    """The events of one partition that may still matter, in the merged order.

    columns     int64[3, n]: position, time, stream
    before      how many events of the substream came before these
    """

    columns: NDArray[np.int64]
    before: int = 0
    _parts: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, columns: NDArray[np.int64]) -> None:
        """The next events."""
        self._parts.append(columns)

    def known(self) -> NDArray[np.int64]:
        """All columns."""
        if self._parts:
            self.columns = np.concatenate([self.columns, *self._parts], axis=1)
            self._parts.clear()
        return self.columns

    def places(self, positions: Ids) -> NDArray[np.float64]:
        """Ranks of events of the stream; of one outside the substream half a rank before the next one in it."""
        own = self.known()[0]
        places = np.searchsorted(own, positions)
        inside = np.zeros(len(positions), dtype=np.bool_)
        inside[places < len(own)] = own[places[places < len(own)]] == positions[places < len(own)]
        return (places + self.before).astype(np.float64) - np.where(inside, 0.0, 0.5)

    def contiguous(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> Mask:
        """True if no event of the substream is after all of the left events and before all of the right ones.

        left    int64[3, n]: last position, time and stream of each set of events
        right   int64[3, n]: first position, time and stream
        """
        return np.array([not self._between(a, b) for a, b in zip(left.T, right.T, strict=True)], dtype=np.bool_)

    def drop(self, count: int) -> None:
        """Forget the first events."""
        self.columns = np.ascontiguousarray(self.known()[:, count:])
        self.before += count

    def _between(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> bool:
        positions, times, streams = self.known()
        after = (times > left[1]) | ((times == left[1]) & (streams == left[2]) & (positions > left[0]))
        before = (times < right[1]) | ((times == right[1]) & (streams == right[2]) & (positions < right[0]))
        return bool((after & before).any())


class Substreams:
    """The substreams of one program; empty where no negation needs them."""

    def __init__(self, plan: Plan) -> None:
        self.needed = plan.substreams
        self.of: dict[int, Substream] = {}
        self._added = self._kept = 0

    def add(self, events: Events, positions: Ids, places: Places) -> None:
        """The events of the next slice, partition by partition."""
        if not self.needed or not len(places.events):
            return
        self._added += len(places.events)
        columns = np.stack((positions, events.times, events.streams))
        starts = np.flatnonzero(np.diff(places.partitions, prepend=-1))
        for events_of, partition in zip(np.split(places.events, starts[1:]), places.partitions[starts], strict=True):
            self[int(partition)].add(columns[:, events_of])

    def __getitem__(self, partition: int) -> Substream:
        if partition not in self.of:
            self.of[partition] = Substream(np.zeros((3, 0), dtype=np.int64))
        return self.of[partition]

    def forget(self, before_time: int) -> None:
        """Drops what lies before a time, once there is much; only where ranks need not go on."""
        if not self._much():
            return
        for partition, substream in list(self.of.items()):
            substream.drop(int(np.searchsorted(substream.known()[1], before_time)))
            if not len(substream.columns[0]):
                del self.of[partition]
        self._note()

    def trim(self, size: int, oldest: Callable[[], Mapping[int, int]]) -> bool:
        """Once there is much, drops what lies more than `size` events before the oldest that still matters.

        oldest      partition → position; where there is none, nothing before the next event matters
        """
        if not self._much():
            return False
        first = oldest()
        for partition, substream in self.of.items():
            own = substream.known()[0]
            needed = int(np.searchsorted(own, first[partition])) if partition in first else len(own)
            substream.drop(max(0, needed - size))
        self._note()
        return True

    def _much(self) -> bool:
        return self._added > max(_TRIM_MIN, self._kept)

    def _note(self) -> None:
        self._added, self._kept = 0, sum(len(substream.columns[0]) for substream in self.of.values())


def least(parts: Iterable[tuple[Ids, Ids]]) -> dict[int, int]:
    """partition → least position, from columns of both."""
    partitions, positions = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(positions)[::-1]
    return dict(zip(partitions[order].tolist(), positions[order].tolist(), strict=True))
