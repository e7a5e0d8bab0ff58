"""Events with the terms that they name, without a dictionary: what goes to another process, or into a log.

An id is a place among the terms, 0 for UNBOUND. Terms are concatenated canonical N-Triples texts with the values of
numbers beside them, so that neither end touches a single term.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrays.columns import renumbered
from sparql_gpm.columns import UNBOUND, EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from spaseq.runtime.state.snapshot import narrowed

_BLANK = ord("_")
_Column = tuple[str, bytes]
PackedTerms = tuple[bytes, _Column, bytes]
PackedColumns = tuple[_Column, _Column, list[str], _Column, _Column, _Column, _Column]
PackedEvents = tuple[PackedTerms, PackedColumns]
"""Terms and columns as plain values, which MessagePack takes."""


def packed_events(batch: EventBatch, dictionary: Dictionary, blank_suffix: str) -> PackedEvents:
    """Events as plain values; `blank_suffix` makes the labels of their blank nodes unlike those of any other events."""
    distinct, columns = renumbered((batch.subjects, batch.predicates, batch.objects))
    text, lengths = _suffixed(*dictionary.joined(distinct), blank_suffix.encode())
    subjects, predicates, objects = map(_column, columns)
    names = list(batch.names)
    events = (
        _column(batch.times),
        _column(batch.streams),
        names,
        _column(batch.offsets),
        subjects,
        predicates,
        objects,
    )
    return (text, _column(lengths), dictionary.numbers[distinct].tobytes()), events


def unpacked_events(packed: PackedEvents, dictionary: Dictionary) -> EventBatch:
    """The events, with the dictionary's ids for their terms."""
    (text, lengths, numbers), (times, streams, names, offsets, *columns) = packed
    found = dictionary.intern_joined(text, _array(lengths), np.frombuffer(numbers, dtype=np.float64))
    ids = np.concatenate((np.array([UNBOUND], dtype=np.int64), found))
    return EventBatch(_array(times), _array(streams), names, _array(offsets), *(ids[_raw(c)] for c in columns))


def _suffixed(text: bytes, lengths: Ids, suffix: bytes) -> tuple[bytes, Ids]:
    """The texts with the suffix after each blank node's label."""
    starts = np.cumsum(lengths) - lengths
    blank = np.frombuffer(text, dtype=np.uint8)[starts] == _BLANK
    if not suffix or not blank.any():
        return text, lengths
    parts, at = [], 0
    for end in (starts + lengths)[blank].tolist():
        parts += [text[at:end], suffix]
        at = end
    return b"".join([*parts, text[at:]]), lengths + len(suffix) * blank


def _column(values: Ids) -> _Column:
    values = narrowed(values)
    return values.dtype.str, values.tobytes()


def _raw(column: _Column) -> NDArray[Any]:
    return np.frombuffer(column[1], dtype=column[0])


def _array(column: _Column) -> Ids:
    return _raw(column).astype(np.int64)
