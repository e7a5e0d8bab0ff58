"""Columns of numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from arrays.columns import places_of


@settings(deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.integers(-4, 4), st.integers(-(2**62), 2**62)), max_size=12), st.integers(1, 3))
def test_places_are_those_among_the_distinct_numbers(numbers: list[int], times: int) -> None:
    distinct, places = places_of(np.repeat(np.array(numbers, dtype=np.int64), times))
    assert distinct.tolist() == sorted(set(numbers))
    assert [distinct[place] for place in places] == [number for number in numbers for _ in range(times)]
