"""The graphs of one stream that are complete, to notice one that is reopened."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


class ClosedGraphs:
    """The keys of the graphs closed last, at most `size` of them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._keys: set[bytes] = set()
        self._oldest: deque[bytes] = deque()

    def __contains__(self, key: bytes) -> bool:
        return key in self._keys

    def add(self, key: bytes) -> None:
        """Remember one; that it had been remembered already does not make it younger."""
        if key not in self._keys:
            self.extend((key,))

    def extend(self, keys: Sequence[bytes]) -> None:
        """Remember some that are fresh."""
        self._keys.update(keys)
        self._oldest.extend(keys)
        while len(self._oldest) > self._size:
            self._keys.discard(self._oldest.popleft())

    def fresh(self, keys: Sequence[bytes]) -> int:
        """How many of the keys, from the first on, are neither remembered nor among those before them."""
        if self._keys.isdisjoint(keys) and len(set(keys)) == len(keys):
            return len(keys)
        before: set[bytes] = set()
        for index, key in enumerate(keys):
            if key in self._keys or key in before:
                return index
            before.add(key)
        return len(keys)
