"""The names of many graphs in one text: a name becomes a string on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import overload

import numpy as np
from numpy.typing import NDArray

from arrays.columns import Ids, in_ranges
from sparql_gpm.numbered_names import NumberedNames

_UNUSED_FACTOR = 2
"""Text that is so many times as long as its names is compacted before texts are joined."""


class GraphNames(Sequence[str]):
    """Names inside a text in ASCII, at starts[i]:stops[i]; both int64[n]."""

    def __init__(self, text: bytes, starts: Ids, stops: Ids) -> None:
        self._text, self._starts, self._stops = text, starts, stops

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> GraphNames: ...
    def __getitem__(self, index: int | slice) -> str | GraphNames:
        if isinstance(index, slice):
            return GraphNames(self._text, self._starts[index], self._stops[index])
        return self._text[self._starts.item(index) : self._stops.item(index)].decode("ascii")

    def __iter__(self) -> Iterator[str]:
        text = self._text.decode("ascii")
        for start, stop in zip(self._starts.tolist(), self._stops.tolist(), strict=True):
            yield text[start:stop]

    @staticmethod
    def between(text: NDArray[np.uint8], starts: Ids, stops: Ids) -> GraphNames:
        """The names at starts[i]:stops[i] of a longer text, apart from it."""
        lengths = stops - starts
        ends = np.cumsum(lengths)
        return GraphNames(text[in_ranges(starts, lengths)].tobytes(), ends - lengths, ends)

    def _compact(self) -> GraphNames:
        """The same with hardly any text outside of names."""
        if len(self._text) <= _UNUSED_FACTOR * int((self._stops - self._starts).sum()):
            return self
        return GraphNames.between(np.frombuffer(self._text, dtype=np.uint8), self._starts, self._stops)

    @staticmethod
    def of(names: Sequence[str]) -> GraphNames | None:
        """These names; None if they are not in ASCII."""
        if isinstance(names, GraphNames):
            return names
        text = "".join(names)
        if not text.isascii():
            return None
        stops = np.cumsum([0, *map(len, names)])
        return GraphNames(text.encode("ascii"), stops[:-1], stops[1:])

    @staticmethod
    def _joined(parts: Sequence[GraphNames]) -> GraphNames:
        compact = [part._compact() for part in parts]
        bases = np.cumsum([0, *(len(part._text) for part in compact)]).tolist()
        starts = [part._starts + base for part, base in zip(compact, bases, strict=False)]
        stops = [part._stops + base for part, base in zip(compact, bases, strict=False)]
        return GraphNames(b"".join(part._text for part in compact), np.concatenate(starts), np.concatenate(stops))


def take(names: Sequence[str], places: Ids) -> Sequence[str]:
    """The names at these places, in this order."""
    if isinstance(names, GraphNames):
        return GraphNames(names._text, names._starts[places], names._stops[places])
    if isinstance(names, NumberedNames):
        return names.take(places)
    return [names[place] for place in places.tolist()]


def joined(parts: Sequence[Sequence[str]]) -> Sequence[str]:
    """All names of the parts in their order; in a text if some part is and all can be."""
    if (numbered := NumberedNames.joined(parts)) is not None:
        return numbered
    if any(isinstance(part, GraphNames) for part in parts):
        in_text = [names for part in parts if (names := GraphNames.of(part)) is not None]
        if len(in_text) == len(parts):
            return GraphNames._joined(in_text)
    return list(chain.from_iterable(parts))
