"""What Algorithm 1 of C works on, as arrays: letters, tables, moves, roots; and what numbers in them mean."""

from __future__ import annotations

from typing import NamedTuple

from automata.values import Ids

START = 0
"""The initial cell: never entered, active always."""
GAP = 0
"""The letter of events that have no solution under a key."""
UNKNOWN, NOWHERE = -2, -1
"""A move that is not determined yet; a skip that no run survives."""
DONE, QUIET, MOVE_UNKNOWN, ARENA_FULL, TABLE_FULL, ROOTS_FULL = range(6)
"""Why the kernel comes back."""
USED, TAKEN, FREED = range(3)
"""Places in `Scratch.used`: cells, places taken for them, places given up."""
NEXT, ROOTS, CELL, BIT_VECTOR = range(4)
"""Places in `progress`: the next letter; roots found; the move that is not known."""


class BitVectors(NamedTuple):
    """slots: table of the key; letters; entries: number of the first (event, key, symbol); starts: the moment of the
    event; lows: the earliest start in its window; places: position in the merged order. Written by the kernel: heads,
    the number of the next tECS node once the letter has been taken in."""

    slots: Ids
    bit_vectors: Ids
    entries: Ids
    starts: Ids
    lows: Ids
    places: Ids
    heads: Ids


class Tables(NamedTuple):
    """One row per key: T of C.

    counts                  active cells
    cells, places [s, c]    the active cells in order, each with the place of its union-list; then the free places
    sizes [s, place], lists [s * places + place]    the union-lists
    touched, ranks          place of the last letter in the merged order, and its rank in the substream
    substreams              the key's own
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

    skip[cell, letter]      cell without marking
    first[cell, letter]     where its marking moves begin: (label, target) up to a label of -1; a label counts the
                            symbols of the letter
    effort[cell, letter]    0 if nothing changes, else how many cells it may reach
    accepting, alive        of each cell: it holds complete events; it has steps to wait for
    """

    skip: Ids
    first: Ids
    effort: Ids
    labels: Ids
    targets: Ids
    accepting: Ids
    alive: Ids


class Scratch(NamedTuple):
    """T′ of C while an event makes it: how many cells, which, their places; cell → index; and places given up."""

    used: Ids
    cells: Ids
    places: Ids
    at: Ids
    freed: Ids


class Roots(NamedTuple):
    """What became complete: which letter did it, and the tECS node that holds it."""

    bit_vectors: Ids
    nodes: Ids


class Rules(NamedTuple):
    """symbols: how many; gaps: events without a letter count; partitioned: ranks are those of substreams; consume."""

    symbols: int
    gaps: bool
    partitioned: bool
    consume: bool
