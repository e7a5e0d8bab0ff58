"""Streams as some queries read them: in the order of their FROM clauses, merged once for all of these queries."""

from __future__ import annotations

from typing import Any, NamedTuple

from sparql_gpm.columns import EventBatch, Ids, RowEvent
from sparql_gpm.shared import Slice
from spaseq.runtime.merge import Merger


class Turn(NamedTuple):
    """What a feed gives out at a time.

    slice     the next events of the merged order, possibly none
    watermark   no event before this time is to come
    """

    slice_: Slice
    watermark: int


class Feed:
    """The merged order of some streams.

    iris        of the streams, in the order of FROM
    open        those of them that have not been closed
    untouched   nothing has come yet: a new query may still join
    """

    def __init__(self, iris: tuple[str, ...], delay_ns: int) -> None:
        self.iris = iris
        self.open = set(iris)
        self.merger = Merger(len(iris), delay_ns)
        self.untouched = True
        self._position_of = {iri: position for position, iri in enumerate(iris)}
        self._next: Slice | None = None

    def push(self, iri: str, batch: EventBatch) -> Ids:
        """Events of a stream as they arrived; gives the indices of the late ones."""
        self.untouched = False
        self._give_back()
        return self.merger.push(self._position_of[iri], batch)

    def push_event(self, iri: str, event: RowEvent) -> bool:
        """`push` of one event: whether it is late; what need not wait for anything is given out as it is."""
        if self._next is None and self.merger.passes(event.time):
            self.untouched = False
            self._next = Slice(event)
            return False
        return len(self.push(iri, event.batch)) > 0

    def advance(self, iri: str, time: int) -> None:
        """Nothing before `time` will come on the stream any more."""
        self.untouched = False
        self.merger.advance(self._position_of[iri], time)

    def close(self, iri: str) -> None:
        """Nothing at all will come on the stream any more."""
        self.untouched = False
        self.open.discard(iri)
        self.merger.close(self._position_of[iri])

    def close_all(self) -> None:
        """Nothing is to come on any stream."""
        self.untouched = False
        self.open.clear()
        self.merger.close_all()

    def turn(self) -> Turn:
        """Takes out what can be given out now."""
        slice_, self._next = self._next, None
        return Turn(Slice(self.merger.ready()) if slice_ is None else slice_, self.merger.watermark)

    def _give_back(self) -> None:
        """The event that should have been given out waits with those to come: another reader has failed before."""
        if self._next is not None:
            self.merger.push(0, self._next.batch)
            self._next = None

    def watermark_of(self, iri: str) -> int:
        """The time before which nothing will come on a stream any more."""
        return self.merger.watermark_of(self._position_of[iri])

    def snapshot(self) -> list[Any]:
        """What waits, and which streams are open; see spaseq.runtime.snapshot."""
        return [sorted(self.open), self.untouched, self.merger.snapshot()]

    def restore(self, state: list[Any]) -> None:
        """Go on from there."""
        still_open, self.untouched, waiting = state
        self.open = set(still_open)
        self.merger.restore(waiting)

    def same_from_now_on(self, other: Feed) -> bool:
        """Whether both will give out the same whatever comes."""
        return self is other or (self.iris == other.iris and self.merger.same_from_now_on(other.merger))
