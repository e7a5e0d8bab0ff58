"""The terms of a dictionary as canonical N-Triples texts in arrays, without a Python object for each.

Importing this module imports numba.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrays.words import WORD, Bytes
from sparql_gpm.columns import Ids, Mask
from sparql_gpm.interning import term_table_kernels as kernels
from sparql_gpm.interning.pages import zeros
from sparql_gpm.numeric import float64
from sparql_gpm.term_text import canonical_token, term_of
from sparql_gpm.terms import Term

OBJECTS_MAX = 100_000
"""Terms cached as objects, in either direction."""


def as_bytes(text: bytes) -> Bytes:
    """The bytes as a kernel takes them, with a word after their end."""
    return np.frombuffer(text + bytes(WORD), dtype=np.uint8)


class ByteStrings:
    """A set of byte strings with ids from 1 on, in arrays for kernels; see term_table_kernels."""

    def __init__(self) -> None:
        self.arena: Bytes = zeros((1 << 12,), np.uint8)
        self.entries: Ids = zeros((256, 4), np.int64)
        self.slots: kernels.Slots = zeros((512,), np.int32)
        self.entries[0, kernels.NEXT] = 1

    def __len__(self) -> int:
        return int(self.entries[0, kernels.LIVE])

    @property
    def bound(self) -> int:
        """All ids are less than this."""
        return int(self.entries[0, kernels.NEXT])

    def reserve(self, ids: int, size: int) -> None:
        """Make room for so many more ids and bytes; may replace the arrays."""
        self.arena = _with_room(self.arena, int(self.entries[0, kernels.USED]) + size + WORD)
        self.entries = _with_room(self.entries, self.bound + ids)
        if 2 * len(self.entries) > len(self.slots):
            self.slots = zeros((1 << (2 * len(self.entries) - 1).bit_length(),), np.int32)
            kernels.fill_slots(self.entries, self.slots)

    def __getitem__(self, identifier: int) -> bytes:
        start, length = self.entries[identifier, kernels.START], self.entries[identifier, kernels.LENGTH]
        assert length > 0, identifier
        return self.arena[start : start + length].tobytes()

    def add(self, text: bytes) -> int:
        """The id of a string; negative if it is new."""
        as_array = as_bytes(text)
        known = int(kernels.add_one(as_array, len(text), self.arena, self.entries, self.slots))
        if known == 0:
            self.reserve(1, len(text))
            known = int(kernels.add_one(as_array, len(text), self.arena, self.entries, self.slots))
        return known

    def add_all(self, strings: Sequence[bytes]) -> Ids:
        """The ids of the strings; negative for those that are new."""
        return self.add_joined(b"".join(strings), np.array([len(string) for string in strings], dtype=np.int64))

    def add_joined(self, text: bytes, lengths: Ids) -> Ids:
        """`add_all` of strings that stand one after the other."""
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        ids = np.zeros(len(lengths), dtype=np.int64)
        self.reserve(len(lengths), len(text))
        kernels.add_all(as_bytes(text), offsets, self.arena, self.entries, self.slots, ids)
        return ids

    def joined(self, ids: Ids) -> tuple[bytes, Ids]:
        """The strings of some ids, one after the other, and their lengths."""
        lengths = self.entries[ids, kernels.LENGTH]
        out: Bytes = np.zeros(int(lengths.sum()), dtype=np.uint8)
        kernels.copy_out(self.arena, self.entries, ids, out)
        return out.tobytes(), lengths

    def find(self, text: bytes) -> int:
        """The id of one string, or 0."""
        return int(kernels.find_one(as_bytes(text), len(text), self.arena, self.entries, self.slots))

    def retain(self, kept: Mask) -> int:
        """Free every id that is not kept; returns their number. O(ids + bytes kept)."""
        lengths = self.entries[1 : len(kept), kernels.LENGTH]
        arena = zeros((max(1 << 12, 2 * int(lengths[kept[1:]].sum()) + WORD),), np.uint8)
        released = kernels.keep(self.arena, self.entries, kept, arena)
        self.arena = arena
        self.slots[:] = 0
        kernels.fill_slots(self.entries, self.slots)
        return released


def _with_room(column: NDArray[Any], needed: int) -> NDArray[Any]:
    """The column, or a copy at least twice as long."""
    if needed <= len(column):
        return column
    longer = zeros((max(needed, 2 * len(column)), *column.shape[1:]), column.dtype.type)
    longer[: len(column)] = column
    return longer


class TermTable:
    """The terms of a dictionary: `strings`, their canonical N-Triples texts, and `numbers`, as in Dictionary.

    lock    held while terms are added or looked for by their texts, so that one thread may read and another evaluate.
            Terms are found by their ids without it: arrays only grow, and longer ones begin with the same content
    """

    def __init__(self, items: Iterable[tuple[Term, int]], numbers: NDArray[np.float64]) -> None:
        """A table of these terms, with these ids."""
        self.lock = RLock()
        self.strings = ByteStrings()
        self.numbers = numbers
        self._ids: dict[Term, int] = {}
        self._objects: dict[int, Term] = {}
        self._enter(sorted(items, key=lambda item: item[1]))

    def __len__(self) -> int:
        return len(self.strings)

    @property
    def bound(self) -> int:
        """All ids are less than this."""
        return self.strings.bound

    def reserve(self, ids: int, size: int) -> None:
        """Make room for so many more ids and bytes; may replace the arrays; the lock is held until they are used."""
        self.strings.reserve(ids, size)
        self.numbers = _with_room(self.numbers, len(self.strings.entries))

    def intern(self, term: Term) -> int:
        """The id of the term, assigned now if it is new."""
        known = self._ids.get(term)
        if known is None:
            with self.lock:
                found = self.strings.add(canonical_token(term))
                known = abs(found)
                if found < 0:
                    self._set_number(known, term)
            self._remember(term, known)
        return known

    def intern_all(self, terms: Sequence[Term]) -> Ids:
        """The ids of the terms, assigned now where they are new."""
        tokens = [canonical_token(term) for term in terms]
        with self.lock:
            found = self.strings.add_all(tokens)
            ids = np.abs(found)
            for index in np.flatnonzero(found < 0).tolist():
                self._set_number(int(ids[index]), terms[index])
        return ids

    def intern_known(self, terms: Iterable[Term], numbers: NDArray[np.float64]) -> Ids:
        """See `Dictionary.intern_known`."""
        tokens = list(map(canonical_token, terms))
        lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
        return self.intern_joined(b"".join(tokens), lengths, numbers)

    def intern_joined(self, text: bytes, lengths: Ids, numbers: NDArray[np.float64]) -> Ids:
        """See `Dictionary.intern_joined`."""
        with self.lock:
            found = self.strings.add_joined(text, lengths)
            ids = np.abs(found)
            self.numbers = _with_room(self.numbers, len(self.strings.entries))
            self.numbers[ids[found < 0]] = numbers[found < 0]
        return ids

    def joined(self, ids: Ids) -> tuple[bytes, Ids]:
        """See `Dictionary.joined`."""
        return self.strings.joined(ids)

    def find(self, term: Term) -> int:
        """The id of the term, or UNBOUND if it has none."""
        known = self._ids.get(term)
        if known is None:
            with self.lock:
                known = self.strings.find(canonical_token(term))
            if known:
                self._remember(term, known)
        return known

    def term(self, identifier: int) -> Term:
        """The term of a live id."""
        term = self._objects.get(identifier)
        if term is None:
            term = term_of(self.strings[identifier])
            self._remember(term, identifier)
        return term

    def terms(self, identifiers: Sequence[int]) -> list[Term | None]:
        """See `Dictionary.terms`."""
        return [self.term(identifier) if identifier else None for identifier in identifiers]

    def token(self, identifier: int) -> bytes:
        """Its canonical N-Triples text."""
        return self.strings[identifier]

    def check(self, identifier: int) -> None:
        """Mark the canonical text of this id as a valid term of a document."""
        self.strings.entries[identifier, kernels.CHECKED] = 1

    def retain(self, kept: Mask) -> int:
        """Release every term whose id is not kept; returns their number."""
        self._ids.clear()
        self._objects.clear()
        return self.strings.retain(kept)

    def set_numbers(self, ids: Ids) -> None:
        """Compute the values of literals that a kernel has added without a certain value; the lock is held."""
        for identifier in ids.tolist():
            self._set_number(identifier, term_of(self.strings[identifier]))

    def _enter(self, items: Sequence[tuple[Term, int]]) -> None:
        """Fill the empty table; the ids ascend. Ids between them are filled and freed again."""
        terms = {identifier: canonical_token(term) for term, identifier in items}
        bound = items[-1][1] + 1 if items else 1
        self.strings.add_all([terms.get(identifier) or b" %d" % identifier for identifier in range(1, bound)])
        kept = np.zeros(bound, dtype=np.bool_)
        kept[list(terms)] = True
        self.strings.retain(kept)
        self.numbers = _with_room(self.numbers, len(self.strings.entries))

    def _set_number(self, identifier: int, term: Term) -> None:
        self.numbers = _with_room(self.numbers, len(self.strings.entries))
        self.numbers[identifier] = float64(term)

    def _remember(self, term: Term, identifier: int) -> None:
        if len(self._objects) >= OBJECTS_MAX:
            self._ids.clear()
            self._objects.clear()
        self._ids[term] = identifier
        self._objects[identifier] = term
