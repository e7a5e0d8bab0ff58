"""The arrays that the kernel of a group reads and writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from automata.propagation.kernel_arrays import Floats
from automata.values import Ids

Mask = NDArray[np.bool_]
STATE = 5
SLOTS, EMITTED, EMITTING, FULL, EVENT = range(STATE)
"""Places of what the kernel goes on from: keys in use, rows written, the next key of the window that is being closed,
1 once a number needs a limb more, the next event of the slice."""


class Programs(NamedTuple):
    """The equations of all frames; frame f and symbol s have the place f * symbols + s.

    runs        place → its range of the runs: op, first source, source's step (0, 1), first target, how many, column,
                1 if the greatest is the best
    clears      place → its range of `cleared`: kind, first quantity, how many
    gaps        frame → its range of `cleared` where an event has been missed
    opening     frame → its range of `opened`, counts that are 1 when a window begins
    safe        1: no quantity that a run reads is changed by another run or cleared
    opens       1: a cell begins with this symbol
    touches     1: the symbol changes something in the frame
    """

    symbols: int
    runs: Ids
    run: Ids
    clears: Ids
    gaps: Ids
    cleared: Ids
    opening: Ids
    opened: Ids
    safe: Ids
    opens: Ids
    touches: Ids


class Frames(NamedTuple):
    """The windows of each frame; a frame has `open_max` sections in each row of cells, from `section` on.

    counts, sums, best  the first quantity of the first section in its array; `count_width` … of each section
    gapped              1: events that a cell is not told of clear some of its quantities
    """

    start: Ids
    size: Ids
    hop: Ids
    open_max: Ids
    anchored: Ids
    section: Ids
    counts: Ids
    sums: Ids
    best: Ids
    count_width: Ids
    sum_width: Ids
    best_width: Ids
    gapped: Ids


class Clock(NamedTuple):
    """By frame: the first and the last window that is open (the last is less: none is), those that the time is in."""

    open_first: Ids
    open_last: Ids
    least: Ids
    last: Ids


class Cells(NamedTuple):
    """Slots of keys, and the quantities of each; integers in limbs as those of `automata.propagation.kernel`.

    table, keys     as those of `automata.propagation.kernel_arrays.Cells`
    window          int64[slots, sections], NO_WINDOW where a section is not in use; position: of its last event
    counts          int64[slots, limbs, counts]; sums: int64[slots, limbs, sums]
    best            float64[slots, best], NaN: none; ids alike
    members         int64[sections, slots]: the slots in which a section is in use; member_counts: how many
    """

    table: Ids
    keys: Ids
    window: Ids
    position: Ids
    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids
    members: Ids
    member_counts: Ids


class Scratch(NamedTuple):
    """The quantities of one section before an event: as in `Cells`, of one slot."""

    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids


class Output(NamedTuple):
    """Sections of closed windows with their keys; the other arrays are those of `sections.Sections`."""

    frames: Ids
    windows: Ids
    keys: Ids
    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids
