"""The readers that events touch, found by the constants of their patterns: a discrimination index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sparql_gpm.matching.needs import Need
from sparql_gpm.matching.unseen import Unseen, Vocabulary
from sparql_gpm.shared import Entailed, PatternPool, Slice

R = TypeVar("R")
_SIGHTED_MIN = 64
"""Needs that are remembered and not needed any more, beside as many as are."""


@dataclass(slots=True, eq=False)
class TouchedIndex(Generic[R]):
    """Readers whose patterns are in one pool, and from whose events the same triples follow.

    by_pattern  number of a pattern → the readers that it touches, at least one
    sighted     need of a pattern → the events that had passed with the last one that met it
    vocabulary  of the events
    """

    pool: PatternPool
    entailed: Entailed | None
    by_pattern: dict[int, dict[R, None]] = field(default_factory=dict)
    sighted: dict[Need, int] = field(default_factory=dict)
    vocabulary: Vocabulary = field(init=False)

    def __post_init__(self) -> None:
        self.vocabulary = Vocabulary(self.pool.dictionary)

    def touched(self, slice_: Slice, events: int) -> Iterable[R]:
        """The readers that a slice touches; with it so many events have passed."""
        slice_ = slice_.entailed(self.entailed)
        if (present := slice_.present(self.pool)) is not None:
            self.sighted.update(dict.fromkeys(present, events))
        if self.vocabulary.looks_now():
            self.vocabulary.remember(slice_.batch)
        readers = self.by_pattern
        return [each for pattern in slice_.touched(self.pool) & readers.keys() for each in readers[pattern]]

    def add(self, reader: R, patterns: Iterable[int]) -> None:
        """One more reader, which these patterns touch."""
        for pattern in patterns:
            self.by_pattern.setdefault(pattern, {})[reader] = None

    def remove(self, reader: R, patterns: Iterable[int]) -> None:
        """Takes a reader out; its patterns are still in the pool."""
        for pattern in patterns:
            del self.by_pattern[pattern][reader]
            if not self.by_pattern[pattern]:
                del self.by_pattern[pattern]
        if len(self.sighted) > 2 * len(self.pool.summary) + _SIGHTED_MIN:
            self.sighted = {need: number for need, number in self.sighted.items() if need in self.pool.summary}

    def tell(self, since: int, unseen: Unseen) -> None:
        """Lets the constants that no event has had know of those after so many events."""
        unseen.sighted(self.sighted, since + 1)
        unseen.vocabulary.look_beside(self.vocabulary)

    def take_over(self, other: TouchedIndex[R], events: int) -> None:
        """All that another index knows has happened with the last of so many events."""
        self.sighted.update(dict.fromkeys(other.sighted, events))
        self.vocabulary.take_over(other.vocabulary)
