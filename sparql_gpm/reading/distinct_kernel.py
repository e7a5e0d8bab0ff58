"""The repeated triples of events, found event by event; importing this imports numba."""

from __future__ import annotations

import numpy as np

from arrays.jit import lean_kernel
from sparql_gpm.columns import EventBatch, Ids, Mask

_SLOTS_MIN = 1 << 6
_PRIME = -7046029254386353131  # 2^64 divided by the golden ratio


def distinct(events: EventBatch) -> EventBatch:
    """See `EventBatch.distinct`."""
    longest = int(np.diff(events.offsets).max(initial=0))
    slots = np.zeros(max(_SLOTS_MIN, 1 << (2 * longest - 1).bit_length()), dtype=np.int64)
    repeated = np.zeros(len(events.subjects), dtype=np.bool_)
    offsets, subjects, predicates, objects = map(np.ascontiguousarray, (events.offsets, *events.terms))
    if mark_repeated(offsets, subjects, predicates, objects, slots, repeated) == 0:
        return events
    return events.keep(np.flatnonzero(~repeated))


@lean_kernel
def mark_repeated(offsets: Ids, subjects: Ids, predicates: Ids, objects: Ids, slots: Ids, repeated: Mask) -> int:
    """Mark the rows that an earlier row of their event equals; returns their number.

    slots   zeros, a power of two, twice as many as an event has rows: row numbers from 1; those of earlier events are
            as good as none
    """
    last, count = len(slots) - 1, 0
    for event in range(len(offsets) - 1):
        begin = offsets[event]
        for row in range(begin, offsets[event + 1]):
            hash_ = ((subjects[row] * _PRIME ^ predicates[row]) * _PRIME ^ objects[row]) * _PRIME
            slot = (hash_ ^ hash_ >> 32) & last
            while slots[slot] > begin:
                other = slots[slot] - 1
                same = subjects[other] == subjects[row] and predicates[other] == predicates[row]
                if same and objects[other] == objects[row]:
                    repeated[row] = True
                    count += 1
                    break
                slot = (slot + 1) & last
            if not repeated[row]:
                slots[slot] = row + 1
    return count
