"""The graphs of one stream that are complete, to notice one that is reopened."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator


class ClosedGraphs:
    """The keys of the graphs closed last, at most `size` of them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._keys: set[bytes] = set()
        self._oldest: deque[bytes] = deque()

    def __iter__(self) -> Iterator[bytes]:
        """From the one closed first on."""
        return iter(self._oldest)

    def __contains__(self, key: bytes) -> bool:
        return key in self._keys

    def add(self, key: bytes) -> None:
        """Remember one; that it had been remembered already does not make it younger."""
        if key in self._keys:
            return
        self._keys.add(key)
        self._oldest.append(key)
        if len(self._oldest) > self._size:
            self._keys.discard(self._oldest.popleft())
