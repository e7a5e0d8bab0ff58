"""The complete graphs of one stream, to detect one that is reopened."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator


class ClosedGraphs:
    """The keys of the graphs closed last, at most `size` of them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._keys: OrderedDict[bytes, None] = OrderedDict()

    def __iter__(self) -> Iterator[bytes]:
        """The keys in the order of closing."""
        return iter(self._keys)

    def __contains__(self, key: bytes) -> bool:
        return key in self._keys

    def add(self, key: bytes) -> None:
        """Add a key; one that is there keeps its age."""
        self._keys.setdefault(key)
        if len(self._keys) > self._size:
            self._keys.popitem(last=False)
