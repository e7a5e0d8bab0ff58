"""A cache of answers, bounded in size and age."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from sparql_gpm.terms import Term

TermTuple = tuple[Term | None, ...]
"""A solution: the term of each variable of its query, None where it is unbound."""


class AnswerCache:
    """The solutions for each key, also for keys without any; the least recently used are dropped first.

    rows_max    solutions kept, a key without any counted as one
    age_s_max   how long they are kept
    clock       in seconds; the caller's, so that nothing expires inside a batch
    """

    def __init__(self, rows_max: int, age_s_max: float, clock: Callable[[], float]) -> None:
        self._rows_max = rows_max
        self._age_max = age_s_max
        self._clock = clock
        self._size = 0
        self._kept: OrderedDict[str, tuple[float, Sequence[TermTuple]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> Sequence[TermTuple] | None:
        """The solutions for the key; None if there is no entry, or it has expired."""
        found = self._kept.get(key)
        if found is None:
            return None
        if found[0] <= self._clock():
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return found[1]

    def put_all(self, answers: Mapping[str, Sequence[TermTuple]]) -> None:
        """Keep the solutions for some keys."""
        until = self._clock() + self._age_max
        kept = self._kept
        for key, rows in answers.items():
            if key in kept:
                self._drop(key)
            kept[key] = (until, rows)
            self._size += len(rows) or 1
        while self._size > self._rows_max:
            self._drop(next(iter(kept)))

    def _drop(self, key: str) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._size -= max(1, len(found[1]))
