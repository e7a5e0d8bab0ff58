"""A column of CSV as parts of the text that it was read from: cells are compared and counted as words of eight bytes.

A word has the bytes of a cell, the first one lowest, and 0 behind them, which no cell contains.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from arrays.columns import in_ranges, offsets_of
from sparql_gpm.columns import Ids, Mask, as_ids
from sparql_gpm.lazy_terms import NULL
from spaseq.inputs.tables.arrow_column import DIGITS_MAX, ArrowColumn
from spaseq.inputs.tables.arrow_values import lexicals

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
ROOM = 16
"""Bytes that a text has before its first cell and behind its last one, whatever they are."""
WORD = 8
"""Bytes of a word."""
LOW = np.array([(1 << 8 * size) - 1 for size in range(WORD + 1)], dtype=np.uint64)
"""By a number of bytes, a mask of so many, the lowest ones."""
_ZEROS, _SIXES, _HIGH = (np.uint64(int.from_bytes(bytes([each]) * WORD)) for each in (0x30, 0x06, 0xF0))
_STEPS = tuple(
    (np.uint64(mask), np.uint64(factor), np.uint64(shift))
    for mask, factor, shift in (
        (0x0F0F0F0F0F0F0F0F, (10 << 8) + 1, 8),
        (0x00FF00FF00FF00FF, (100 << 16) + 1, 16),
        (0x0000FFFF0000FFFF, (10000 << 32) + 1, 32),
    )
)
"""Neighbouring digits become numbers of two digits, those numbers of four, and those one of eight."""

_SECONDS = len("2026-01-31T12:00:00")
_YEARS = 1900, 2199
"""Times of other years may be beyond what nanoseconds can say."""


class TextColumn:
    """n cells: text[begins[i]:ends[i]], in ASCII, without NUL; ROOM bytes stand before and behind them.

    The cells are text without a type, as in CSV: an empty one is null. See `PlainColumn`.
    """

    untyped = True
    is_text = True
    is_integer = False
    is_certain = True
    is_ascii = True

    def __init__(self, text: Bytes, begins: Ids, ends: Ids) -> None:
        self._text, self._begins, self._ends = text, begins, ends

    def __len__(self) -> int:
        return len(self._begins)

    @cached_property
    def has_null(self) -> bool:
        """Some cell is empty."""
        return bool((self._lengths == 0).any())

    def encoded(self) -> tuple[Ids, Any]:
        """See `PlainColumn`."""
        if self._longest > WORD:
            return ArrowColumn(self.array(), untyped=True).encoded()
        words = words_at(self._text, self._begins) & LOW[self._lengths]
        found = pa.array(words, mask=words == 0 if self.has_null else None).dictionary_encode()
        indices = pc.fill_null(found.indices, NULL) if self.has_null else found.indices
        distinct = np.asarray(found.dictionary)
        return as_ids(np.asarray(indices)), pa.array(distinct.view(f"S{WORD}").tolist(), pa.binary())

    def lexicals(self, values: Any) -> tuple[list[str | None], None]:
        """See `PlainColumn`."""
        return lexicals(values, untyped=True)[0], None

    def integers(self) -> Ids | None:
        """See `PlainColumn`."""
        if not len(self) or self.has_null or self._longest > DIGITS_MAX:
            return None
        first = self._text[self._begins]
        negative: Mask = first == ord("-")
        if not negative.any():
            return None if self._lead(first) else self._number(self._lengths)
        lengths = self._lengths - negative
        if not lengths.all() or self._lead(self._text[self._ends - lengths]):
            return None
        numbers = self._number(lengths)
        return None if numbers is None else np.where(negative, -numbers, numbers)

    def date_times(self) -> Ids | None:
        """See `PlainColumn`, for texts of the form 2026-01-31T12:00:00 that all end with Z, or none of them."""
        length = self._longest
        if length not in (_SECONDS, _SECONDS + 1) or not bool((self._lengths == length).all()):
            return None
        if length > _SECONDS and not bool((self._text[self._ends - 1] == ord("Z")).all()):
            return None
        return _times_at(self._text, self._begins)

    def lines(self) -> str | None:
        """See `PlainColumn`."""
        return ArrowColumn(self.array(), untyped=True).lines()

    def array(self) -> Any:
        """The cells as an Arrow array of bytes."""
        text = self._text[in_ranges(self._begins, self._lengths)]
        offsets = offsets_of(self._lengths).astype(np.int32)
        return pa.Array.from_buffers(pa.binary(), len(self), [None, pa.py_buffer(offsets), pa.py_buffer(text)])

    @cached_property
    def _lengths(self) -> Ids:
        return self._ends - self._begins

    @cached_property
    def _longest(self) -> int:
        return int(self._lengths.max()) if len(self) else 0

    def _lead(self, first: Bytes) -> bool:
        """True if some number of several characters begins with 0."""
        zeros = np.flatnonzero(first == ord("0"))
        return bool((self._lengths[zeros] > 1).any())

    def _number(self, lengths: Ids) -> Ids | None:
        """The numbers that the last characters of cells are, so many of each; None if some is no digit."""
        if self._longest <= WORD:
            found = self._digits(lengths, self._ends - WORD)
            return None if found is None else found.view(np.int64)
        lower = self._digits(np.minimum(lengths, WORD), self._ends - WORD)
        upper = self._digits(np.maximum(lengths - WORD, 0), self._ends - 2 * WORD)
        return None if lower is None or upper is None else (lower + upper * np.uint64(10**WORD)).view(np.int64)

    def _digits(self, lengths: Ids, begins: Ids) -> Words | None:
        """The numbers of which so many of the eight bytes from these places on, the last ones, are digits."""
        unread = LOW[WORD - lengths]
        words = (words_at(self._text, begins) & ~unread) | (_ZEROS & unread)
        if not bool((((words & _HIGH) == _ZEROS) & (((words + _SIXES) & _HIGH) == _ZEROS)).all()):
            return None
        for mask, factor, shift in _STEPS:
            words &= mask
            words *= factor
            words >>= shift
        return words


def words_at(text: Bytes, begins: Ids) -> Words:
    """The eight bytes from each place on."""
    every = np.ndarray(len(text) - WORD + 1, np.dtype("<u8"), text.data, strides=(1,))
    return every[begins].astype(np.uint64, copy=False)


def _times_at(text: Bytes, begins: Ids) -> Ids | None:
    """The nanoseconds since the epoch of the times that begin at these places; None if some is of another form."""
    date, hours, seconds = (words_at(text, begins + place) for place in (0, WORD, _SECONDS - WORD))
    fields = _fields(date, "0000-00-"), _fields(hours, "00T00:00"), _fields(seconds, "00:00:00")
    if any(found is None for found in fields):
        return None
    (year, month), (day, hour, minute), (_, _, second) = (found or () for found in fields)
    months = (year - 1970) * 12 + month - 1
    first, end = (
        each.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) for each in (months, months + 1)
    )
    within = (month >= 1) & (month <= 12) & (day >= 1) & (first + day <= end)
    within &= (year >= _YEARS[0]) & (year <= _YEARS[1]) & (hour < 24) & (minute < 60) & (second < 60)
    if not bool(within.all()):
        return None
    return ((((first + day - 1) * 24 + hour) * 60 + minute) * 60 + second) * 10**9


def _fields(words: Words, form: str) -> tuple[Ids, ...] | None:
    """The numbers in words of a form, in which 0 stands for a digit; None if some word has another form."""
    digits = np.uint64(sum(0xFF << 8 * place for place, each in enumerate(form) if each == "0"))
    constant = np.uint64(int.from_bytes(form.encode(), "little")) & ~digits
    if not bool(((words & ~digits) == constant).all()):
        return None
    padded = (words & digits) | (_ZEROS & ~digits)
    if not bool((((padded & _HIGH) == _ZEROS) & (((padded + _SIXES) & _HIGH) == _ZEROS)).all()):
        return None
    found = []
    for begin, end in (each.span() for each in re.finditer("0+", form)):
        number = np.zeros(len(words), dtype=np.int64)
        for place in range(begin, end):
            number = number * 10 + ((words >> np.uint64(8 * place)) & np.uint64(0x0F)).astype(np.int64)
        found.append(number)
    return tuple(found)
