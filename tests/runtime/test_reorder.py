from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrays.times import BEFORE_ALL
from spaseq.errors import RunError
from spaseq.runtime.order import reorder
from spaseq.runtime.order.reorder import ReorderBuffer
from tests.runtime.plain_events import batch_of, events


def test_an_event_exactly_at_the_bound_is_not_late() -> None:
    buffer = ReorderBuffer(delay_ns=10)
    assert buffer.push(batch_of([100, 90, 89, 100])).tolist() == [2]


def test_without_a_delay_whatever_goes_back_in_time_is_late() -> None:
    buffer = ReorderBuffer()
    assert buffer.push(batch_of([5, 5, 4, 6, 5])).tolist() == [2, 4]


def test_a_late_event_does_not_move_the_watermark() -> None:
    buffer = ReorderBuffer(delay_ns=1)
    buffer.push(batch_of([10]))
    assert buffer.push(batch_of([3])).tolist() == [0]
    assert buffer.watermark == 9


def test_nothing_seen_means_no_watermark() -> None:
    assert ReorderBuffer(delay_ns=5).watermark == BEFORE_ALL


def test_a_delay_beyond_the_range_of_times_does_not_wrap() -> None:
    buffer = ReorderBuffer(delay_ns=2**63 - 1)
    assert buffer.push(batch_of([-(2**62), -(2**63) + 1])).tolist() == []
    assert buffer.watermark == BEFORE_ALL


def test_released_events_stand_in_the_order_of_time_and_arrival() -> None:
    buffer = ReorderBuffer(delay_ns=10)
    buffer.push(batch_of([5, 3, 5]))
    buffer.push(batch_of([3, 4], first=3))
    released = buffer.release(5, inclusive=False)
    assert events(released) == [(3, "0:1"), (3, "0:3"), (4, "0:4")]
    assert events(buffer.release(5, inclusive=True)) == [(5, "0:0"), (5, "0:2")]
    assert len(buffer) == 0


def test_an_advanced_watermark_makes_earlier_events_late() -> None:
    buffer = ReorderBuffer(delay_ns=10)
    buffer.advance(7)
    assert buffer.push(batch_of([6, 7])).tolist() == [0]
    buffer.advance(3)
    assert buffer.watermark == 7


def test_waiting_events_keep_their_terms_alive() -> None:
    buffer = ReorderBuffer(delay_ns=10)
    buffer.push(batch_of([1, 2, 3, 4]))
    buffer.release(2, inclusive=True)
    assert {int(i) for column in buffer.live_ids() for i in column} == {3}


def test_too_many_waiting_events_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reorder, "WAITING_EVENTS_MAX", 3)
    buffer = ReorderBuffer(delay_ns=100)
    buffer.push(batch_of([1, 2, 3]))
    with pytest.raises(RunError, match="wait in the reorder buffer") as raised:
        buffer.push(batch_of([4]))
    assert "--max-delay" in raised.value.hint


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(0, 10), st.lists(st.integers(0, 40), max_size=6))
def test_late_events_are_those_of_the_definition_however_the_pushes_are_cut(
    times: list[int], delay: int, cuts: list[int]
) -> None:
    expected = [i for i, time in enumerate(times) if i and max(times[:i]) - time > delay]
    buffer = ReorderBuffer(delay)
    bounds = sorted({0, len(times), *(cut for cut in cuts if cut < len(times))})
    late: list[int] = []
    for begin, end in pairwise(bounds):
        late += [begin + index for index in buffer.push(batch_of(times[begin:end], begin)).tolist()]
    assert late == expected
    admitted = [(time, f"0:{i}") for i, time in enumerate(times) if i not in expected]
    assert events(buffer.release(2**62, inclusive=True)) == sorted(admitted, key=lambda event: event[0])
