"""Events with the terms that they name, without a dictionary: what goes to another process, or into a log.

An id is a place among the terms, 0 for UNBOUND. Terms are concatenated canonical N-Triples texts with the values of
numbers beside them, so that neither end touches a single term.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrays.columns import renumbered
from sparql_gpm.columns import UNBOUND, EventBatch, Ids
from sparql_gpm.dictionary import Dictionary, may_have_blank_nodes
from sparql_gpm.term_text import with_suffix
from spaseq.runtime.state.snapshot import narrowed

_UNDERSCORE = ord("_")
_BLANK_INSIDE = (b"_", b"<<")
"""The beginnings of blank nodes and of triple terms, which may have some."""
_FEW = 64
"""So few terms are suffixed one by one sooner than all at once."""
_Column = tuple[str, bytes]
PackedTerms = tuple[bytes, _Column, bytes]
PackedColumns = tuple[_Column, _Column, list[str], _Column, _Column, _Column, _Column]
PackedEvents = tuple[PackedTerms, PackedColumns]
"""Terms and columns as plain values, which MessagePack takes."""


def packed_events(batch: EventBatch, dictionary: Dictionary, blank_suffix: str) -> PackedEvents:
    """Events as plain values; `blank_suffix` makes the labels of their blank nodes unlike those of any other events."""
    distinct, columns = renumbered((batch.subjects, batch.predicates, batch.objects))
    text, lengths = _suffixed(*dictionary.joined(distinct), blank_suffix)
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


def unpacked_texts(packed: PackedEvents) -> tuple[list[str], EventBatch]:
    """The N-Triples texts of the terms, "" for UNBOUND, and the events with places among them instead of ids."""
    (text, lengths, _), (times, streams, names, offsets, *columns) = packed
    ends = np.cumsum(_array(lengths)).tolist()
    texts = [text[begin:end].decode("utf-8") for begin, end in zip([0, *ends], ends, strict=False)]
    places = map(_array, columns)
    return ["", *texts], EventBatch(_array(times), _array(streams), names, _array(offsets), *places)


def _suffixed(text: bytes, lengths: Ids, suffix: str) -> tuple[bytes, Ids]:
    """The texts with the suffix after each blank node's label."""
    if len(lengths) <= _FEW:
        return _few_suffixed(text, lengths, suffix)
    ends = np.cumsum(lengths)
    places = np.flatnonzero(may_have_blank_nodes(text, ends - lengths))
    if not suffix or not len(places):
        return text, lengths
    characters, added = np.frombuffer(text, dtype=np.uint8), np.frombuffer(suffix.encode(), dtype=np.uint8)
    nodes = characters[(ends - lengths)[places]] == _UNDERSCORE
    suffixed, at = lengths.copy(), ends[places[nodes]]
    suffixed[places[nodes]] += len(added)
    text = np.insert(characters, np.repeat(at, len(added)), np.tile(added, len(at))).tobytes()
    return _suffixed_inside(text, suffixed, places[~nodes].tolist(), suffix)


def _few_suffixed(text: bytes, lengths: Ids, suffix: str) -> tuple[bytes, Ids]:
    """The same of few texts, one by one."""
    tokens, at = [], 0
    for length in lengths.tolist():
        token = text[at : at + length]
        tokens.append(with_suffix(token, suffix) if suffix and token.startswith(_BLANK_INSIDE) else token)
        at += length
    return b"".join(tokens), np.array([len(token) for token in tokens], dtype=np.int64)


def _suffixed_inside(text: bytes, lengths: Ids, places: Sequence[int], suffix: str) -> tuple[bytes, Ids]:
    """The texts with the suffix after the labels inside triple terms, which are at these places."""
    ends = np.cumsum(lengths)
    parts, at, suffixed = [], 0, lengths.copy()
    for place in places:
        begin, end = int(ends[place] - lengths[place]), int(ends[place])
        token = with_suffix(text[begin:end], suffix)
        parts += [text[at:begin], token]
        suffixed[place] = len(token)
        at = end
    return b"".join([*parts, text[at:]]) if parts else text, suffixed


def _column(values: Ids) -> _Column:
    values = narrowed(values)
    return values.dtype.str, values.tobytes()


def _raw(column: _Column) -> NDArray[Any]:
    return np.frombuffer(column[1], dtype=column[0])


def _array(column: _Column) -> Ids:
    return _raw(column).astype(np.int64)
