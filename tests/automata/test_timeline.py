"""Places of events: ranks, slots and sequence numbers, in one partition or many, however the input is cut."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arrays.times import AFTER_ALL, TIME_NS_MAX, TIME_NS_MIN
from automata.plan.program import Window
from automata.propagation import kernel_windows
from automata.propagation.kernel_windows import _into, newest_window, next_change, oldest_window
from automata.slices.events import Events
from automata.slices.timeline import Timeline, deadline, in_window, next_window, window_numbers

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
        end = int(deadline(window, times, times, number)[0]) + 1
        assert end - size <= time < end
        assert (end - start) % size == 0


ANYWHERE = st.one_of(
    st.integers(TIME_NS_MIN, TIME_NS_MAX), st.integers(0, 9).map(lambda n: TIME_NS_MIN + n),
    st.integers(0, 9).map(lambda n: TIME_NS_MAX - n), st.integers(-9, 9), st.integers(-9, 9).map(lambda n: n - 2**62),
)  # fmt: skip


@given(
    st.lists(ANYWHERE, min_size=2, max_size=4),
    st.one_of(st.integers(10**6, 2**63 - 1), st.sampled_from([10**9, 2**62, 2**63 - 1])),
    st.none() | st.integers(0, 2**63 - 1),
    st.none() | ANYWHERE,
)
def test_windows_are_told_wherever_times_are(times: list[int], size: int, gap: int | None, start: int | None) -> None:
    """As Python's integers have it, which do not end; `gap`: to the next window of a lane."""
    window = Window(size, False, False, start or 0, start is not None, None if gap is None else size + gap)
    column = np.array(times, dtype=np.int64)
    numbers = window_numbers(window, column, column)
    whole = [divmod(time - window.start, window.period) for time in times]
    inside = [into < size and (number >= 0 or start is None) for number, into in whole]
    assert (numbers >= 0).tolist() == inside
    lasts = deadline(window, column, column, numbers).tolist()
    for one in np.flatnonzero(inside).tolist():
        last = min(window.start + whole[one][0] * window.period + size - 1, TIME_NS_MAX)
        alone = deadline(window, times[one], 0, int(numbers[one]))
        assert lasts[one] == alone == last
        same = [other and whole[one][0] == number for other, (number, _) in zip(inside, whole, strict=True)]
        assert in_window(window, column, column[one], column[one], numbers[one : one + 1]).tolist() == same
        if start is None and gap is None:
            assert next_window(window, times[one] - 1) <= numbers[one] <= next_window(window, times[one])


@given(ANYWHERE, ANYWHERE, st.integers(10**6, 2**63 - 1), st.integers(10**6, 2**63 - 1))
def test_kernels_tell_windows_wherever_times_are(where: int, start: int, size: int, hop: int) -> None:
    newest, oldest, change = (getattr(each, "py_func", each) for each in (newest_window, oldest_window, next_change))
    with patch.multiple(kernel_windows, newest_window=newest, _into=getattr(_into, "py_func", _into)):
        assert newest(start, hop, where) == (where - start) // hop
        assert oldest(start, size, hop, where) == (where - start - size) // hop + 1
        later = change(start, size, hop, where)
        ends = (hop - (where - start - shift) % hop for shift in (0, size))
        assert later == min(where + min(ends), AFTER_ALL)


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
