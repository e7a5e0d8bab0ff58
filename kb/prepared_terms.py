"""The terms of a prepared file as a dictionary, made into objects on demand."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kb.blank_labels import scope_of
from kb.prepared_file import PreparedFile, hash_of
from sparql_gpm.columns import UNBOUND, Ids, as_ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.term_text import canonical_token, term_of
from sparql_gpm.terms import Term, blank_nodes, relabelled


class PreparedTerms(Dictionary):
    """The file's terms under the file's own ids, and above them terms that only patterns have.

    Blank nodes of the file get labels of this knowledge base and this content. Nothing is ever released.
    """

    def __init__(self, file: PreparedFile, iri: str) -> None:
        self.generation = 0  # what else a Dictionary holds is in the file
        self._file = file
        self._stored = file.length("hashes")
        self._more = Dictionary()
        self._scope = scope_of(iri, file.content)

    def __len__(self) -> int:
        return self._stored + len(self._more)

    @property  # type: ignore[override, unused-ignore]
    def numbers(self) -> NDArray[np.float64]:  # type: ignore[override, unused-ignore]
        if len(self._all_numbers) <= len(self):
            more = self._more.numbers[1 : len(self._more) + 1]
            self._all_numbers = np.concatenate((self._file["numbers"], more))
        return self._all_numbers

    def number(self, identifier: int) -> float:
        """See `Dictionary`."""
        return self.numbers.item(identifier)

    def intern(self, term: Term) -> int:
        return self.stored(term) or self._stored + self._more.intern(term)

    def pin(self, term: Term) -> int:
        """See `Dictionary`; everything here is pinned."""
        return self.intern(term)

    def hold(self, owner: object, columns: Iterable[Ids]) -> None:
        """See `Dictionary`; everything here is held."""

    def find(self, term: Term) -> int:
        place = self.stored(term)
        if place == UNBOUND and (more := self._more.find(term)) != UNBOUND:
            place = self._stored + more
        return place

    def term(self, identifier: int) -> Term:
        if identifier > self._stored:
            return self._more.term(identifier - self._stored)
        return relabelled(term_of(self._text(identifier - 1)), lambda label: self._scope + label)

    def joined(self, ids: Ids) -> tuple[bytes, Ids]:
        """See `Dictionary`."""
        tokens = [canonical_token(self.term(identifier)) for identifier in ids.tolist()]
        return b"".join(tokens), np.array([len(token) for token in tokens], dtype=np.int64)

    def intern_joined(self, text: bytes, lengths: Ids, numbers: NDArray[np.float64]) -> Ids:
        """See `Dictionary`."""
        ends = np.cumsum(lengths)
        bounds = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
        return as_ids([self.intern(term_of(text[begin:end])) for begin, end in bounds])

    def retain(self, live: Iterable[Ids]) -> int:
        return 0

    @cached_property
    def _all_numbers(self) -> NDArray[np.float64]:
        return self._file["numbers"]

    @cached_property
    def _columns(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        return self._file["texts"], self._file["offsets"], self._file["hashes"]

    def stored(self, term: Term) -> int:
        """The id of a term of the file, UNBOUND if the file has it not."""
        if any(not node.label.startswith(self._scope) for node in blank_nodes(term)):
            return UNBOUND
        text = canonical_token(relabelled(term, lambda label: label.removeprefix(self._scope)))
        wanted = np.uint64(hash_of(text))
        hashes = self._columns[2]
        place = int(np.searchsorted(hashes, wanted))
        while place < self._stored and hashes[place] == wanted:
            if self._text(place) == text:
                return place + 1
            place += 1
        return UNBOUND

    def _text(self, place: int) -> bytes:
        texts, offsets, _ = self._columns
        text: bytes = texts[int(offsets[place]) : int(offsets[place + 1])].tobytes()
        return text
