"""The identities of the events of a stream, by which an event that comes again is known."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile

import numpy as np

KEY_BYTES = 16
NO_KEY = bytes(KEY_BYTES)
"""Stands for the identity of an event that has none."""


def keys_in(data: bytes) -> list[bytes]:
    """Identities that stand one after the other."""
    found: list[bytes] = np.frombuffer(data, dtype=f"V{KEY_BYTES}").tolist()
    return found


def graph_key(iri: str) -> bytes:
    """The identity of an event with a graph IRI."""
    return blake2b(iri.encode(), digest_size=KEY_BYTES, person=b"graph").digest()


def cloud_event_key(identifier: str) -> bytes:
    """The identity that `ce-id` gives to an event without a graph IRI."""
    return blake2b(identifier.encode(), digest_size=KEY_BYTES, person=b"ce-id").digest()


@dataclass(slots=True)
class Block:
    """Identities that were accepted together.

    first   the position of the first event
    at      when, nanoseconds of the wall clock
    keys    one for each event, in order; NO_KEY among them
    """

    first: int
    at: int
    keys: list[bytes]


class Identities:
    """The identities of the latest events: they are kept while they are young enough and few enough.

    Some 150 bytes each. Those of a body are `pending` until it is on disk.
    """

    def __init__(self, age_ns: int, events_max: int) -> None:
        self.age_ns, self.events_max = age_ns, events_max
        self._known: set[bytes] = set()
        self._blocks: deque[Block] = deque()
        self._count = 0
        self._pending: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._known)

    def known(self, keys: Sequence[bytes], now: int) -> list[bool]:
        """Of each identity, True if it is remembered at a time of the wall clock.

        Nothing is forgotten here: a decision that does not come to the disk has no effect.
        """
        oldest, old = now - self.age_ns, set[bytes]()
        for block in takewhile(lambda block: block.at < oldest, self._blocks):
            old.update(block.keys)
        return [key in self._pending or (key in self._known and key not in old) for key in keys]

    def pend(self, keys: Sequence[bytes]) -> None:
        """Know the identities of events that are not on disk yet."""
        for key in keys:
            if key != NO_KEY:
                self._pending[key] = self._pending.get(key, 0) + 1

    def settle(self, block: Block) -> None:
        """Keep the identities of events that are on disk now, and forget those that are too old or too many."""
        for key in block.keys if self._pending else ():
            left = self._pending.pop(key, 0) - 1
            if left > 0:
                self._pending[key] = left
        self._forget_old(block.at)
        if not self._known.isdisjoint(block.keys):
            self._let_go(self._known.intersection(block.keys))
        self._known.update(block.keys)
        self._known.discard(NO_KEY)
        if block.keys:
            self._blocks.append(block)
            self._count += len(block.keys)
        self._forget_old(block.at)
        self._forget_surplus()

    def give_up(self) -> None:
        """Forget the identities of all events that are not on disk."""
        self._pending.clear()

    def bound(self, age_ns: int, events_max: int) -> None:
        """Keep them for another time, and another number of them."""
        self.age_ns, self.events_max = age_ns, events_max
        self._forget_surplus()

    def blocks(self, last: int) -> Iterator[Block]:
        """The identities that are kept of the events up to a position."""
        for block in self._blocks:
            if block.first + len(block.keys) <= last + 1:
                yield block
            elif block.first <= last:
                yield Block(block.first, block.at, block.keys[: last + 1 - block.first])

    def _forget_old(self, now: int) -> None:
        while self._blocks and self._blocks[0].at < now - self.age_ns:
            self._drop(len(self._blocks[0].keys))

    def _forget_surplus(self) -> None:
        while (surplus := self._count - self.events_max) > 0:
            self._drop(min(surplus, len(self._blocks[0].keys)))

    def _let_go(self, again: Set[bytes]) -> None:
        """Leave these identities to a newer block: they had been forgotten when that was accepted."""
        for block in self._blocks:
            block.keys = [NO_KEY if key in again else key for key in block.keys]

    def _drop(self, count: int) -> None:
        oldest = self._blocks[0]
        self._known.difference_update(oldest.keys[:count])
        self._count -= count
        if count == len(oldest.keys):
            self._blocks.popleft()
        else:
            self._blocks[0] = Block(oldest.first + count, oldest.at, oldest.keys[count:])
