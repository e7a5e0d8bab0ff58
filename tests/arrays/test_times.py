"""Sums of times and durations stay in the range of times."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arrays.times import ENDLESS_NS, TIME_NS_MAX, TIME_NS_MIN, earlier, later, nearest_time, whole_periods

TIMES = st.one_of(
    st.integers(TIME_NS_MIN, TIME_NS_MAX), st.sampled_from([TIME_NS_MIN, TIME_NS_MAX, 0, 2**62, -(2**62)])
)
DURATIONS = st.one_of(st.integers(0, 2**63 - 1), st.just(ENDLESS_NS))


@given(st.lists(TIMES, min_size=1, max_size=4), DURATIONS)
def test_times_moved_beyond_the_range_are_its_ends(times: list[int], by: int) -> None:
    column = np.array(times, dtype=np.int64)
    assert later(column, by).tolist() == [later(time, by) for time in times] == [nearest_time(t + by) for t in times]
    assert (
        earlier(column, by).tolist() == [earlier(time, by) for time in times] == [nearest_time(t - by) for t in times]
    )
    if by < ENDLESS_NS:
        assert later(column, np.full_like(column, by)).tolist() == later(column, by).tolist()


@given(st.lists(TIMES, min_size=1, max_size=4), st.integers(-(2**63), 2**64), st.integers(10**6, 2**65))
def test_periods_are_counted_over_the_whole_range(times: list[int], origin: int, period: int) -> None:
    counted = whole_periods(origin, period, np.array(times, dtype=np.int64))
    assert counted.tolist() == [(time - origin) // period for time in times]
