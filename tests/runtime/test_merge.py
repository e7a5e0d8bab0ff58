from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaseq.runtime.merge import Merger
from spaseq.runtime.reorder import AFTER_ALL
from tests.runtime.plain_events import batch_of, events


def test_one_stream_is_given_out_up_to_its_watermark() -> None:
    merger = Merger(1)
    merger.push(0, batch_of([1, 2, 2]))
    assert events(merger.ready()) == [(1, "0:0"), (2, "0:1"), (2, "0:2")]
    merger.push(0, batch_of([2], first=3))
    assert events(merger.ready()) == [(2, "0:3")]


def test_several_streams_wait_for_the_slowest() -> None:
    merger = Merger(2)
    merger.push(0, batch_of([1, 5]))
    assert len(merger.ready()) == 0
    merger.push(1, batch_of([3], stream=1))
    assert events(merger.ready()) == [(1, "0:0")]
    merger.push(1, batch_of([9], first=1, stream=1))
    assert events(merger.ready()) == [(3, "1:0")]
    assert len(merger) == 2


def test_events_of_one_time_stand_by_stream_and_come_in_one_batch() -> None:
    merger = Merger(2)
    merger.push(1, batch_of([4, 4], stream=1))
    merger.push(0, batch_of([4]))
    assert len(merger.ready()) == 0
    merger.push(0, batch_of([4, 5], first=1))
    assert len(merger.ready()) == 0
    merger.push(1, batch_of([5], first=2, stream=1))
    batch = merger.ready()
    assert events(batch) == [(4, "0:0"), (4, "0:1"), (4, "1:0"), (4, "1:1")]
    assert batch.streams.tolist() == [0, 0, 1, 1]


def test_a_closed_stream_holds_nothing_back() -> None:
    merger = Merger(2)
    merger.push(0, batch_of([1, 5]))
    merger.close(1)
    assert merger.watermark_of(1) == AFTER_ALL
    assert events(merger.ready()) == [(1, "0:0")]
    merger.close(0)
    assert events(merger.ready()) == [(5, "0:1")]


def test_a_derived_stream_is_advanced_by_hand() -> None:
    merger = Merger(2)
    merger.push(0, batch_of([1, 2, 3]))
    merger.advance(1, 2)
    assert events(merger.ready()) == [(1, "0:0")]
    merger.push(1, batch_of([2], stream=1))
    merger.advance(1, 3)
    assert events(merger.ready()) == [(2, "0:1"), (2, "1:0")]


def test_closing_all_gives_out_the_rest() -> None:
    merger = Merger(2, delay_ns=100)
    merger.push(1, batch_of([7, 3], stream=1))
    merger.push(0, batch_of([5]))
    assert len(merger.ready()) == 0
    assert len(merger.live()) == 6
    merger.close_all()
    assert events(merger.ready()) == [(3, "1:1"), (5, "0:0"), (7, "1:0")]
    assert merger.live() == []


def test_each_stream_may_have_its_own_delay() -> None:
    merger = Merger(2, delay_ns=[0, 5])
    assert merger.push(0, batch_of([10, 8])).tolist() == [1]
    assert merger.push(1, batch_of([10, 8], stream=1)).tolist() == []


def test_pushing_to_a_closed_stream_is_our_bug() -> None:
    merger = Merger(1)
    merger.close(0)
    with pytest.raises(AssertionError, match="stream 0 is closed"):
        merger.push(0, batch_of([1]))


@given(
    st.lists(st.lists(st.integers(0, 25), max_size=25), min_size=1, max_size=3),
    st.integers(0, 6),
    st.data(),
)
def test_any_cut_of_the_input_gives_the_naive_merged_order(
    streams: list[list[int]], delay: int, data: st.DataObject
) -> None:
    expected = []
    for stream, times in enumerate(streams):
        on_time = [i for i, time in enumerate(times) if not i or max(times[:i]) - time <= delay]
        expected += [(times[i], stream, i) for i in on_time]
    merger = Merger(len(streams), delay)
    heads = [0] * len(streams)
    batches = []
    while open_streams := [s for s, times in enumerate(streams) if heads[s] < len(times)]:
        stream = data.draw(st.sampled_from(open_streams))
        size = data.draw(st.integers(1, 6))
        times = streams[stream][heads[stream] : heads[stream] + size]
        merger.push(stream, batch_of(times, heads[stream], stream))
        heads[stream] += len(times)
        if heads[stream] == len(streams[stream]) and data.draw(st.booleans()):
            merger.close(stream)
        batches.append(merger.ready())
    merger.close_all()
    batches.append(merger.ready())
    found = [event for batch in batches for event in events(batch)]
    assert found == [(time, f"{stream}:{i}") for time, stream, i in sorted(expected)]
    full = [batch for batch in batches if len(batch)]
    if len(streams) > 1:
        assert all(before.times[-1] < after.times[0] for before, after in pairwise(full))
