"""The order in which the relations of a pattern are joined: by variables, by events, and only then as a product."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import sparql_gpm.matching.bgp
from sparql_gpm.columns import EventBatch
from sparql_gpm.matching.bgp import join_all
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.frames import Frames
from sparql_gpm.relations.join import Keep, join
from sparql_gpm.relations.relation import Relation

EVENTS, HOUSES = 500, 40


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_what_stands_in_the_same_events_is_joined_before_what_stands_in_all(
    order: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def counting(left: Relation, right: Relation, keep: Keep | None = None) -> Relation:
        found = join(left, right, keep)
        made.append(len(found))
        return found

    monkeypatch.setattr(sparql_gpm.matching.bgp, "join", counting)
    events = np.arange(EVENTS, dtype=np.int64)
    fuel = Relation(EVENTS, events, {})  # :Pw :source "fuel": it binds nothing, and is the smallest
    where = Relation(EVENTS + 1, np.append(events, EVENTS), {"house": np.arange(EVENTS + 1) % HOUSES + 1})
    city = Relation(HOUSES, None, {"house": np.arange(HOUSES) + 1, "city": np.arange(HOUSES) + 100})
    relations = (fuel, where, city)
    found = join_all([relations[number] for number in order], (), Frames(BatchView(EventBatch.empty())))
    assert len(found) == EVENTS
    assert (found.columns["city"] == found.columns["house"] + 99).all()
    assert max(made) <= EVENTS + 1
