"""Enumeration of complex events under tECS nodes (C Theorem 2): output-linear, newest start first, in the window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arrays.jit import lean_kernel, lean_part
from automata.cea.tecs import BOTTOM, LABEL, LEFT, RIGHT, Arena, part, top_of
from automata.values import NONE, Ids

DONE, OUTPUT_FULL, WORK_FULL = range(3)
"""Reasons for which the kernel returns."""
ROOT, FOUND, WRITTEN = range(3)
"""Columns of `progress`: the root being enumerated; complex events and labels written."""
NODE, WAITING, DEPTH, LEFT_OVER = range(4)
"""Columns of `Work.at`: the node to visit, NONE between two roots; nodes on the stack; labels above the node; complex
events of the root that may still be written."""


class Found(NamedTuple):
    """Complex events: the labels of one after those of the other, oldest first, and where each ends."""

    labels: Ids
    ends: Ids


class Work(NamedTuple):
    """The state of the enumeration of a root, which goes on once the output has been read.

    stack   nodes still to be visited, as (node, labels above it)
    path    the labels above the node visited now, the latest at the end
    """

    stack: Ids
    path: Ids
    at: Ids


def new_found(labels: int, events: int) -> Found:
    """Room for so many labels and complex events."""
    return Found(np.empty(labels, dtype=np.int64), np.empty(events, dtype=np.int64))


def new_work(depth: int) -> Work:
    """Room for complex events of so many labels."""
    at = np.array([NONE, 0, 0, 0], dtype=np.int64)
    return Work(np.zeros((4 * depth, 2), dtype=np.int64), np.zeros(depth, dtype=np.int64), at)


def deeper(work: Work) -> Work:
    """The same work, with twice the room."""
    larger = new_work(2 * len(work.path))
    larger.stack[: len(work.stack)] = work.stack
    larger.path[len(work.path) :] = work.path
    larger.at[:] = work.at
    return larger


@lean_kernel
def enumerate_roots(arena: Arena, nodes: Ids, lows: Ids, limit: int, work: Work, found: Found, progress: Ids) -> int:
    """Writes the complex events under nodes[progress[ROOT]:] with a start of at least `lows`, root after root.

    limit       complex events of one root at most

    The delay between two is linear in the labels: at most three unions lie between two outputs, and no node without
    a start in the window is visited. A call continues where the last one stopped.
    """
    while progress[ROOT] < len(nodes):
        root = progress[ROOT]
        if work.at[NODE] == NONE:
            work.at[NODE], work.at[WAITING], work.at[DEPTH], work.at[LEFT_OVER] = nodes[root], 0, 0, limit
        status = _enumerate(arena, lows[root], work, found, progress)
        if status != DONE:
            return status
        work.at[NODE] = NONE
        progress[ROOT] = root + 1
    return DONE


@lean_part
def _enumerate(arena: Arena, low: int, work: Work, found: Found, progress: Ids) -> int:
    """Enumerates the rest of one root; saves its state when output or stack is full."""
    node, waiting, depth, left = work.at[NODE], work.at[WAITING], work.at[DEPTH], work.at[LEFT_OVER]
    number, written, status = progress[FOUND], progress[WRITTEN], DONE
    while left > 0:
        right = part(arena, node, RIGHT)
        if right >= 0:
            if top_of(arena, right) >= low:
                if waiting == len(work.stack):
                    status = WORK_FULL
                    break
                work.stack[waiting, 0], work.stack[waiting, 1] = right, depth
                waiting += 1
        elif right != BOTTOM:
            if depth == len(work.path):
                status = WORK_FULL
                break
            depth += 1
            work.path[len(work.path) - depth] = part(arena, node, LABEL)
        else:
            if number == len(found.ends) or written + depth > len(found.labels):
                status = OUTPUT_FULL
                break
            for label in range(depth):
                found.labels[written + label] = work.path[len(work.path) - depth + label]
            written += depth
            found.ends[number] = written
            number += 1
            left -= 1
            if waiting == 0:
                break
            waiting -= 1
            node, depth = work.stack[waiting, 0], work.stack[waiting, 1]
            continue
        node = part(arena, node, LEFT)
    progress[FOUND], progress[WRITTEN] = number, written
    work.at[NODE], work.at[WAITING], work.at[DEPTH], work.at[LEFT_OVER] = node, waiting, depth, left
    return status
