"""The complete graphs of one stream, to detect one that is reopened."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator

from arrays.columns import Ids

Series = tuple[str, str]
"""The texts before and after the numbers of names of graphs."""


class ClosedGraphs:
    """The keys of the graphs closed last, at most `size` of them.

    While all of them are of one series and come in the order of their numbers, no key is made.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._keys: OrderedDict[bytes, None] = OrderedDict()
        self._series: Series = ("", "")
        self._numbers: deque[Ids] = deque()

    def __iter__(self) -> Iterator[bytes]:
        """The keys in the order of closing."""
        return iter(self._settled())

    def __contains__(self, key: bytes) -> bool:
        return key in self._settled()

    def add(self, key: bytes) -> None:
        """Add a key; one that is there keeps its age."""
        keys = self._settled()
        keys.setdefault(key)
        if len(keys) > self._size:
            keys.popitem(last=False)

    def ascend(self, series: Series, numbers: Ids) -> bool:
        """Add the keys of numbers that ascend and are greater than all before; False: nothing is added."""
        if not len(numbers) or not bool((numbers[1:] > numbers[:-1]).all()):
            return False
        waiting = self._numbers
        if self._keys or (waiting and (self._series != series or waiting[-1].item(-1) >= numbers.item(0))):
            return False
        self._series = series
        waiting.append(numbers)
        while sum(map(len, waiting)) - len(waiting[0]) >= self._size:
            waiting.popleft()
        return True

    def _settled(self) -> OrderedDict[bytes, None]:
        """The keys, all of them made."""
        if self._numbers:
            before, after = self._series
            numbers = [number for some in self._numbers for number in some.tolist()][-self._size :]
            self._keys.update(dict.fromkeys(f"<{before}{number}{after}>".encode() for number in numbers))
            self._numbers.clear()
        return self._keys
