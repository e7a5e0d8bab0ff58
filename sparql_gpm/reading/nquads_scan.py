"""Texts of N-Quads, scanned each by itself: in this thread, or ahead of it in others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import local

import numpy as np

from arrays.words import WORD, Bytes
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table import as_bytes
from sparql_gpm.interning.term_table_kernels import CHECKED, LENGTH, NEXT, START
from sparql_gpm.reading import nquads_kernel as kernel

LINES_KEPT_MAX = 1 << 15
"""Lines for which a thread keeps the arrays that it scans in: 7 MB, as far as they are used."""
TEXT_KEPT_MIN, TEXT_KEPT_MAX = 1 << 14, 1 << 22
"""Bytes of a text whose copy is made in an array that is used again."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """Whole lines, scanned.

    data        the text for kernels, and at least a word more
    tokens      the entries of its distinct tokens, from 1 on
    rows, groups    as in Scan, without unused room
    """

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
        return self.text(self.groups[group, kernel.BEGIN], self.groups[stop, kernel.BEGIN])

    def text(self, start: int, stop: int) -> bytes:
        """A part of the text."""
        return self.data[start:stop].tobytes()

    def lines(self, group: int) -> list[bytes]:
        """The lines of a group."""
        return self.since(group, group + 1).removesuffix(b"\n").split(b"\n")

    @property
    def left_out(self) -> dict[str, None]:
        """The predicates of triples that were left out, as IRIs."""
        unused = np.flatnonzero(self.tokens[1:, CHECKED] & kernel.UNUSED) + 1
        places = self.tokens[unused][:, [START, LENGTH]].tolist()
        return {self.text(start + 1, start + length - 1).decode("ascii"): None for start, length in places}

    def line(self, group: int) -> int:
        """The number of lines before a group."""
        return int(self.groups[group, kernel.LINE])

    def key(self, group: int) -> bytes:
        """The key of the graph of a group."""
        return self.text(self.groups[group, kernel.KEY_START], self.groups[group, kernel.KEY_STOP])


class _Room:
    """Arrays that texts of so many lines are scanned in, in turn."""

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self._tokens: Ids = np.empty((3 * lines + 1, 4), dtype=np.int64)
        self._slots = np.empty(_slots(lines), dtype=np.int32)
        self._rows: Ids = np.empty((3, lines), dtype=np.int64)
        self._groups: Ids = np.empty((lines + 1, 9), dtype=np.int64)

    def cleared(self, lines: int) -> tuple[kernel.Tokens, kernel.Scan]:
        """The arrays for a text."""
        slots = self._slots[: _slots(lines)]
        slots[:] = 0
        self._tokens[0] = 0
        self._tokens[0, NEXT] = 1
        counts = np.zeros(2, dtype=np.int64)
        return kernel.Tokens(self._tokens, slots), kernel.Scan(self._rows, self._groups, counts)


class _Kept(local):
    """The room of each thread."""

    def __init__(self) -> None:
        self.room = _Room(0)


def _room(lines: int) -> _Room:
    """Room for so many lines, until the thread asks for room again."""
    if lines > LINES_KEPT_MAX:
        return _Room(lines)
    if lines > _kept.room.lines:
        _kept.room = _Room(lines + lines // 8)
    return _kept.room


def _slots(lines: int) -> int:
    """Slots for three tokens a line, twice as many, and a power of two."""
    return 1 << (6 * lines + 1).bit_length()


_kept = _Kept()


class Scanner:
    """Scans texts, also in several threads at once; no scan depends on those before it.

    time_predicates     in brackets
    wanted              the predicates of triples that are not left out, in brackets; None: all
    """

    def __init__(self, time_predicates: Sequence[bytes], wanted: Sequence[bytes] | None) -> None:
        self._predicates, self._ends = joined(time_predicates)
        self._wanted, self._wanted_ends = joined(wanted or ())
        if wanted is None:
            self._wanted_ends = self._wanted_ends[:0]
        self._unused: list[Bytes] = []

    def scan(self, text: bytes) -> Scanned:
        """Scan whole lines."""
        data = self._copy(text)
        lines = int(kernel.lines_in(data, len(text)))
        tokens, out = _room(lines).cleared(lines)
        source = kernel.Source(data, len(text), self._predicates, self._ends, self._wanted, self._wanted_ends)
        kernel.scan(source, tokens, out)
        rows, groups = out.counts.tolist()
        entries = tokens.entries[: tokens.entries[0, NEXT]].copy()
        return Scanned(data, entries, out.rows[:, :rows].copy(), out.groups[: groups + 1].copy())

    def reuse(self, scanned: Scanned) -> None:
        """Make the array of a text free for others; nobody uses what was scanned any more."""
        if isinstance(scanned.data.base, np.ndarray) and TEXT_KEPT_MIN <= len(scanned.data) <= TEXT_KEPT_MAX:
            self._unused.append(scanned.data.base)

    def _copy(self, text: bytes) -> Bytes:
        """The text as kernels take it; long ones in arrays that are used again."""
        size = len(text)
        if size < TEXT_KEPT_MIN:
            return as_bytes(text)
        try:
            array = self._unused.pop()
        except IndexError:
            array = np.empty(0, dtype=np.uint8)
        if len(array) < size + WORD:
            array = np.empty(size + size // 8 + WORD, dtype=np.uint8)
        array[:size] = np.frombuffer(text, dtype=np.uint8)  # without the interpreter's lock
        array[size : size + WORD] = 0
        data = array[:]
        data.flags.writeable = False  # one signature of the kernels for all texts
        return data


def joined(tokens: Sequence[bytes]) -> tuple[Bytes, Ids]:
    """The tokens one after the other; 0, and the end of each."""
    return as_bytes(b"".join(tokens)), np.cumsum([0, *map(len, tokens)], dtype=np.int64)
