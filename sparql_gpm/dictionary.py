"""Terms and their ids, with a column of the numeric values.

Ids are dense positive int64s. `retain` releases terms that nothing needs any more, and their ids are assigned again:
caches by id must be cleared when `generation` has changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sparql_gpm.columns import UNBOUND, Ids, Mask
from sparql_gpm.interning.term_objects import TermObjects
from sparql_gpm.terms import Term, blank_nodes

if TYPE_CHECKING:
    from sparql_gpm.interning.term_table import TermTable


_LESS, _UNDERSCORE = b"<_"


def may_have_blank_nodes(text: bytes, starts: Ids) -> Mask:
    """Mask of the blank nodes and triple terms, by the places where their canonical tokens begin in a text."""
    characters = np.frombuffer(text, dtype=np.uint8)
    first = characters[starts]
    found: Mask = first == _UNDERSCORE
    brackets = np.flatnonzero(first == _LESS)
    found[brackets] = characters[starts[brackets] + 1] == _LESS
    return found


class Dictionary:
    """The terms of one process, as Python objects until a compiled reader needs a `table`.

    generation  counts the releases
    """

    def __init__(self) -> None:
        self._terms: TermObjects | TermTable = TermObjects()
        self._table: TermTable | None = None
        self._pinned: Counter[int] = Counter()
        self._noted: list[list[int]] = []
        self._held: WeakKeyDictionary[object, tuple[Ids, ...]] = WeakKeyDictionary()
        self.generation = 0

    def __len__(self) -> int:
        return len(self._terms)

    @property
    def bound(self) -> int:
        """All ids are less than this."""
        return self._terms.bound

    @property
    def numbers(self) -> NDArray[np.float64]:
        """float64 column by id: the numeric value where float64 compares it exactly as SPARQL does, else NaN.

        New terms may replace the column by a longer one.
        """
        return self._terms.numbers

    def number(self, identifier: int) -> float:
        """The entry of an id in the column `numbers`, which is looked at now: making the id may have replaced it."""
        return self._terms.numbers.item(identifier)

    def table(self) -> TermTable:
        """The terms as bytes in arrays for kernels; from the first call on they are held so."""
        if self._table is None:
            from sparql_gpm.interning.term_table import TermTable  # imports numba

            objects = self._terms
            assert isinstance(objects, TermObjects)
            self._table = self._terms = TermTable(objects.items(), objects.numbers)
        return self._table

    @property
    def has_table(self) -> bool:
        """True if the terms are bytes in arrays for kernels."""
        return self._table is not None

    def intern(self, term: Term) -> int:
        """The id of the term, assigned now if it is new."""
        return self._terms.intern(term)

    def pin(self, term: Term) -> int:
        """The id of a term that `retain` does not release until it has been unpinned as often: constants of queries."""
        identifier = self._terms.intern(term)
        self._pinned[identifier] += 1
        if self._noted:
            self._noted[-1].append(identifier)
        return identifier

    @contextmanager
    def pins(self) -> Iterator[list[int]]:
        """The ids that are pinned inside, for `unpin`; those of a block inside the block are not among them."""
        self._noted.append([])
        try:
            yield self._noted[-1]
        finally:
            self._noted.pop()

    def unpin(self, identifiers: Iterable[int]) -> None:
        """Takes back that these ids were pinned, once for each."""
        for identifier in identifiers:
            self._pinned[identifier] -= 1
            if not self._pinned[identifier]:
                del self._pinned[identifier]

    def hold(self, owner: object, columns: Iterable[Ids]) -> None:
        """Keep the terms of these columns while the owner lives, in place of those that it held before."""
        self._held[owner] = tuple(columns)

    def find(self, term: Term) -> int:
        """The id of the term, or UNBOUND if it has none."""
        return self._terms.find(term)

    def term(self, identifier: int) -> Term:
        """The term of a live id."""
        return self._terms.term(identifier)

    def terms(self, identifiers: Sequence[int]) -> list[Term | None]:
        """The terms of live ids, None for UNBOUND."""
        return self._terms.terms(identifiers)

    def token(self, identifier: int) -> bytes:
        """The canonical N-Triples text of the term of a live id."""
        return self._terms.token(identifier)

    def joined(self, ids: Ids) -> tuple[bytes, Ids]:
        """The canonical N-Triples texts of live ids, one after the other, and their lengths in bytes."""
        return self._terms.joined(ids)

    def blank(self, ids: NDArray[np.int64]) -> Mask:
        """Mask of the terms with blank nodes among live ids and UNBOUND, in the shape of `ids`."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        bound = distinct[distinct != UNBOUND]
        text, lengths = self.joined(bound)
        found = np.zeros(len(distinct), dtype=np.bool_)
        blank = may_have_blank_nodes(text, np.cumsum(lengths) - lengths)
        for place in np.flatnonzero(blank).tolist():
            blank[place] = any(blank_nodes(self.term(int(bound[place]))))
        found[distinct != UNBOUND] = blank
        return found[inverse].reshape(ids.shape)

    def intern_known(self, terms: Iterable[Term], numbers: NDArray[np.float64]) -> Ids:
        """The ids of terms, assigned now where they are new; `numbers` are what the column `numbers` has for them."""
        return self._terms.intern_known(terms, numbers)

    def intern_joined(self, text: bytes, lengths: Ids, numbers: NDArray[np.float64]) -> Ids:
        """The ids of terms, assigned now where they are new.

        text        their canonical N-Triples texts, one after the other, with their lengths in bytes
        numbers     their values, as in the column `numbers` of the dictionary that they come from
        """
        return self._terms.intern_joined(text, lengths, numbers)

    def retain(self, live: Iterable[Ids]) -> int:
        """Release every term that is neither pinned nor held nor in one of the columns; returns their number."""
        kept = np.zeros(self._terms.bound, dtype=np.bool_)
        kept[list(self._pinned)] = True
        for column in (*live, *(column for columns in self._held.values() for column in columns)):
            kept[column] = True
        kept[UNBOUND] = False
        self.generation += 1
        return self._terms.retain(kept)
