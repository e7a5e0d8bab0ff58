"""The range of times: int64 nanoseconds since the epoch, what lies outside of it, and sums that stay in it."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]

BEFORE_ALL, AFTER_ALL = -(2**63), 2**63 - 1
"""The ends of int64: before and after every time. "None yet", "for ever" and the like are one of them."""
TIME_NS_MIN, TIME_NS_MAX = BEFORE_ALL + 1, AFTER_ALL - 1
"""The first and the last time."""
ENDLESS_NS = 2**64
"""A duration longer than from any time to any other. It is no int64."""


@overload
def later(times: int, by: int) -> int: ...
@overload
def later(times: Column, by: int | Column) -> Column: ...
def later(times: Any, by: Any) -> Any:
    """The times moved on by a duration that is not negative; the last time where that would be after it."""
    if isinstance(by, int):
        if isinstance(times, int):
            return min(times + by, TIME_NS_MAX)
        if by > AFTER_ALL:
            return np.full_like(times, TIME_NS_MAX)
    return np.minimum(times, TIME_NS_MAX - by) + by


@overload
def earlier(times: int, by: int) -> int: ...
@overload
def earlier(times: Column, by: int | Column) -> Column: ...
def earlier(times: Any, by: Any) -> Any:
    """The times moved back by a duration that is not negative; the first time where that would be before it."""
    if isinstance(by, int):
        if isinstance(times, int):
            return max(times - by, TIME_NS_MIN)
        if by > AFTER_ALL:
            return np.full_like(times, TIME_NS_MIN)
    return np.maximum(times, TIME_NS_MIN + by) - by


def nearest_time(moment: int) -> int:
    """The time itself, or the end of the range on its side: windows begin and end outside of it, too."""
    return min(max(moment, TIME_NS_MIN), TIME_NS_MAX)


def whole_periods(origin: int, period: int, times: Column) -> Column:
    """The periods from `origin` to each time, rounded down; int64 may hold neither a difference nor `period`."""
    if period > AFTER_ALL:
        first, last = ((end - origin) // period for end in (TIME_NS_MIN, TIME_NS_MAX))
        begins = np.array([origin + number * period for number in range(first + 1, last + 1)], dtype=np.int64)
        return first + np.searchsorted(begins, times, side="right")
    passed, into = divmod(origin, period)
    numbers = times // period - passed
    return numbers - (times % period < into) if into else numbers
