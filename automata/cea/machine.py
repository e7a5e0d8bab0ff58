"""The arrays on which Algorithm 1 of C works, and the meaning of the numbers in them.

A *bit vector* is the set of symbols for which one event has solutions under one key (C Section 4.4). A *cell* is a
state of the determinised automaton.
"""

from __future__ import annotations

from typing import NamedTuple

from automata.cea.tecs import Arena
from automata.values import Ids

START = 0
"""The initial cell: always active, and no move leads to it."""
GAP = 0
"""The bit vector of the events that have no solution under a key."""
UNKNOWN, NOWHERE = -2, -1
"""A move that is not determined yet; the skip move that no run survives."""
DONE, QUIET, MOVE_UNKNOWN, ARENA_FULL, TABLE_FULL, ROOTS_FULL = range(6)
"""Reasons for which the kernel returns; QUIET, inside it: a bit vector changes nothing."""
USED, TAKEN, FREED = range(3)
"""Columns of `Scratch.used`: cells, places taken for them, places given up."""
NEXT, ROOTS, CELL, BIT_VECTOR = range(4)
"""Columns of `Machine.progress`: the next bit vector; roots found; the cell and bit vector of the unknown move."""


class BitVectors(NamedTuple):
    """The bit vectors of a slice, one row for each (event, key).

    slots           row of the key in `Tables`
    numbers         of the bit vector in `Moves`
    entries         number of the first entry (event, key, symbol)
    starts, lows    the moment of the event, and the earliest start in its window
    places          position in the merged order
    heads           written by the kernel: the number of the next tECS node after the bit vector
    """

    slots: Ids
    numbers: Ids
    entries: Ids
    starts: Ids
    lows: Ids
    places: Ids
    heads: Ids


class Tables(NamedTuple):
    """One row per key: T of C.

    counts                  active cells
    cells, places [s, c]    the active cells in order of insertion, each with the place of its union-list; after them
                            the free places
    sizes [s, place], lists [s * places + place]    the union-lists
    touched, ranks          place of the last bit vector in the merged order, and its rank in the substream
    substreams              row of the key's partition in `Substreams`
    """

    counts: Ids
    cells: Ids
    places: Ids
    sizes: Ids
    lists: Ids
    touched: Ids
    ranks: Ids
    substreams: Ids


class Substreams(NamedTuple):
    """One row per partition: rank and place of its last event, place of the last event that consumed."""

    ranks: Ids
    places: Ids
    consumed: Ids


class Moves(NamedTuple):
    """The determinised automaton as far as it is known.

    skip[cell, vector]      the cell without marking
    first[cell, vector]     where its marking moves begin: (label, target) up to a label of -1; a label is the rank of
                            the symbol in the bit vector
    effort[cell, vector]    0 if nothing changes, else the number of cells it may reach
    accepting, alive        of each cell: it holds complete events; it has a step to take
    """

    skip: Ids
    first: Ids
    effort: Ids
    labels: Ids
    targets: Ids
    accepting: Ids
    alive: Ids


class Scratch(NamedTuple):
    """T′ of C while an event builds it: counts (USED …), cells, their places; cell → index; places given up."""

    used: Ids
    cells: Ids
    places: Ids
    at: Ids
    freed: Ids


class Roots(NamedTuple):
    """Complete events: row of the bit vector that completes them, and the tECS node that holds them."""

    rows: Ids
    nodes: Ids


class Rules(NamedTuple):
    """gaps: events without a bit vector count; partitioned: ranks are those of substreams; consume: CONSUME ALL."""

    gaps: bool
    partitioned: bool
    consume: bool


class Machine(NamedTuple):
    """Everything that the kernel reads and writes."""

    vectors: BitVectors
    tables: Tables
    substreams: Substreams
    moves: Moves
    scratch: Scratch
    arena: Arena
    roots: Roots
    rules: Rules
    progress: Ids
