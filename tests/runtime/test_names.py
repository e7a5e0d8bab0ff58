"""Graph names by position."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.shared import NamedEvents
from spaseq.runtime.names import Names

STRETCHES = st.lists(st.sets(st.integers(0, 40), max_size=40).map(sorted), max_size=4)


@given(STRETCHES, st.sets(st.integers(200, 240)), st.integers(0, 240), st.data())
def test_names_of_single_events_stand_among_those_of_stretches(
    stretches: list[list[int]], alone: set[int], before: int, data: st.DataObject
) -> None:
    names = Names()
    for number, events in enumerate(stretches):
        names.add(41 * number, NamedEvents(events, [f"urn:{41 * number + event}" for event in events]))
    for position in sorted(alone):
        names.add_one(position, f"urn:{position}")
    names.forget(before)
    assert list(names) == sorted(names)
    assert len(names) == len(list(names))
    assert {p for p in alone if p >= before} <= set(names)
    assert not any(p in names for p in alone if p < before)
    assert names.since(before) == [(p, f"urn:{p}") for p in names if p >= before]
    wanted = sorted(data.draw(st.sets(st.sampled_from(list(names))))) if len(names) else []
    assert names.of(wanted) == names.at(np.array(wanted, dtype=np.int64)) == [f"urn:{p}" for p in wanted]


@given(STRETCHES, st.data())
def test_names_of_many_positions_are_those_of_each(stretches: list[list[int]], data: st.DataObject) -> None:
    names = Names()
    for number, events in enumerate(stretches):
        names.add(41 * number, NamedEvents(events, [f"urn:{number}:{event}" for event in events]))
    known = dict(names)
    wanted = sorted(data.draw(st.sets(st.sampled_from(sorted(known))))) if known else []
    assert names.at(np.array(wanted, dtype=np.int64)) == [known[position] for position in wanted]
    unknown = sorted({*wanted, data.draw(st.integers(-1, 41 * len(stretches) + 1).filter(lambda p: p not in known))})
    with pytest.raises(KeyError):
        names.at(np.array(unknown, dtype=np.int64))


@given(STRETCHES, st.integers(-1, 170))
def test_what_a_snapshot_keeps_is_every_name_from_its_position_on(stretches: list[list[int]], position: int) -> None:
    names = Names()
    for number, events in enumerate(stretches):
        names.add(41 * number, NamedEvents(events, [f"urn:{number}:{event}" for event in events]))
    assert names.since(position) == [item for item in names.items() if item[0] >= position]
    names.forget(position)
    assert names.since(position) == [item for item in names.items() if item[0] >= position]
