"""The values that every layer shares: columns of ids and masks, and matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeGuard, TypeVar

from arrays.columns import NONE, UNBOUND, Ids, Mask

__all__ = ["NONE", "UNBOUND", "Ids", "Mask", "Match", "PartialMatch", "implements"]

_Protocol = TypeVar("_Protocol")
_IMPLEMENTS: dict[tuple[type, object], bool] = {}


def implements(value: object, protocol: Callable[..., _Protocol]) -> TypeGuard[_Protocol]:
    """`isinstance` of a runtime-checkable protocol, looked up once for each class: each look-up costs 60 us."""
    key = type(value), protocol
    if key not in _IMPLEMENTS:
        _IMPLEMENTS[key] = isinstance(value, protocol)  # type: ignore[arg-type]
    return _IMPLEMENTS[key]


class Match(NamedTuple):
    """One match.

    entries     (symbol, position of the event, number of the solution), by position and symbol; the solutions of a
                symbol in an event are numbered from 0, in the order in which the evaluator got them
    registers   the value of each variable, seen from outside
    outputs     the values of `Program.outputs`
    first, last positions; start, time: their times in nanoseconds
    partition   its partition, an opaque number
    decided     the event time at which it was decided, where that is not the time of its last event
    """

    entries: tuple[tuple[int, int, int], ...]
    registers: tuple[int, ...]
    outputs: tuple[int, ...]
    first: int
    last: int
    start: int
    time: int
    partition: int
    decided: int | None = None


class PartialMatch(NamedTuple):
    """A partial match that waits at a position; of one inside ALL( ) what its own member has taken.

    entries, registers   as of a Match; registers as seen from its place
    until                the last time at which an event may extend or remove it; None: no time tells
    """

    entries: tuple[tuple[int, int, int], ...]
    registers: tuple[int, ...]
    until: int | None
