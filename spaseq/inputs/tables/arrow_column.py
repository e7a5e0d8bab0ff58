"""A column of an Arrow record batch as a whole: tests of all its cells at once, numbers and texts without objects."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from arrays.times import TIME_NS_MAX, TIME_NS_MIN
from sparql_gpm.columns import Ids, as_ids
from sparql_gpm.lazy_terms import NULL
from spaseq.inputs.tables.arrow_values import UNIT_NS, lexicals
from spaseq.inputs.tables.marks import NO_TEXT

DIGITS_MAX = 15
"""Longer integers, with their signs, are read one by one."""
_ASCII = 0x80


class ArrowColumn:
    """See `PlainColumn`."""

    def __init__(self, array: Any, untyped: bool) -> None:
        self._array, self.untyped = array, untyped

    def __len__(self) -> int:
        return len(self._array)

    @property
    def is_text(self) -> bool:
        """See `PlainColumn`."""
        return self.untyped or bool(pa.types.is_string(self._array.type))

    @property
    def is_integer(self) -> bool:
        """See `PlainColumn`."""
        return bool(pa.types.is_integer(self._array.type))

    @property
    def is_certain(self) -> bool:
        """See `PlainColumn`."""
        if not self.is_text:
            types = pa.types
            return any(test(self._array.type) for test in (types.is_integer, types.is_floating, types.is_boolean))
        return self.is_ascii or (self.untyped and NO_TEXT.encode() not in self._bytes.tobytes())

    @cached_property
    def is_ascii(self) -> bool:
        """See `PlainColumn`."""
        return not len(self._bytes) or int(self._bytes.max()) < _ASCII

    @cached_property
    def has_null(self) -> bool:
        """See `PlainColumn`."""
        return self._array.null_count > 0 or (self.untyped and not bool((np.diff(self._ends) > 0).all()))

    def encoded(self) -> tuple[Ids, Any]:
        """See `PlainColumn`; the values have the type of the cells."""
        if self.untyped and self.has_null:
            encoded = pc.if_else(pc.equal(self._array, b""), None, self._array).dictionary_encode()
        else:
            encoded = self._array.dictionary_encode()
        indices = encoded.indices
        if indices.null_count:
            indices = pc.fill_null(indices, NULL)
        return as_ids(np.asarray(indices)), encoded.dictionary

    def lexicals(self, values: Any) -> tuple[list[str | None], str | None]:
        """See `PlainColumn`."""
        return lexicals(values, self.untyped)

    def integers(self) -> Ids | None:
        """See `PlainColumn`."""
        if self.has_null:
            return None
        if self.is_integer:
            whole = self._array.type != pa.uint64()
            return as_ids(np.asarray(self._array.cast(pa.int64()))) if whole else None
        if not self.is_text or not len(self):
            return None
        lengths = np.diff(self._ends)
        first, in_text = self._characters[self._ends[:-1]], self._bytes
        digits = (in_text >= ord("0")) & (in_text <= ord("9"))
        signs = first == ord("-")
        if np.count_nonzero(~digits) != np.count_nonzero(signs) or (lengths > DIGITS_MAX).any():
            return None
        number = np.where(signs, self._characters[self._ends[:-1] + (lengths > 1)], first)
        if ((number == ord("0")) & (lengths > 1)).any() or (lengths == signs).any():
            return None
        return as_ids(np.asarray(self._array.cast(pa.string()).cast(pa.int64())))

    def date_times(self) -> Ids | None:
        """See `PlainColumn`."""
        kind = self._array.type
        if not pa.types.is_timestamp(kind) or self.has_null or not len(self):
            return None
        numbers, unit = np.asarray(self._array.cast(pa.int64())), UNIT_NS[kind.unit]
        if int(numbers.min()) * unit < TIME_NS_MIN or int(numbers.max()) * unit > TIME_NS_MAX:
            return None
        return as_ids(numbers * unit)

    def lines(self) -> str | None:
        """See `PlainColumn`."""
        if not self.is_text or self.has_null or not self.is_ascii:
            return None
        whole = "\n".join(self._array.cast(pa.string()).to_pylist())
        return whole if whole.count("\n") == len(self) - 1 else None

    @cached_property
    def _characters(self) -> NDArray[np.uint8]:
        """The text that the cells are parts of, and at least a byte more."""
        buffer = self._array.buffers()[2]
        return np.append(np.frombuffer(buffer or b"", dtype=np.uint8), np.zeros(2, dtype=np.uint8))

    @cached_property
    def _ends(self) -> Ids:
        """The beginning of the first cell, and the end of each."""
        begin = self._array.offset
        found = np.frombuffer(self._array.buffers()[1], dtype=np.int32)[begin : begin + len(self) + 1]
        return found.astype(np.int64)

    @property
    def _bytes(self) -> NDArray[np.uint8]:
        """The text of all cells."""
        if not len(self):
            return np.zeros(0, dtype=np.uint8)
        return self._characters[int(self._ends[0]) : int(self._ends[-1])]
