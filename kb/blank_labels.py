"""Labels of the blank nodes of knowledge bases: the same whenever and wherever a file is read.

A state that is written down holds blank nodes by their labels, and is read again beside the same files, perhaps in
another process that reads them in another order. So no label may come from a counter or a random number.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cached_property
from typing import IO

import pyoxigraph

from sparql_gpm.reading.document_terms import ParsedTerm

_READ_BYTES = 1 << 20


def scope_of(*parts: str) -> str:
    """The beginning of the labels of the blank nodes that belong to these names."""
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=8)
    return f"kb{digest.hexdigest()}x"


class BlankLabels:
    """Gives the label of a blank node of one file, given the one that the parser gave it.

    It says the knowledge base's IRI, the place of the file in it, and its content: a blank node is local to its file,
    and a file that has changed has other blank nodes. Parsers invent a random label where a text gives none, as for
    `[ ]` in Turtle; such formats have their blank nodes numbered in the order of the text.

    raw     the open file, read a second time when its first blank node is labelled; a pipe is never the same again
    given   every blank node has a label in the text, which is kept
    """

    def __init__(self, raw: IO[bytes], iri: str, place: int, *, given: bool) -> None:
        self._raw, self._iri, self._place = raw, iri, place
        self._numbers: dict[str, int] | None = None if given else {}

    def __call__(self, label: str) -> str:
        return self._scope + (label if self._numbers is None else str(self._number(label, self._numbers)))

    def seen(self, quads: Iterator[pyoxigraph.Quad]) -> Iterator[pyoxigraph.Quad]:
        """The same quads, whose blank nodes have numbers by then, whether they are used or not."""
        return quads if self._numbers is None else self._numbered(quads, self._numbers)

    def _numbered(self, quads: Iterator[pyoxigraph.Quad], numbers: dict[str, int]) -> Iterator[pyoxigraph.Quad]:
        for quad in quads:
            for term in (quad.subject, quad.object):
                if not isinstance(term, pyoxigraph.NamedNode | pyoxigraph.Literal):
                    self._number_all(term, numbers)
            yield quad

    def _number_all(self, term: ParsedTerm, numbers: dict[str, int]) -> None:
        match term:
            case pyoxigraph.BlankNode():
                self._number(term.value, numbers)
            case pyoxigraph.Triple():
                self._number_all(term.subject, numbers)
                self._number_all(term.object, numbers)

    def _number(self, label: str, numbers: dict[str, int]) -> int:
        return numbers.setdefault(label, len(numbers))

    @cached_property
    def _scope(self) -> str:
        return scope_of(self._iri, str(self._place), self._content())

    def _content(self) -> str:
        if not self._raw.seekable():
            return os.urandom(8).hex()
        found, at = hashlib.blake2b(), 0
        while piece := os.pread(self._raw.fileno(), _READ_BYTES, at):
            found.update(piece)
            at += len(piece)
        return found.hexdigest()
