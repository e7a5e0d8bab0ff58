"""Texts of N-Quads, scanned each by itself: in this thread, or ahead of it in others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arrays.words import Bytes
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table import as_bytes
from sparql_gpm.interning.term_table_kernels import CHECKED, LENGTH, NEXT, START
from sparql_gpm.reading import nquads_kernel as kernel
from sparql_gpm.reading.token_kernels import NEWLINE


@dataclass(frozen=True, slots=True)
class Scanned:
    """Whole lines, scanned.

    data        the text for kernels
    tokens      the entries of its distinct tokens, from 1 on
    rows, groups    as in Scan, without unused room
    """

    text: bytes
    data: Bytes
    tokens: Ids
    rows: Ids
    groups: Ids

    def __len__(self) -> int:
        """The number of groups."""
        return len(self.groups) - 1

    @property
    def head(self) -> int:
        """The number of groups at the beginning that lines before the text may go on with.

        Unusual lines belong to the group before them; so may the lines after them.
        """
        keyless = self.groups[0, kernel.KEY_START] == self.groups[0, kernel.KEY_STOP]
        return min(2 if keyless else 1, len(self))

    @property
    def size(self) -> int:
        """The number of bytes of the distinct tokens."""
        return int(self.tokens[1:, LENGTH].sum())

    def since(self, group: int, stop: int) -> bytes:
        """The text of the groups before `stop`, from `group` on."""
        return self.text[self.groups[group, kernel.BEGIN] : self.groups[stop, kernel.BEGIN]]

    def lines(self, group: int) -> list[bytes]:
        """The lines of a group."""
        return self.since(group, group + 1).removesuffix(b"\n").split(b"\n")

    @property
    def left_out(self) -> dict[str, None]:
        """The predicates of triples that were left out, as IRIs."""
        unused = np.flatnonzero(self.tokens[1:, CHECKED] & kernel.UNUSED) + 1
        places = self.tokens[unused][:, [START, LENGTH]].tolist()
        return {self.text[start + 1 : start + length - 1].decode("ascii"): None for start, length in places}

    def line(self, group: int) -> int:
        """The number of lines before a group."""
        return int(self.groups[group, kernel.LINE])

    def key(self, group: int) -> bytes:
        """The key of the graph of a group."""
        return self.text[self.groups[group, kernel.KEY_START] : self.groups[group, kernel.KEY_STOP]]


class Scanner:
    """Scans texts; it has no state that changes, so that several threads can call it.

    time_predicates     in brackets
    wanted              the predicates of triples that are not left out, in brackets; None: all
    """

    def __init__(self, time_predicates: Sequence[bytes], wanted: Sequence[bytes] | None) -> None:
        self._predicates, self._ends = joined(time_predicates)
        self._wanted, self._wanted_ends = joined(wanted or ())
        if wanted is None:
            self._wanted_ends = self._wanted_ends[:0]

    def scan(self, text: bytes) -> Scanned:
        """Scan whole lines."""
        data = as_bytes(text)
        lines = int(np.count_nonzero(data[: len(text)] == NEWLINE))  # without the interpreter's lock
        tokens = np.empty((3 * lines + 1, 4), dtype=np.int64)
        tokens[0, NEXT] = 1
        slots = np.zeros(1 << (2 * len(tokens) - 1).bit_length(), dtype=np.int32)
        out = kernel.Scan(
            np.empty((3, lines), dtype=np.int64), np.empty((lines + 1, 9), dtype=np.int64), np.zeros(2, dtype=np.int64)
        )
        source = kernel.Source(data, len(text), self._predicates, self._ends, self._wanted, self._wanted_ends)
        kernel.scan(source, kernel.Tokens(tokens, slots), out)
        rows, groups = out.counts.tolist()
        return Scanned(text, data, tokens[: tokens[0, NEXT]], out.rows[:, :rows], out.groups[: groups + 1])


def joined(tokens: Sequence[bytes]) -> tuple[Bytes, Ids]:
    """The tokens one after the other; 0, and the end of each."""
    return as_bytes(b"".join(tokens)), np.cumsum([0, *map(len, tokens)], dtype=np.int64)
