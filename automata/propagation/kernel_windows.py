"""The windows that a time or position is in, for kernels: no sum, product or difference leaves int64.

Window `n` has the places from `start + n * hop` on, `size` of them.
"""

from __future__ import annotations

from arrays.jit import lean_part
from arrays.times import AFTER_ALL, TIME_NS_MIN


@lean_part
def newest_window(start: int, hop: int, where: int) -> int:
    """The last window that has begun at a place."""
    number = where // hop - start // hop
    return number - 1 if where % hop < start % hop else number


@lean_part
def oldest_window(start: int, size: int, hop: int, where: int) -> int:
    """The first window that has not ended at a place; AFTER_ALL: every one has."""
    if where == AFTER_ALL:
        return AFTER_ALL
    ended = newest_window(start, hop, where) - size // hop
    return ended if _into(start, hop, where) < size % hop else ended + 1


@lean_part
def next_change(start: int, size: int, hop: int, where: int) -> int:
    """The first place after another one at which a window begins or ends; AFTER_ALL: none is a time."""
    into, ends = _into(start, hop, where), size % hop
    passes = ends - into if into < ends else hop - into
    return where + passes if where < AFTER_ALL - passes else AFTER_ALL


@lean_part
def reaches_back(where: int, size: int) -> int:
    """The place so long before another one, or the first time."""
    return max(where, TIME_NS_MIN + size) - size


@lean_part
def _into(start: int, hop: int, where: int) -> int:
    """The distance of a place from the beginning of the last window that has begun."""
    return (where % hop - start % hop) % hop
