"""tECS: sets of open complex events that share their common parts (C Sections 4.1-4.2).

A node is a number that is never used twice; its row lies in a ring. A *bottom* node is a start, an
*output* node adds a label to everything below it, a *union* node is the union of its left and its right child.
A start is a moment (a time or a rank); `top` is a node's latest start. The structure is time-ordered
(top of left >= top of right), 3-bounded, and free of duplicates if the automaton is I/O-deterministic.

Nodes before TAIL are older than the window: nothing below them is in it, and the ring uses their rows again. Such a
node is never followed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arrays.jit import ASSERTING, inlined_kernel, lean_part
from arrays.times import BEFORE_ALL
from automata.values import Ids

LEFT, RIGHT, LABEL, TOP = range(4)
"""Columns of a row. An output node's child is its LEFT."""
OUTPUT, BOTTOM = -1, -2
"""RIGHT of the nodes that are no union."""
HEAD, TAIL = range(2)
"""Places in `Arena.marks`."""
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


@inlined_kernel
def part(arena: Arena, node: int, column: int) -> int:
    """One column of a node's row."""
    return int(arena.nodes[node & (len(arena.nodes) - 1), column])


@inlined_kernel
def top_of(arena: Arena, node: int) -> int:
    """The latest start under a node; BEFORE_ALL if the node is out of every window."""
    if node < arena.marks[TAIL]:
        return BEFORE_ALL
    return part(arena, node, TOP)


@lean_part
def _allocate(arena: Arena, left: int, right: int, label: int, top: int) -> int:
    node = arena.marks[HEAD]
    if ASSERTING:
        assert node - arena.marks[TAIL] < len(arena.nodes), "the arena is full"
    row = node & (len(arena.nodes) - 1)
    arena.nodes[row, LEFT] = left
    arena.nodes[row, RIGHT] = right
    arena.nodes[row, LABEL] = label
    arena.nodes[row, TOP] = top
    arena.marks[HEAD] = node + 1
    if ASSERTING:
        _check_union(arena, node)
    return int(node)


@inlined_kernel
def new_bottom(arena: Arena, start: int) -> int:
    """A node for the open complex event that starts at `start` and has no event yet."""
    return _allocate(arena, -1, BOTTOM, -1, start)


@inlined_kernel
def extend(arena: Arena, node: int, label: int) -> int:
    """A node for everything under `node`, with `label` added."""
    return _allocate(arena, node, OUTPUT, label, top_of(arena, node))


@lean_part
def _joined(arena: Arena, left: int, right: int) -> int:
    return _allocate(arena, left, right, -1, top_of(arena, left))


@lean_part
def union(arena: Arena, one: int, other: int) -> int:
    """A safe node for both, which are safe and have one top (C Figure 5, a-d)."""
    if ASSERTING:
        assert top_of(arena, one) == top_of(arena, other)
        assert is_safe(arena, one) and is_safe(arena, other)
    more, less = part(arena, one, RIGHT), part(arena, other, RIGHT)
    if more < 0:
        return _joined(arena, one, other)
    if less < 0:
        return _joined(arena, other, one)
    left, middle = part(arena, one, LEFT), part(arena, other, LEFT)
    if top_of(arena, more) < top_of(arena, less):
        more, less = less, more
    if top_of(arena, less) != BEFORE_ALL:
        rest = _joined(arena, more, less)
    else:
        rest = more
    if top_of(arena, rest) == BEFORE_ALL:
        return _joined(arena, left, middle)
    return _joined(arena, left, _joined(arena, middle, rest))


# --- union-lists ----------------------------------------------------------------------------------


@inlined_kernel
def insert(arena: Arena, lists: Ids, row: int, size: int, node: int) -> int:
    """Puts a safe node into the union-list lists[row, :size]; returns the new size.

    A union-list: a node that is no union, then safe nodes whose tops fall strictly; none is later than the first.
    """
    top = top_of(arena, node)
    if ASSERTING:
        assert top <= top_of(arena, lists[row, 0]), (top, top_of(arena, lists[row, 0]))
    at = 1
    while at < size and top_of(arena, lists[row, at]) > top:
        at += 1
    if at < size and top_of(arena, lists[row, at]) == top:
        lists[row, at] = union(arena, lists[row, at], node)
        return size
    for later in range(size, at, -1):
        lists[row, later] = lists[row, later - 1]
    lists[row, at] = node
    return size + 1


@inlined_kernel
def merge(arena: Arena, lists: Ids, row: int, size: int) -> int:
    """A safe node for the whole union-list lists[row, :size] (C Figure 5, e)."""
    node = int(lists[row, size - 1])
    for at in range(size - 2, -1, -1):
        node = _joined(arena, lists[row, at], node)
    if ASSERTING:
        assert is_safe(arena, node)
    return node


# --- what holds -----------------------------------------------------------------------------------


@inlined_kernel
def output_depth(arena: Arena, node: int) -> int:
    """Union nodes met on the way to the left before a node that is none: odepth of C Section 4.1."""
    depth = 0
    while part(arena, node, RIGHT) >= 0:
        depth += 1
        node = part(arena, node, LEFT)
    return depth


@inlined_kernel
def is_safe(arena: Arena, node: int) -> bool:
    """No union, or a union of depth 1 whose right child has a depth of at most 2 (C Section 4.2)."""
    right = part(arena, node, RIGHT)
    if right < 0:
        return True
    return output_depth(arena, node) == 1 and (right < arena.marks[TAIL] or output_depth(arena, right) <= 2)


@lean_part
def _check_union(arena: Arena, node: int) -> None:
    right = part(arena, node, RIGHT)
    if right >= 0:
        assert part(arena, node, TOP) == top_of(arena, part(arena, node, LEFT))
        assert part(arena, node, TOP) >= top_of(arena, right), "not time-ordered"
    assert output_depth(arena, node) <= DEPTH_MAX
