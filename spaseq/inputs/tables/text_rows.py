"""Rows of CSV without quotes: cells are what stands between separators, found for a whole block at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparql_gpm.columns import Ids, Mask
from spaseq.inputs.tables.arrow_rows import ArrowRows, missing
from spaseq.inputs.tables.cells import Cells
from spaseq.inputs.tables.template import Path
from spaseq.inputs.tables.text_column import ROOM, Bytes, TextColumn

BLOCK_BYTES = 2 << 20
"""Bytes that are read at once: arrays of twice as many cost three times as much, as their memory is asked for anew."""
COLUMNS_MAX = 10_000
"""Columns of CSV: each takes memory in every batch."""
_ROOM = bytes(ROOM)
_LINE = b"\n"
_NEW_LINE = ord(_LINE)


class TextRows:
    """Rows of a table of text.

    text        as in `TextColumn`
    begins      int64[n], where the first cell of each row begins
    ends        int64[n, columns], where each cell ends: the next one begins behind a separator
    """

    def __init__(self, names: Sequence[str], text: Bytes, begins: Ids, ends: NDArray[np.int64], numbers: Ids) -> None:
        self._names, self._text, self._begins, self._ends = names, text, begins, ends
        self.numbers = numbers
        self._columns: dict[int, TextColumn] = {}
        self._arrow: ArrowRows | None = None

    def plain(self, path: Path) -> TextColumn:
        """See `RowBatch`."""
        name = ".".join(path)
        if name not in self._names:
            raise missing(name, self._names)
        return self._column(self._names.index(name))

    def cells(self, path: Path) -> Cells:
        """See `RowBatch`."""
        return self._whole().cells(path)

    def parts(self, rows_max: int) -> Iterator[TextRows]:
        """See `RowBatch`; of equal length as far as possible."""
        count = max(1, -(-len(self.numbers) // rows_max))
        borders = [len(self.numbers) * part // count for part in range(count + 1)]
        for begin, end in pairwise(borders):
            some = slice(begin, end)
            yield TextRows(self._names, self._text, self._begins[some], self._ends[some], self.numbers[some])

    def names(self) -> list[Path]:
        """See `RowBatch`."""
        return [(name,) for name in self._names]

    def shown(self, row: int) -> str:
        """See `RowBatch`."""
        return self._whole().shown(row)

    def _column(self, place: int) -> TextColumn:
        if place not in self._columns:
            begins = self._ends[:, place - 1] + 1 if place else self._begins
            self._columns[place] = TextColumn(self._text, begins, np.ascontiguousarray(self._ends[:, place]))
        return self._columns[place]

    def _whole(self) -> ArrowRows:
        """The same rows as a record batch."""
        if self._arrow is None:
            arrays = [self._column(place).array() for place in range(len(self._names))]
            batch = pa.RecordBatch.from_arrays(arrays, names=list(self._names))
            self._arrow = ArrowRows(batch, self.numbers, untyped=True)
        return self._arrow


class TextReader:
    """Reads rows of CSV up to the first block that has a quote, a row of another length, or what is not in ASCII.

    names   of the columns; () before the header is read
    number  of the next row
    rest    what was read and is no row that was given; not empty at the end: others read on
    """

    def __init__(self, read: Callable[[int], bytes], delimiter: str, names: Sequence[str]) -> None:
        self._read, self._delimiter = read, delimiter
        self.names = tuple(names)
        self.number = 1
        self.rest = b""

    def rows(self) -> Iterator[TextRows]:
        """Batches of rows."""
        ended = False
        while not ended:
            block, ended = self._block()
            self.rest = block
            if ended and block and not block.endswith(_LINE):
                block += _LINE
            end = block.rfind(_LINE) + 1
            if not end:  # the input has ended, or a line is too long
                return
            if (found := self._found(block[:end])) is None:
                return
            self.rest = block[end:]
            if len(found.numbers):
                yield found

    def _block(self) -> tuple[bytes, bool]:
        """The bytes that are left and the next ones; true if the input ends with them."""
        pieces, length = [self.rest], len(self.rest)
        while length < BLOCK_BYTES and (read := self._read(BLOCK_BYTES - length)):
            pieces.append(read)
            length += len(read)
        return b"".join(pieces), length < BLOCK_BYTES

    def _found(self, block: bytes) -> TextRows | None:
        """The rows of some lines; None if they are not as they are read here."""
        if not block.isascii() or b'"' in block or b"\0" in block:
            return None
        if block.endswith(_LINE * 2):
            block = block.rstrip(_LINE) + _LINE
        returns = b"\r" in block
        if returns and not block.count(b"\r") == block.count(b"\r\n") == block.count(_LINE):
            return None
        names, begin = self.names, 0
        if not names:
            begin = block.find(_LINE) + 1
            names = tuple(block[:begin].rstrip(b"\r\n").decode().split(self._delimiter))
        if not any(names) or len(names) > COLUMNS_MAX:
            return None
        text = np.frombuffer(b"".join((_ROOM, block, _ROOM)), dtype=np.uint8)
        line_end = 2 if returns else 1
        ends = _ends(text[ROOM + begin : len(block) + ROOM], ord(self._delimiter), len(names))
        if ends is None or (len(names) == 1 and bool((np.diff(ends[:, 0], prepend=-1) == line_end).any())):
            return None  # an empty line is no row
        first = self.number if self.names else 2
        self.names, self.number = names, first + len(ends)
        ends += ROOM + begin
        begins = np.append(ROOM + begin, ends[:-1, -1] + 1)[: len(ends)]
        ends[:, -1] -= line_end - 1
        numbers = np.arange(first, self.number, dtype=np.int64)
        return TextRows(names, text, begins, ends, numbers)


def readable(delimiter: str) -> bool:
    """True if cells that this separates are read here."""
    return len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0'


def _ends(text: Bytes, delimiter: int, columns: int) -> NDArray[np.int64] | None:
    """int64[n, columns]: the places of the separators in n lines; None if not all lines have so many cells."""
    separator: Mask = text == _NEW_LINE
    lines = np.count_nonzero(separator)
    separator |= text == delimiter
    separators = np.flatnonzero(separator)
    if len(separators) != lines * columns:
        return None
    ends = separators.reshape(lines, columns)
    return ends if bool((text[ends[:, -1]] == _NEW_LINE).all()) else None
