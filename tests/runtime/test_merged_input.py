from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrays.times import AFTER_ALL
from sparql_gpm.columns import EventBatch, RowEvent
from spaseq.runtime.order.merged_input import MergedInput
from tests.runtime.plain_events import batch_of, events


def merged_input(streams: int, delay_ns: int = 0) -> MergedInput:
    """So many streams, whose IRIs are their numbers."""
    return MergedInput(tuple(map(str, range(streams))), delay_ns)


def released(merged: MergedInput) -> EventBatch:
    """The events that can be released."""
    return merged.release().batch


def test_one_stream_is_given_out_up_to_its_watermark() -> None:
    merged = merged_input(1)
    merged.push("0", batch_of([1, 2, 2]))
    assert events(released(merged)) == [(1, "0:0"), (2, "0:1"), (2, "0:2")]
    merged.push("0", batch_of([2], first=3))
    assert events(released(merged)) == [(2, "0:3")]


def test_several_streams_wait_for_the_slowest() -> None:
    merged = merged_input(2)
    merged.push("0", batch_of([1, 5]))
    assert len(released(merged)) == 0
    merged.push("1", batch_of([3], stream=1))
    assert events(released(merged)) == [(1, "0:0")]
    merged.push("1", batch_of([9], first=1, stream=1))
    assert events(released(merged)) == [(3, "1:0")]
    assert {int(i) for column in merged.live_ids() for i in column} == {2, 1002}


def test_events_of_one_time_stand_by_stream_and_come_in_one_batch() -> None:
    merged = merged_input(2)
    merged.push("1", batch_of([4, 4], stream=1))
    merged.push("0", batch_of([4]))
    assert len(released(merged)) == 0
    merged.push("0", batch_of([4, 5], first=1))
    assert len(released(merged)) == 0
    merged.push("1", batch_of([5], first=2, stream=1))
    batch = released(merged)
    assert events(batch) == [(4, "0:0"), (4, "0:1"), (4, "1:0"), (4, "1:1")]
    assert batch.streams.tolist() == [0, 0, 1, 1]


def test_a_closed_stream_holds_nothing_back() -> None:
    merged = merged_input(2)
    merged.push("0", batch_of([1, 5]))
    merged.close("1")
    assert merged.watermark_of("1") == AFTER_ALL
    assert events(released(merged)) == [(1, "0:0")]
    merged.close("0")
    assert events(released(merged)) == [(5, "0:1")]


def test_a_derived_stream_is_advanced_by_hand() -> None:
    merged = merged_input(2)
    merged.push("0", batch_of([1, 2, 3]))
    merged.advance("1", 2)
    assert events(released(merged)) == [(1, "0:0")]
    merged.push("1", batch_of([2], stream=1))
    merged.advance("1", 3)
    assert events(released(merged)) == [(2, "0:1"), (2, "1:0")]


def test_closing_all_gives_out_the_rest() -> None:
    merged = merged_input(2, delay_ns=100)
    merged.push("1", batch_of([7, 3], stream=1))
    merged.push("0", batch_of([5]))
    assert len(released(merged)) == 0
    assert len(merged.live_ids()) == 6
    merged.close_all()
    assert events(released(merged)) == [(3, "1:1"), (5, "0:0"), (7, "1:0")]
    assert merged.live_ids() == []


def test_pushing_to_a_closed_stream_is_our_bug() -> None:
    merged = merged_input(1)
    merged.close("0")
    with pytest.raises(AssertionError, match="stream 0 is closed"):
        merged.push("0", batch_of([1]))


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
    merged = merged_input(len(streams), delay)
    heads = [0] * len(streams)
    batches = []
    while open_streams := [s for s, times in enumerate(streams) if heads[s] < len(times)]:
        stream = data.draw(st.sampled_from(open_streams))
        size = data.draw(st.integers(1, 6))
        times = streams[stream][heads[stream] : heads[stream] + size]
        merged.push(str(stream), batch_of(times, heads[stream], stream))
        heads[stream] += len(times)
        if heads[stream] == len(streams[stream]) and data.draw(st.booleans()):
            merged.close(str(stream))
        batches.append(released(merged))
    merged.close_all()
    batches.append(released(merged))
    found = [event for batch in batches for event in events(batch)]
    assert found == [(time, f"{stream}:{i}") for time, stream, i in sorted(expected)]
    full = [batch for batch in batches if len(batch)]
    if len(streams) > 1:
        assert all(before.times[-1] < after.times[0] for before, after in pairwise(full))


def test_an_event_that_was_not_taken_out_is_in_the_next_slice() -> None:
    """As where another query has failed before."""
    merged = merged_input(1)
    assert not merged.push_event("0", RowEvent(1, 0, "urn:e1", [(1, 2, 3)]))
    assert not merged.push_event("0", RowEvent(2, 0, "urn:e2", [(1, 2, 4)]))
    batch = released(merged)
    assert list(batch.names) == ["urn:e1", "urn:e2"]
    assert batch.objects.tolist() == [3, 4]
    assert len(merged.release()) == 0


def test_an_event_that_was_not_taken_out_keeps_its_terms_and_is_in_the_snapshot() -> None:
    merged, restored = merged_input(1), merged_input(1)
    merged.push_event("0", RowEvent(1, 0, "urn:e1", [(1, 2, 3)]))
    assert [column.tolist() for column in merged.live_ids()] == [[1], [2], [3]]
    merged.push_event("0", RowEvent(1, 0, "urn:e1", [(1, 2, 3)]))
    restored.restore(merged.snapshot())
    assert list(released(restored).names) == ["urn:e1", "urn:e1"]


@given(st.data())
def test_events_pushed_alone_come_in_the_same_order_as_in_batches(data: st.DataObject) -> None:
    """Whatever is late, whichever streams are advanced and closed, and however the two ways are mixed."""
    count, delay = data.draw(st.integers(1, 4)), data.draw(st.sampled_from((0, 0, 3)))
    alone, together = merged_input(count, delay), merged_input(count, delay)
    for number in range(data.draw(st.integers(0, 24))):
        stream, time = data.draw(st.integers(0, count - 1)), number // 2 + data.draw(st.integers(0, 4))
        iri, move = str(stream), data.draw(st.integers(0, 9))
        if iri not in alone.open:
            continue
        if move == 0:
            alone.close(iri), together.close(iri)
        elif move == 1:
            alone.advance(iri, time), together.advance(iri, time)
        else:
            batch = batch_of([time], first=number, stream=stream)
            late = len(together.push(iri, batch)) > 0
            (event,) = RowEvent.each_of(batch)
            assert (alone.push_event(iri, event) if move > 2 else len(alone.push(iri, batch)) > 0) == late
        assert alone.watermark == together.watermark
        assert events(released(alone)) == events(released(together))
        if move == 9:
            assert alone.same_from_now_on(together)
            other = merged_input(count, delay)
            other.restore(alone.snapshot())
            alone = other
    alone.close_all(), together.close_all()
    assert events(released(alone)) == events(released(together))
