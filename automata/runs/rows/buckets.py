"""Runs at one position as lists, by join key; of many runs, those of a key are read when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Key = int | tuple[int, ...]


class Buckets(dict[Key, list[int]]):
    """The numbers of the runs of each key.

    read    the runs of a key that are in columns; None: none are there alone
    """

    def __init__(self, read: Callable[[Key], list[int]] | None = None) -> None:
        super().__init__()
        self.read = read
        self._added: dict[Key, list[int]] = {}

    def find(self, key: Key) -> list[int] | None:
        """The runs of a key."""
        bucket = self.get(key)
        if bucket is None and self.read is not None:
            bucket = self[key] = [*self.read(key), *self._added.pop(key, ())]
        return bucket

    def add(self, key: Key, number: int) -> None:
        """One more run; it needs not be known which others have its key."""
        if self.read is None or key in self:
            self.setdefault(key, []).append(number)
        else:
            self._added.setdefault(key, []).append(number)

    def remove(self, key: Key, number: int) -> None:
        """One run less, if it is here; one that has not been read is not."""
        read = key in self
        buckets = self if read else self._added
        bucket: Sequence[int] = buckets.get(key, ())
        if number in bucket:
            buckets[key].remove(number)
            if not buckets[key] and not (read and self.read):
                del buckets[key]
