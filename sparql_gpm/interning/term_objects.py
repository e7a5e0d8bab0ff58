"""The terms of a dictionary as Python objects: no compiled code, fast for few terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sparql_gpm.columns import UNBOUND, Ids, Mask
from sparql_gpm.numeric import float64
from sparql_gpm.term_text import canonical_token, term_of
from sparql_gpm.terms import Term

_ROOM_MIN = 64
"""Places of the column of numbers at first: the body of a request has few terms."""
_term_of = lru_cache(maxsize=1 << 16)(term_of)
"""Cached: the dictionaries of one process have many terms in common."""
_token_of = lru_cache(maxsize=1 << 14)(canonical_token)
"""Cached: rows that are written piece by piece have many terms in common."""


class TermObjects:
    """The terms of a dictionary; `numbers` as there."""

    def __init__(self) -> None:
        self._ids: dict[Term, int] = {}
        self._terms: list[Term | None] = [None]
        self._free: list[int] = []
        self.numbers: NDArray[np.float64] = np.full(_ROOM_MIN, np.nan)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def bound(self) -> int:
        """All ids are less than this."""
        return len(self._terms)

    def items(self) -> Iterable[tuple[Term, int]]:
        """Every term and its id."""
        return self._ids.items()

    def intern(self, term: Term) -> int:
        """The id of the term, assigned now if it is new."""
        new = self._free[-1] if self._free else len(self._terms)
        known = self._ids.setdefault(term, new)
        if known == new:
            self._add(term, new, float64(term))
        return known

    def intern_known(self, terms: Iterable[Term], numbers: NDArray[np.float64]) -> Ids:
        """See `Dictionary.intern_known`."""
        ids, found = self._ids, []
        for term, number in zip(terms, numbers.tolist(), strict=True):
            new = self._free[-1] if self._free else len(self._terms)
            known = ids.setdefault(term, new)
            if known == new:
                self._add(term, new, number)
            found.append(known)
        return np.array(found, dtype=np.int64)

    def find(self, term: Term) -> int:
        """The id of the term, or UNBOUND if it has none."""
        return self._ids.get(term, UNBOUND)

    def term(self, identifier: int) -> Term:
        """The term of a live id."""
        term = self._terms[identifier]
        assert term is not None, identifier
        return term

    def terms(self, identifiers: Sequence[int]) -> list[Term | None]:
        """See `Dictionary.terms`."""
        return [self._terms[identifier] for identifier in identifiers]

    def token(self, identifier: int) -> bytes:
        """Its canonical N-Triples text."""
        return _token_of(self.term(identifier))

    def intern_joined(self, text: bytes, lengths: Ids, numbers: NDArray[np.float64]) -> Ids:
        """See `Dictionary.intern_joined`."""
        ends = np.cumsum(lengths)
        bounds = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
        return self.intern_known((_term_of(text[begin:end]) for begin, end in bounds), numbers)

    def joined(self, ids: Ids) -> tuple[bytes, Ids]:
        """See `Dictionary.joined`."""
        tokens = [self.token(identifier) for identifier in ids.tolist()]
        return b"".join(tokens), np.array([len(token) for token in tokens], dtype=np.int64)

    def retain(self, kept: Mask) -> int:
        """Release every term whose id is not kept; returns their number."""
        released = 0
        for identifier in np.flatnonzero(~kept[1:]) + 1:
            term = self._terms[identifier]
            if term is not None:
                del self._ids[term]
                self._terms[identifier] = None
                self._free.append(int(identifier))
                released += 1
        return released

    def _add(self, term: Term, identifier: int, number: float) -> None:
        if identifier < len(self._terms):
            self._free.pop()
            self._terms[identifier] = term
        else:
            self._terms.append(term)
            if identifier >= len(self.numbers):
                self.numbers = np.concatenate((self.numbers, np.full(len(self.numbers), np.nan)))
        self.numbers[identifier] = number
