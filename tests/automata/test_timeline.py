"""Places of events: ranks, slots and sequence numbers, in one partition or many, however the input is cut."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from automata.plan.program import Window
from automata.slices.events import Events
from automata.slices.timeline import Timeline, window_ends, window_numbers

Event = tuple[int, int, frozenset[int]]
"""(time, stream, partitions)."""


@st.composite
def merged_events(draw: st.DrawFn) -> list[Event]:
    steps = draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.frozensets(st.integers(1, 3))), max_size=12)
    )
    time, events = 0, []
    for step, stream, partitions in steps:
        time += step
        events.append((time, stream, partitions))
    return sorted(events, key=lambda event: event[:2])


def naive(events: list[Event], partition: int) -> dict[int, tuple[int, int, int, bool]]:
    """event → (rank, slot, seq, tail), by counting."""
    inside = [number for number, event in enumerate(events) if partition in event[2]]
    times = sorted({events[number][0] for number in inside})
    places = {}
    for rank, number in enumerate(inside):
        time, stream, _ = events[number]
        together = [n for n in inside if events[n][:2] == (time, stream)]
        places[number] = (rank, times.index(time), together.index(number), together[-1] == number)
    return places


def found(events: list[Event], cuts: list[int], total: bool) -> dict[tuple[int, int], tuple[int, int, int, bool]]:
    timeline = Timeline(total)
    places = {}
    for begin, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
        part = events[begin:end]
        slice_ = Events(np.array([e[0] for e in part], np.int64), np.array([e[1] for e in part], np.int64))
        positions = timeline.advance(slice_)
        pairs = [(number, partition) for number, event in enumerate(part) for partition in sorted(event[2])]
        columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        got = timeline.places(slice_, columns[:, 0], columns[:, 1])
        rows = zip(got.events, got.partitions, got.ranks, got.slots, got.seqs, got.tails, strict=True)
        for event, partition, rank, slot, seq, tail in rows:
            places[int(positions[event]), int(partition)] = (int(rank), int(slot), int(seq), bool(tail))
    return places


@given(st.data())
def test_places_count_within_the_partition_wherever_whole_slots_are_cut(data: st.DataObject) -> None:
    events = data.draw(merged_events())
    borders = [n for n in range(1, len(events)) if events[n][0] != events[n - 1][0]]
    cuts = sorted(data.draw(st.lists(st.sampled_from(borders), unique=True))) if borders else []
    expected = {(n, p): place for p in (1, 2, 3) for n, place in naive(events, p).items()}
    assert found(events, cuts, total=False) == expected


@given(st.data())
def test_in_a_total_order_every_event_is_its_own_slot(data: st.DataObject) -> None:
    events = [(time, 0, partitions) for time, _, partitions in data.draw(merged_events())]
    cuts = sorted(data.draw(st.lists(st.integers(1, max(1, len(events) - 1)), unique=True))) if len(events) > 1 else []
    expected = {(n, p): (place[0], place[0], 0, True) for p in (1, 2, 3) for n, place in naive(events, p).items()}
    assert found(events, cuts, total=True) == expected


@given(st.integers(-(10**6), 10**6), st.integers(1, 1000), st.booleans(), st.integers(-1000, 1000))
def test_a_tumbling_window_is_half_open_and_ends_where_the_next_begins(
    time: int, size: int, anchored: bool, start: int
) -> None:
    window = Window(size, in_events=False, sliding=False, start=start, anchored=anchored)
    times = np.array([time], dtype=np.int64)
    number = window_numbers(window, times, times)
    if anchored and time < start:
        assert number.tolist() == [-1]
    else:
        (end,) = window_ends(window, number).tolist()
        assert end - size <= time < end
        assert (end - start) % size == 0


@given(merged_events(), st.lists(st.integers(0, 9), min_size=1, max_size=3), st.booleans())
def test_timelines_that_stand_elsewhere_share_what_is_known_of_a_stretch(
    events: list[Event], starts: list[int], total: bool
) -> None:
    times, streams = ([event[column] for event in events] for column in (0, 1))
    slice_ = Events(np.array(times, np.int64), np.array(streams, np.int64))
    everything = np.arange(len(events), dtype=np.int64)
    for start in starts:
        shared, own = Timeline(total), Timeline(total)
        for timeline in (shared, own):
            timeline.begin_at(start)
        found = shared.all_places(slice_)
        expected = own.places(Events(slice_.times, slice_.streams), everything, np.zeros_like(everything))
        for name in ("events", "ranks", "slots", "seqs", "tails"):
            assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
        assert (shared.rank(0), shared.slot(0)) == (own.rank(0), own.slot(0))
