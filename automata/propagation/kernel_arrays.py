"""The arrays that the kernel reads and writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.times import BEFORE_ALL
from automata.values import Ids

Floats = NDArray[np.float64]
LIMB = 31
"""Bits of a limb."""
KEEP, SET, ADD, FORGET = range(4)
"""The effect of a move on a measure: none; its last value is replaced; it is added to; it has no value any more."""
NO_WINDOW = BEFORE_ALL
"""The window of a cell that is not in use; windows before the epoch have numbers below 0."""
STATE = 7
SLOTS, OPEN_FIRST, OPEN_LAST, EMITTED, EMITTING, FULL, EVENT = range(STATE)
"""Places of what the kernel goes on from: keys in use, the least and the greatest open window (the greatest is less:
none is open), rows written, the next key of the window that is being closed, 1 once a number needs a limb more, the
next event of the slice."""


class Rules(NamedTuple):
    """A machine as arrays; ranges as offsets.

    moves       symbol → its range of `lane`, `target`, `begins`, and rows of `linear` and `extreme`
    linear, extreme     the effect of each move on each linear and each extreme measure
    greatest    1 for each extreme measure that looks for the greatest
    killed      symbol → its range of `kills`; entered: state → its range of `enters`
    opens       1 for symbols that a cell begins with
    """

    moves: Ids
    lane: Ids
    target: Ids
    begins: Ids
    linear: Ids
    extreme: Ids
    greatest: Ids
    killed: Ids
    kills: Ids
    entered: Ids
    enters: Ids
    strict: Ids
    opening: Ids
    ends: Ids
    opens: Ids


class Shape(NamedTuple):
    """The windows: number of the first position or time, size, hop; how many may be open at once."""

    start: int
    size: int
    hop: int
    open_max: int
    anchored: int
    in_events: int
    consecutive: int


class Room(NamedTuple):
    """The last limbs of counts and of sums that need another one: one event more might not fit."""

    counts: int
    sums: int


class Cells(NamedTuple):
    """Slots of keys, and the cells of each, one for each open window: `slot * open_max + window % open_max`.

    table       hash table: slot + 1 of a key, or 0
    keys        int64[slots, key]
    window      the window of each cell, or NO_WINDOW
    position    see `automata.propagation.cells.Cell`
    counts      int64[cells, lanes, limbs]; one limb alone holds up to 61 bits
    sums        int64[cells, lanes, linear measures, limbs], one alone or at least two more than those of counts
    best        float64[cells, lanes, extreme measures], NaN: none; ids alike
    first, last times of first and last events; none where nobody asks
    members     int64[open_max, slots]: the slots with a cell in a window; member_counts: how many
    """

    table: Ids
    keys: Ids
    window: Ids
    position: Ids
    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids
    first: Ids
    last: Ids
    members: Ids
    member_counts: Ids


class Slice(NamedTuple):
    """The solutions of a slice, those of one symbol after those of another, each ascending by event.

    begins      symbol → offset
    addends     int64[solutions, addend columns, limbs], magnitudes; signs alike
    column      linear measure → its addend column
    values      float64[solutions, extreme measures], NaN: unbound; ids alike
    """

    times: Ids
    position: int
    begins: Ids
    events: Ids
    keys: Ids
    addends: Ids
    signs: Ids
    column: Ids
    values: Floats
    ids: Ids


class Order(NamedTuple):
    """The solutions of a slice by event.

    ends        event → the end of its range of `rows`, `symbols` and `slots`, which begins where that before ends
    """

    ends: Ids
    rows: Ids
    symbols: Ids
    slots: Ids


class Scratch(NamedTuple):
    """The values that one event adds to each state; `states`: those reached."""

    reached: Ids
    states: Ids
    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids
    first: Ids


class Output(NamedTuple):
    """Rows of closed windows: window, slot's key, and the vector of one end."""

    windows: Ids
    keys: Ids
    ends: Ids
    counts: Ids
    sums: Ids
    best: Floats
    ids: Ids
    first: Ids
    last: Ids
