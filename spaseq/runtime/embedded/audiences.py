"""The audiences of a network, by the streams that they read."""

from __future__ import annotations

from typing import Any

from arrays.times import AFTER_ALL, BEFORE_ALL
from spaseq.runtime.embedded.audience import Audience
from spaseq.runtime.order.merged_input import MergedInput


class Audiences:
    """All audiences. Queries that read the same streams share one, unless their inputs are in different states.

    delay_ns    by how much an event may be late on its stream
    by_iri      those that read a stream, at least one
    apart       lists of streams that several audiences read, which may be united
    """

    def __init__(self, delay_ns: int) -> None:
        self._delay = delay_ns
        self.by_iri: dict[str, list[Audience]] = {}
        self._by_streams: dict[tuple[str, ...], list[Audience]] = {}
        self.apart: set[tuple[str, ...]] = set()

    def open_to_new(self, iris: tuple[str, ...]) -> Audience:
        """The audience of the streams that a new query joins: nothing has arrived there yet."""
        known = (each for each in self._by_streams.get(iris, ()) if each.input.untouched and not each.paused)
        return next(known, None) or self._add(MergedInput(iris, self._delay))

    def restored(self, iris: tuple[str, ...], state: Any) -> Audience:
        """A new audience, its input as in a snapshot."""
        merged = MergedInput(iris, self._delay)
        merged.restore(state)
        return self._add(merged)

    def remove(self, audience: Audience) -> None:
        """Takes out an audience that nobody is in any more."""
        iris = audience.input.iris
        for iri in dict.fromkeys(iris):
            self.by_iri[iri].remove(audience)
            if not self.by_iri[iri]:
                del self.by_iri[iri]
        self._by_streams[iris].remove(audience)
        if not self._by_streams[iris]:
            del self._by_streams[iris]
        if len(self._by_streams.get(iris, ())) < 2:
            self.apart.discard(iris)

    def clear(self) -> None:
        """Forgets all of them."""
        self.by_iri.clear()
        self._by_streams.clear()
        self.apart.clear()

    def newest(self, iri: str) -> int | None:
        """The largest time of an event of a stream; None if there is none."""
        newest = max((each.input.newest(iri) for each in self.by_iri.get(iri, ())), default=BEFORE_ALL)
        return None if newest == BEFORE_ALL else newest

    def slowest(self, iri: str) -> int:
        """The time before which no event will be released to any query that reads a stream."""
        return min((each.input.watermark for each in self.by_iri.get(iri, ())), default=AFTER_ALL)

    def unite(self) -> None:
        """Lets queries that began at different times share an input once theirs are in the same state."""
        for iris in list(self.apart):
            left: list[Audience] = []
            for each in list(self._by_streams[iris]):
                others = () if each.paused else (other for other in left if not other.paused)
                same = next((other for other in others if other.input.same_from_now_on(each.input)), None)
                if same is None:
                    left.append(each)
                    continue
                kept, gone = (same, each) if len(same.readers) >= len(each.readers) else (each, same)
                kept.absorb(gone)
                left[left.index(same)] = kept
                self.remove(gone)

    def _add(self, merged: MergedInput) -> Audience:
        audience = Audience(merged)
        for iri in dict.fromkeys(merged.iris):
            self.by_iri.setdefault(iri, []).append(audience)
        same = self._by_streams.setdefault(merged.iris, [])
        same.append(audience)
        if len(same) > 1:
            self.apart.add(merged.iris)
        return audience
