"""The bytes of many rows, put together from pieces of which each distinct one is made once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from arrays.columns import places_of
from automata.values import UNBOUND, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import Term
from spaseq.outputs.destination import encoded
from spaseq.outputs.row_table import Objects

_TEXTS_MAX = 1 << 16
"""Terms whose texts are remembered; when there are more, all are forgotten."""


@dataclass(frozen=True, slots=True)
class Lists:
    """Some pieces of each row: their number, and the pieces of one row after those of the other."""

    counts: Ids
    pieces: Objects


Part = bytes | Objects | Lists
"""What stands next in every row: the same bytes, a piece for each row, or several."""


def joined(parts: Sequence[Part], rows: int) -> bytes:
    """The parts of one row after those of the other."""
    lengths = np.zeros(rows, dtype=np.int64)
    for part in parts:
        lengths += part.counts if isinstance(part, Lists) else 1
    at = np.cumsum(lengths) - lengths
    pieces = np.empty(int(lengths.sum()), dtype=np.object_)
    for part in parts:
        if isinstance(part, Lists):
            firsts = np.cumsum(part.counts) - part.counts
            pieces[np.repeat(at - firsts, part.counts) + np.arange(len(part.pieces))] = part.pieces
            at += part.counts
        else:
            pieces[at] = part
            at += 1
    return b"".join(pieces.tolist())


def pieces_of(numbers: Ids, text: Callable[[int], bytes]) -> Objects:
    """The text of each number, made once for each distinct one."""
    distinct, places = places_of(numbers)
    return objects(map(text, distinct.tolist()), len(distinct))[places]


def objects(values: Iterable[bytes], count: int) -> Objects:
    """So many values as an array."""
    found = np.empty(count, dtype=np.object_)
    found[:] = list(values)
    return found


class TermTexts:
    """The bytes of terms in one format."""

    def __init__(self, text: Callable[[Term], str]) -> None:
        self._text = text
        self._known: dict[int, bytes] = {UNBOUND: b""}
        self._of: tuple[Dictionary, int] | None = None

    def of(self, ids: Ids, dictionary: Dictionary) -> tuple[list[bytes], Ids]:
        """The text of each distinct term, b"" for UNBOUND, and the place of each id's in them."""
        known = self._known
        if self._of != (dictionary, dictionary.generation) or len(known) > _TEXTS_MAX:
            self._of = dictionary, dictionary.generation
            known.clear()
            known[UNBOUND] = b""
        distinct, places = places_of(ids)
        numbers = distinct.tolist()
        for number in numbers:
            if number not in known:
                known[number] = encoded(self._text(dictionary.term(number)))
        return [known[number] for number in numbers], places
