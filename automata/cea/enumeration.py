"""Enumerating what lies under tECS nodes (C Theorem 2): output-linear, newest start first, inside the window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from automata.cea.tecs import BOTTOM, LABEL, LEFT, RIGHT, Arena, part, top_of
from automata.jit import lean_kernel, lean_part
from automata.program import Ids

DONE, OUTPUT_FULL, WORK_FULL = range(3)
"""Why the kernel comes back."""
NEXT, FOUND, WRITTEN = range(3)
"""Places in `progress`: the next root; complex events and labels written."""


class Found(NamedTuple):
    """Complex events: `labels` of one after those of the other, oldest first; where each ends; whose root it is of."""

    labels: Ids
    ends: Ids
    roots: Ids


class Work(NamedTuple):
    """What is still to be visited, as (node, labels above it), and the labels above the node visited now."""

    stack: Ids
    path: Ids


def new_found(labels: int, events: int) -> Found:
    """Room for so many labels and complex events."""
    return Found(*(np.empty(size, dtype=np.int64) for size in (labels, events, events)))


def new_work(depth: int) -> Work:
    """Room for complex events of so many labels."""
    return Work(np.empty((4 * depth, 2), dtype=np.int64), np.empty(depth, dtype=np.int64))


@lean_kernel
def enumerate_roots(arena: Arena, nodes: Ids, lows: Ids, limit: int, work: Work, found: Found, progress: Ids) -> int:
    """Writes what is under nodes[progress[NEXT]:] with a start of at least `lows`, root after root.

    limit       complex events of one root at most

    A root is written whole or not at all. The time from one to the next is linear in its labels: at most
    three unions lie between two outputs, and nothing is visited that has no start in the window.
    """
    while progress[NEXT] < len(nodes):
        events, written = progress[FOUND], progress[WRITTEN]
        root = progress[NEXT]
        status = _enumerate(arena, nodes[root], lows[root], root, limit, work, found, progress)
        if status != DONE:
            progress[FOUND], progress[WRITTEN] = events, written
            return status
        progress[NEXT] = root + 1
    return DONE


@lean_part
def _enumerate(
    arena: Arena, node: int, low: int, root: int, limit: int, work: Work, found: Found, progress: Ids
) -> int:
    waiting, depth, left = 0, 0, limit
    while left > 0:
        right = part(arena, node, RIGHT)
        if right >= 0:
            if top_of(arena, right) >= low:
                if waiting == len(work.stack):
                    return WORK_FULL
                work.stack[waiting, 0], work.stack[waiting, 1] = right, depth
                waiting += 1
            node = part(arena, node, LEFT)
        elif right != BOTTOM:
            if depth == len(work.path):
                return WORK_FULL
            work.path[depth] = part(arena, node, LABEL)
            depth += 1
            node = part(arena, node, LEFT)
        else:
            if not _write(work.path, depth, root, found, progress):
                return OUTPUT_FULL
            left -= 1
            if waiting == 0:
                break
            waiting -= 1
            node, depth = work.stack[waiting, 0], work.stack[waiting, 1]
    return DONE


@lean_part
def _write(path: Ids, depth: int, root: int, found: Found, progress: Ids) -> bool:
    """One complex event; False if there is no room."""
    number, at = progress[FOUND], progress[WRITTEN]
    if number == len(found.ends) or at + depth > len(found.labels):
        return False
    for index in range(depth):
        found.labels[at + index] = path[depth - 1 - index]
    found.ends[number] = at + depth
    found.roots[number] = root
    progress[FOUND], progress[WRITTEN] = number + 1, at + depth
    return True
