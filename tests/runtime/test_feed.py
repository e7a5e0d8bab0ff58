"""An event that should have been given out, and was not because another query failed, comes with the next."""

from __future__ import annotations

from sparql_gpm.columns import RowEvent
from spaseq.runtime.feed import Feed

IRI = "http://ex.org/s"


def test_an_event_that_no_turn_has_taken_out_is_in_the_next_turn() -> None:
    feed = Feed((IRI,), 0)
    assert not feed.push_event(IRI, RowEvent(1, 0, "urn:e1", [(1, 2, 3)]))
    assert not feed.push_event(IRI, RowEvent(2, 0, "urn:e2", [(1, 2, 4)]))
    batch = feed.turn().slice_.batch
    assert list(batch.names) == ["urn:e1", "urn:e2"]
    assert batch.objects.tolist() == [3, 4]
    assert len(feed.turn().slice_) == 0
