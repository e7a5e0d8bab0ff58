"""The arrays of the kernels of windows that overlap.

A *row* is what has become of the partial matches of one lane: a cell of `automata.propagation.kernel_arrays.Cells`. A
*matrix* is a row for each lane, one after another. A *vector* is the row of the lane in which matches begin.
"""

from __future__ import annotations

from typing import NamedTuple

from automata.propagation import kernel_arrays
from automata.values import Ids

STATE = kernel_arrays.STATE + 6
AT, FREE, HELD, DRAWN, CURRENT, CLOSING = range(kernel_arrays.STATE, STATE)
"""Places of what the kernels go on from, after those of other kernels: the next solution of the event, the first free
node, nodes in use, nodes that have ever been in use, the pane that events are in, the next window to be closed."""
ALL, OWN = -1, -2
"""What a sum goes through where it is not a column: all paths; its own paths."""
OPENS, JOINED, APART, STALE, SETTLED = 1, 2, 4, 8, 16
"""Flags of a node: its event begins matches; it belongs to the event of the node before; it is not the next event
after that of the node before; nodes before it have left, with which the back was made; its pane is part of the back."""


class Algebra(NamedTuple):
    """A machine as matrices.

    through     sum → the column of the paths that keep what has been added before, or ALL or OWN
    kept        extreme → the same
    begins      symbol → its range of `touched`, the rows that an event with it changes
    sources     lanes from which a match may be completed
    """

    through: Ids
    kept: Ids
    begins: Ids
    touched: Ids
    sources: Ids


class Stacks(NamedTuple):
    """A queue of nodes for each slot, in two stacks: the front has products from a node to its end, the back has one.

    head, tail, border  the first node, the last one, the first one of the back; NONE: there is none
    last, rank          position and number of the last event of a slot
    next, previous      nodes; of free nodes `next` is the next free one
    where               time, position, number or pane of a node
    flags, symbols      of a node
    raw                 int64[nodes, variables]: ids of the measured variables
    """

    head: Ids
    tail: Ids
    border: Ids
    last: Ids
    rank: Ids
    next: Ids
    previous: Ids
    where: Ids
    flags: Ids
    symbols: Ids
    raw: Ids


class Flat(NamedTuple):
    """The counts and the sums of the same cells in one dimension."""

    counts: Ids
    sums: Ids


class Places(NamedTuple):
    """The numbers of rows: of the back of slot 0, of the first row of node 0, and rows of a node.

    The first rows are for work: two matrices, then `spare`.
    """

    lanes: int
    spare: int
    backs: int
    nodes: int
    width: int


class Group(NamedTuple):
    """The solutions of one event with one key."""

    rows: Ids
    symbols: Ids
