"""Graph names by position."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.slice_events import NamedEvents
from spaseq.runtime.state.graph_names import GraphNames

SLICES = st.lists(st.sets(st.integers(0, 40), max_size=40).map(sorted), max_size=4)


@given(SLICES, st.sets(st.integers(200, 240)), st.integers(0, 240), st.data())
def test_names_of_events_evaluated_row_at_a_time_stand_among_those_of_slices(
    slices: list[list[int]], alone: set[int], before: int, data: st.DataObject
) -> None:
    names = GraphNames()
    for number, events in enumerate(slices):
        names.add(41 * number, NamedEvents(events, [f"urn:{41 * number + event}" for event in events]))
    for position in sorted(alone):
        names.add_one(position, f"urn:{position}")
    names.forget(before)
    added = {41 * number + event for number, events in enumerate(slices) for event in events} | alone
    kept = sorted(position for position in added if position >= before)
    assert names.since(before) == [(p, f"urn:{p}") for p in kept]
    assert not {p for p, _ in names.since(0)} & {p for p in alone if p < before}
    wanted = sorted(data.draw(st.sets(st.sampled_from(kept)))) if kept else []
    assert names.of(wanted) == names.at(np.array(wanted, dtype=np.int64)) == [f"urn:{p}" for p in wanted]


@given(SLICES, st.data())
def test_names_of_many_positions_are_those_of_each(slices: list[list[int]], data: st.DataObject) -> None:
    names = GraphNames()
    for number, events in enumerate(slices):
        names.add(41 * number, NamedEvents(events, [f"urn:{number}:{event}" for event in events]))
    known = dict(names.since(0))
    wanted = sorted(data.draw(st.sets(st.sampled_from(sorted(known))))) if known else []
    assert names.at(np.array(wanted, dtype=np.int64)) == [known[position] for position in wanted]
    unknown = sorted({*wanted, data.draw(st.integers(-1, 41 * len(slices) + 1).filter(lambda p: p not in known))})
    with pytest.raises(KeyError):
        names.at(np.array(unknown, dtype=np.int64))


@given(SLICES, st.integers(-1, 170))
def test_what_a_snapshot_keeps_is_every_name_from_its_position_on(slices: list[list[int]], position: int) -> None:
    names = GraphNames()
    for number, events in enumerate(slices):
        names.add(41 * number, NamedEvents(events, [f"urn:{number}:{event}" for event in events]))
    kept = [item for item in names.since(0) if item[0] >= position]
    assert names.since(position) == kept
    names.forget(position)
    assert names.since(position) == kept
