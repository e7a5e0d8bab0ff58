"""Rows of JSON as columns of spans of the text that they were read from: only distinct values become texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from arrays.columns import in_ranges, offsets_of
from sparql_gpm.columns import Ids, Mask, as_ids
from sparql_gpm.lazy_terms import NULL
from sparql_gpm.terms import XSD, XSD_STRING
from sparql_gpm.well_formed import is_text
from spaseq.inputs.tables.cells import Cells, Number, RowBatch, json_value
from spaseq.inputs.tables.json_kinds import BOOLEAN, DOUBLE, ESCAPED, INTEGER, LIST, STRING, WIDE
from spaseq.inputs.tables.template import Path
from spaseq.inputs.tables.text_column import LOW, WORD, Bytes, TextColumn, words_at

_VALUES = INTEGER | DOUBLE | BOOLEAN
_DATATYPES = {INTEGER: XSD + "integer", DOUBLE: XSD + "double", BOOLEAN: XSD + "boolean"}


class JsonColumn:
    """n values: text[begins[i]:ends[i]] is a string without its quotes, or another value; see `PlainColumn`.

    kinds   uint8[n]: as the scanner gives them
    """

    untyped = False

    def __init__(self, text: Bytes, begins: Ids, ends: Ids, kinds: NDArray[np.uint8]) -> None:
        self._text, self._begins, self._ends, self._kinds = text, begins, ends, kinds

    def __len__(self) -> int:
        return len(self._kinds)

    @property
    def is_text(self) -> bool:
        """See `PlainColumn`."""
        return bool(self._bits & STRING) and not self._bits & _VALUES

    @property
    def is_integer(self) -> bool:
        """See `PlainColumn`."""
        return self._bits == INTEGER

    @property
    def is_certain(self) -> bool:
        """See `PlainColumn`; of strings beside other values two may be one text."""
        if self._bits & ESCAPED:
            return self.is_text and None not in self._decoded[1]
        return self.is_text or not self._bits & STRING

    @property
    def is_ascii(self) -> bool:
        """See `PlainColumn`; an escaped string may have any character."""
        return not self._bits & (ESCAPED | WIDE)

    @cached_property
    def has_null(self) -> bool:
        """See `PlainColumn`."""
        return not bool(self._kinds.all())

    def encoded(self) -> tuple[Ids, Any]:
        """See `PlainColumn`; of strings alone the values are without quotes."""
        return self._decoded[0] if self.is_text and self._bits & ESCAPED else self._coded

    def lexicals(self, values: Any) -> tuple[list[str | None], Sequence[str] | str]:
        """See `PlainColumn`."""
        texts = values.cast(pa.string()).to_pylist()
        if self.is_text:
            return list(map(_string, texts)) if self._bits & ESCAPED else texts, XSD_STRING
        if self._bits in _DATATYPES:
            return texts, _DATATYPES[self._bits]
        found = [json_value(_value(text)) for text in texts]
        datatypes = [datatype for _, datatype in found]
        return [lexical for lexical, _ in found], datatypes

    def integers(self) -> Ids | None:
        """See `PlainColumn`; strings may be integers, too."""
        return self._as_text.integers() if self._bits in (INTEGER, STRING) and not self.has_null else None

    def date_times(self) -> Ids | None:
        """See `PlainColumn`, for strings as in `TextColumn`."""
        return self._as_text.date_times() if self._bits == STRING and not self.has_null else None

    def lines(self) -> str | None:
        """See `PlainColumn`."""
        return self._as_text.lines() if self._bits == STRING and not self.has_null else None

    @cached_property
    def _bits(self) -> int:
        """Kinds that there are."""
        return int(np.bitwise_or.reduce(self._kinds, initial=0))

    @cached_property
    def _as_text(self) -> TextColumn:
        return TextColumn(self._text, self._begins, self._ends)

    @cached_property
    def _coded(self) -> tuple[Ids, Any]:
        """The cells as codes of distinct spans; beside other values strings have their quotes."""
        begins, ends = self._begins, self._ends
        if self._bits & STRING and self._bits & _VALUES:
            quotes = self._kinds & STRING
            begins, ends = begins - quotes, ends + quotes
        lengths = ends - begins
        null = self._kinds == 0 if self.has_null else None
        if len(lengths) and int(lengths.max()) <= WORD:
            words = words_at(self._text, begins) & LOW[lengths]
            found = pa.array(words, mask=null).dictionary_encode()
            distinct = np.asarray(found.dictionary).view(f"S{WORD}").tolist()
            return _codes(found.indices), pa.array(distinct, pa.binary())
        text, offsets = self._text[in_ranges(begins, lengths)], offsets_of(lengths)
        valid = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little"))
        buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(text)]
        found = pa.Array.from_buffers(pa.large_binary(), len(self), buffers).dictionary_encode()
        return _codes(found.indices), found.dictionary

    @cached_property
    def _decoded(self) -> tuple[tuple[Ids, Any], list[str | None]]:
        """As `_coded`, each text once, in whatever way it is written; and these texts."""
        codes, values = self._coded
        texts, _ = self.lexicals(values)
        first: dict[str | None, int] = {}
        same = [first.setdefault(text, len(first)) for text in texts]
        if len(first) == len(texts):
            return (codes, values), texts
        places = np.unique(np.array(same), return_index=True)[1]
        return (np.append(as_ids(same), NULL)[codes], pc.take(values, pa.array(places))), list(first)


@dataclass(frozen=True, slots=True)
class JsonCells:
    """The cells of n rows.

    begins, ends    int64[columns, n]: of each value
    kinds           uint8[columns, n]; LIST: its values are items
    items           int64[5, m]: column, row, begin, end and kind of each value in a list, by row
    """

    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    items: NDArray[np.int64]

    def between(self, begin: int, end: int) -> JsonCells:
        """The cells of the rows begin … end - 1."""
        first, last = np.searchsorted(self.items[1], (begin, end)).tolist()
        items = self.items[:, first:last].copy()
        items[1] -= begin
        return JsonCells(self.begins[:, begin:end], self.ends[:, begin:end], self.kinds[:, begin:end], items)


class JsonRows:
    """Rows of a table of JSON.

    paths       of the columns
    lines       int64[2, n]: begin and end of the line of each row
    """

    def __init__(
        self,
        paths: Sequence[Path],
        text: Bytes,
        cells: JsonCells,
        lines: NDArray[np.int64],
        numbers: Ids,
    ) -> None:
        self._paths, self._text, self._cells, self._lines = paths, text, cells, lines
        self.numbers = numbers
        self._columns: dict[Path, tuple[JsonColumn, Ids | None]] = {}

    def plain(self, path: Path) -> JsonColumn | None:
        """See `RowBatch`; None if a row has a list."""
        column, rows = self._column(path)
        return column if rows is None else None

    def cells(self, path: Path) -> Cells:
        """See `RowBatch`."""
        column, rows = self._column(path)
        codes, values = column.encoded()
        return Cells(codes, *column.lexicals(values), rows, () if rows is None else path[:1])

    def between(self, begin: int, end: int) -> JsonRows:
        """The rows begin … end - 1."""
        lines, numbers = self._lines[:, begin:end], self.numbers[begin:end]
        return JsonRows(self._paths, self._text, self._cells.between(begin, end), lines, numbers)

    def parts(self, rows_max: int) -> Iterator[RowBatch]:
        """See `RowBatch`; of equal length as far as possible."""
        count = max(1, -(-len(self.numbers) // rows_max))
        for begin, end in pairwise(len(self.numbers) * part // count for part in range(count + 1)):
            yield self.between(begin, end)

    def names(self) -> list[Path]:
        """See `RowBatch`: the columns that are read."""
        return list(self._paths)

    def shown(self, row: int) -> str:
        """See `RowBatch`."""
        begin, end = self._lines[:, row].tolist()
        return self._text[begin:end].tobytes().decode()

    def _column(self, path: Path) -> tuple[JsonColumn, Ids | None]:
        """The cells of a column, and the row of each if some are in lists."""
        if path not in self._columns:
            place, cells = self._paths.index(path), self._cells
            begins, ends, kinds = cells.begins[place], cells.ends[place], cells.kinds[place]
            lists, rows = kinds == LIST, None
            if lists.any():
                items = cells.items[1:, cells.items[0] == place]
                counts = np.where(lists, np.bincount(items[0], minlength=len(lists)), 1)
                rows = np.repeat(np.arange(len(lists)), counts)
                alone = ~lists[rows]
                begins, ends = _merged(alone, begins[~lists], items[1]), _merged(alone, ends[~lists], items[2])
                kinds = _merged(alone, kinds[~lists], items[3])
            self._columns[path] = JsonColumn(self._text, begins, ends, kinds), rows
        return self._columns[path]


def _codes(indices: Any) -> Ids:
    return as_ids(np.asarray(pc.fill_null(indices, NULL) if indices.null_count else indices))


def _merged(alone: Mask, values: NDArray[Any], items: Ids) -> NDArray[Any]:
    """Values at the places in `alone`, and items at the others."""
    found = np.empty(len(alone), dtype=values.dtype)
    found[alone], found[~alone] = values, items
    return found


def _value(text: str) -> object:
    """The value of a cell as `json_value` takes it."""
    match text[0]:
        case '"':
            return json.loads(text)
        case "t" | "f":
            return text == "true"
    return Number(text)


def _string(text: str) -> str | None:
    """The text of a string without its quotes; None for one with a lone surrogate."""
    if "\\" not in text:
        return text
    found: str = json.loads(f'"{text}"')
    return found if is_text(found) else None
