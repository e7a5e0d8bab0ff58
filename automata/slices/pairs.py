"""Pairs of a run and a set of events, and which of them skip-till-next lets stand (specification 3.2, `;`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automata.slices.step_table import SEVERAL, StepTable
from automata.values import Ids, Mask


@dataclass(frozen=True, slots=True)
class Pairs:
    """Runs that take an edge: row of the run, row of the step table."""

    rows: Ids
    steps: Ids

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: Ids | Mask) -> Pairs:
        """These pairs."""
        return Pairs(self.rows[which], self.steps[which])


def joined(parts: list[Pairs]) -> Pairs:
    """All of them."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return Pairs(none, none)
    return Pairs(np.concatenate([part.rows for part in parts]), np.concatenate([part.steps for part in parts]))


def first_slots(pairs: Pairs, table: StepTable) -> Pairs:
    """Of each run, the pairs in its first slot."""
    if not len(pairs):
        return pairs
    runs, inverse = np.unique(pairs.rows, return_inverse=True)
    first = np.full(len(runs), np.iinfo(np.int64).max)
    slots = table.slots[pairs.steps]
    np.minimum.at(first, inverse, slots)
    return pairs.take(slots == first[inverse])


def follows(table: StepTable, steps: Ids, times: Ids, streams: Ids, highs: Ids) -> Mask:
    """A mask of the rows after sets of events with these times, streams and last positions."""
    time = table.times[steps]
    same_stream = (streams == table.streams[steps]) & (streams >= 0)
    result: Mask = (time > times) | ((time == times) & same_stream & (table.low[steps] > highs))
    return result


def unpreceded(pairs: Pairs, table: StepTable, rivals: list[tuple[StepTable, Pairs]]) -> Mask:
    """A mask of the pairs that no rival of the same run precedes (specification 3.2, `;`); `rivals` include them."""
    keep = np.ones(len(pairs), dtype=np.bool_)
    if not len(pairs):
        return keep
    if len(rivals) > 1:
        earliest = _least(
            np.concatenate([other.rows for _, other in rivals])[:, np.newaxis],
            np.concatenate([other_table.slots[other.steps] for other_table, other in rivals]),
            pairs.rows[:, np.newaxis],
        )
        keep &= table.slots[pairs.steps] == earliest
    late = np.flatnonzero((table.seq_low[pairs.steps] > 0) & (table.streams[pairs.steps] != SEVERAL))
    if len(late):
        keys, highs = zip(*(_in_slot(other_table, other) for other_table, other in rivals), strict=True)
        own = pairs.take(late)
        least = _least(np.concatenate(keys), np.concatenate(highs), _in_slot(table, own)[0])
        keep[late] &= table.low[own.steps] <= least
    return keep


def _in_slot(table: StepTable, pairs: Pairs) -> tuple[NDArray[np.int64], Ids]:
    """(run, slot, stream) of each pair, and the last position of its events."""
    key = np.column_stack((pairs.rows, table.slots[pairs.steps], table.streams[pairs.steps]))
    return key, table.high[pairs.steps]


def _least(keys: NDArray[np.int64], values: Ids, wanted: NDArray[np.int64]) -> Ids:
    """The least value under each wanted key; every wanted key is among `keys`."""
    both, inverse = np.unique(np.concatenate((keys, wanted)), axis=0, return_inverse=True)
    least = np.full(len(both), np.iinfo(np.int64).max)
    np.minimum.at(least, inverse[: len(keys)].ravel(), values)
    result: Ids = least[inverse[len(keys) :].ravel()]
    return result
