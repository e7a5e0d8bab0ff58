"""tECS: sets of open complex events that share what they have in common (C Sections 4.1-4.2).

A node is a number that is never used twice; its row lies in a ring. A *bottom* node is a start, an
*output* node adds a label to everything below it, a *union* node is all of its left and its right child.
A start is a moment (a time or a rank); `top` is a node's latest start. The structure is time-ordered
(top of left >= top of right), 3-bounded, and free of duplicates if the automaton is I/O-deterministic.

Rows before TAIL were made before the window began: nothing below them is in the window, and the ring
uses them again. Whoever meets such a node leaves it alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from automata.jit import ASSERTING, kernel
from automata.program import Ids

LEFT, RIGHT, LABEL, TOP = range(4)
"""Columns of a row. An output node's child is its LEFT."""
OUTPUT, BOTTOM = -1, -2
"""RIGHT of the nodes that are no union."""
HEAD, TAIL = range(2)
NEVER = -(1 << 62)
"""The top of a node that is out of every window."""
DEPTH_MAX = 3
"""Union nodes on the way to the left until something is output: `k` of `k-bounded`."""


class Arena(NamedTuple):
    """nodes: int64[a power of two, 4]; marks: the number of the next node, and of the first that may be in a window."""

    nodes: Ids
    marks: Ids


def new_arena(capacity: int) -> Arena:
    """An empty arena; `capacity` is a power of two."""
    assert capacity & (capacity - 1) == 0, capacity
    return Arena(np.zeros((capacity, 4), dtype=np.int64), np.zeros(2, dtype=np.int64))


def grown(arena: Arena) -> Arena:
    """The same nodes, under the same numbers, in twice the space."""
    larger = Arena(np.zeros((2 * len(arena.nodes), 4), dtype=np.int64), arena.marks)
    numbers = np.arange(arena.marks[TAIL], arena.marks[HEAD])
    larger.nodes[numbers & (len(larger.nodes) - 1)] = arena.nodes[numbers & (len(arena.nodes) - 1)]
    return larger


@kernel
def row_of(arena: Arena, node: int) -> Ids:
    """The row of a node."""
    row: Ids = arena.nodes[node & (len(arena.nodes) - 1)]
    return row


@kernel
def top_of(arena: Arena, node: int) -> int:
    """The latest start under a node; NEVER if the node is out of every window."""
    if node < arena.marks[TAIL]:
        return NEVER
    return int(row_of(arena, node)[TOP])


@kernel
def _allocate(arena: Arena, left: int, right: int, label: int, top: int) -> int:
    node = arena.marks[HEAD]
    if ASSERTING:
        assert node - arena.marks[TAIL] < len(arena.nodes), "the arena is full"
    row = row_of(arena, node)
    row[LEFT], row[RIGHT], row[LABEL], row[TOP] = left, right, label, top
    arena.marks[HEAD] = node + 1
    if ASSERTING:
        _check_union(arena, node)
    return int(node)


@kernel
def new_bottom(arena: Arena, start: int) -> int:
    """A node for the open complex event that starts at `start` and has no event yet."""
    return _allocate(arena, -1, BOTTOM, -1, start)


@kernel
def extend(arena: Arena, node: int, label: int) -> int:
    """A node for everything under `node`, with `label` added."""
    return _allocate(arena, node, OUTPUT, label, top_of(arena, node))


@kernel
def _joined(arena: Arena, left: int, right: int) -> int:
    return _allocate(arena, left, right, -1, top_of(arena, left))


@kernel
def union(arena: Arena, one: int, other: int) -> int:
    """A safe node for both, which are safe and have one top (C Figure 5, a-d)."""
    if ASSERTING:
        assert top_of(arena, one) == top_of(arena, other)
        assert is_safe(arena, one) and is_safe(arena, other)
    first, second = row_of(arena, one), row_of(arena, other)
    if first[RIGHT] < 0:
        return _joined(arena, one, other)
    if second[RIGHT] < 0:
        return _joined(arena, other, one)
    left, middle = first[LEFT], second[LEFT]
    more, less = first[RIGHT], second[RIGHT]
    if top_of(arena, more) < top_of(arena, less):
        more, less = less, more
    if top_of(arena, less) != NEVER:
        rest = _joined(arena, more, less)
    else:
        rest = more
    if top_of(arena, rest) == NEVER:
        return _joined(arena, left, middle)
    return _joined(arena, left, _joined(arena, middle, rest))


# --- union-lists ----------------------------------------------------------------------------------


@kernel
def insert(arena: Arena, nodes: Ids, size: int, node: int) -> int:
    """Puts a safe node into the union-list nodes[:size], whose first node is the latest; returns the new size.

    A union-list: a node that is no union, then safe nodes whose tops fall strictly; none is later than the first.
    """
    top = top_of(arena, node)
    if ASSERTING:
        assert top <= top_of(arena, nodes[0]), (top, top_of(arena, nodes[0]))
    at = 1
    while at < size and top_of(arena, nodes[at]) > top:
        at += 1
    if at < size and top_of(arena, nodes[at]) == top:
        nodes[at] = union(arena, nodes[at], node)
        return size
    for later in range(size, at, -1):
        nodes[later] = nodes[later - 1]
    nodes[at] = node
    return size + 1


@kernel
def merge(arena: Arena, nodes: Ids, size: int) -> int:
    """A safe node for the whole union-list nodes[:size] (C Figure 5, e)."""
    node = int(nodes[size - 1])
    for at in range(size - 2, -1, -1):
        node = _joined(arena, nodes[at], node)
    if ASSERTING:
        assert is_safe(arena, node)
    return node


# --- what holds -----------------------------------------------------------------------------------


@kernel
def output_depth(arena: Arena, node: int) -> int:
    """Union nodes met on the way to the left before a node that is none: odepth of C Section 4.1."""
    depth = 0
    while row_of(arena, node)[RIGHT] >= 0:
        depth += 1
        node = row_of(arena, node)[LEFT]
    return depth


@kernel
def is_safe(arena: Arena, node: int) -> bool:
    """No union, or a union of depth 1 whose right child has a depth of at most 2 (C Section 4.2)."""
    right = row_of(arena, node)[RIGHT]
    if right < 0:
        return True
    return output_depth(arena, node) == 1 and (right < arena.marks[TAIL] or output_depth(arena, right) <= 2)


@kernel
def _check_union(arena: Arena, node: int) -> None:
    row = row_of(arena, node)
    if row[RIGHT] >= 0:
        assert top_of(arena, row[LEFT]) >= top_of(arena, row[RIGHT]), "not time-ordered"
        assert row[TOP] == top_of(arena, row[LEFT])
    assert output_depth(arena, node) <= DEPTH_MAX
