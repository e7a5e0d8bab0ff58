"""The arrays that the kernel of a group reads and writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from automata.propagation.kernel_arrays import Floats
from automata.values import Ids

Mask = NDArray[np.bool_]
STATE = 10
SLOTS, EMITTED, EMITTING, FULL, BEGIN, END, GROUPS, GROUP, BUNDLE, AT = range(STATE)
"""Places of what the kernel goes on from: keys in use, rows written, the next key of the window that is being closed,
1 once a number needs a limb more. The range of solutions that is being consumed, as in `Order`, and how many keys they
have (0: they are not grouped yet); the next key, its bundle, and its next solution."""


class Programs(NamedTuple):
    """The equations of all bundles; bundle b and symbol s have the place b * symbols + s.

    runs        place → its range of the runs: op, first source, source's step (0, 1), first target, how many, column,
                1 if the greatest is the best
    clears      place → its range of `cleared`: kind, first quantity, how many
    gaps        bundle → its range of `cleared` where an event has been missed
    opening     bundle → its range of `opened`, counts that are 1 when a window begins
    in_place    1: no run reads what one before it has changed, or what is cleared
    opens       1: a cell begins with this symbol
    touches     1: the symbol changes something in the bundle
    """

    symbols: int
    runs: Ids
    run: Ids
    clears: Ids
    gaps: Ids
    cleared: Ids
    opening: Ids
    opened: Ids
    in_place: Ids
    opens: Ids
    touches: Ids


class Frames(NamedTuple):
    """The windows of each frame; a frame has `open_max` sections in each row of cells, from `section` on.

    copy        the first of its sections among those of its bundle
    """

    start: Ids
    size: Ids
    hop: Ids
    open_max: Ids
    anchored: Ids
    section: Ids
    bundle: Ids
    copy: Ids


class Bundles(NamedTuple):
    """Frames that have the same quantities: number n of section c has the place `n * copies + c`.

    frames      bundle → its range of frames
    copies      sections of a bundle
    counts, sums, best  the first quantity of the bundle in its array; `count_width` … places of the bundle
    count_told  counts that are told of each section, which stand first; sums and extremes alike
    gapped      1: events that a cell is not told of clear some of its quantities
    """

    frames: Ids
    copies: Ids
    counts: Ids
    sums: Ids
    best: Ids
    count_width: Ids
    sum_width: Ids
    best_width: Ids
    count_told: Ids
    sum_told: Ids
    best_told: Ids
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
    window          int64[slots, sections], NO_WINDOW where a section is not in use: its quantities are nothing
    position        int64[slots, bundles]: of the last event
    counts          int64[slots + 1, limbs, counts]; sums: int64[slots + 1, limbs, sums]; the last row is for copies
    best            float64[slots + 1, best], NaN: none; ids alike
    members         int64[sections, slots]: the slots in which a section is in use; member_counts: how many
    waiting         int64[slots]: 0 except while solutions are grouped
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
    waiting: Ids


class Numbers(NamedTuple):
    """The quantities of cells as flat arrays, with what is needed to find them.

    count_limbs     limbs of a count; count_width: counts of a row; of sums and extremes alike
    aside, carry    room for one limb of a row of quantities
    """

    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids
    count_limbs: int
    count_width: int
    sum_limbs: int
    sum_width: int
    best_width: int
    aside: Ids
    carry: Ids


class Groups(NamedTuple):
    """Solutions between two times at which a window begins or ends, by key, each key's in the order of events.

    slots       group → the slot of its key; ends: group → the end of its range of `rows` and `symbols`
    """

    slots: Ids
    ends: Ids
    rows: Ids
    symbols: Ids


class Output(NamedTuple):
    """Closed sections with their windows and keys; the other arrays: as `sections.Sections`, of what is told."""

    frames: Ids
    windows: Ids
    keys: Ids
    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids
