"""Columns of result rows as Arrow arrays, made without a Python value for each row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from arrays.columns import UNBOUND, Ids, offsets_of, places_of
from sparql_gpm.dictionary import Dictionary
from spaseq.outputs.destination import encoded
from spaseq.outputs.row_table import Objects, RowTable

STRINGS = pa.list_(pa.string())
EVENTS = pa.list_(pa.struct([("step", pa.string()), ("graphs", STRINGS)]))
EVENT_MAP = pa.map_(pa.string(), STRINGS)
TERMS = pa.dictionary(pa.int32(), pa.string())
_OFFSET_MAX = np.iinfo(np.int32).max


def term_dictionary(ids: Ids, dictionary: Dictionary) -> pa.Array:
    """The N-Triples text of each id as an array of type TERMS, null where it is UNBOUND."""
    distinct, places = places_of(ids)
    unbound = ids == UNBOUND
    known = _texts(distinct[distinct != UNBOUND], dictionary)
    places = places - 1 if unbound.any() else places  # UNBOUND is less than all ids
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32), mask=unbound), known)


def terms(ids: Ids, dictionary: Dictionary) -> pa.Array:
    """The N-Triples text of each id, null where it is UNBOUND; each distinct term is written once."""
    return term_dictionary(ids, dictionary).dictionary_decode()


def bound_terms(columns: list[Ids], dictionary: Dictionary) -> pa.Array:
    """The list of the N-Triples texts of each row, without its unbound cells; null where none is bound."""
    cells = np.column_stack(columns)
    bound = cells != UNBOUND
    counts = bound.sum(axis=1)
    return pa.ListArray.from_arrays(_offsets(counts), terms(cells[bound], dictionary), mask=pa.array(counts == 0))


def events(table: RowTable) -> pa.Array:
    """The EVENTS of each row: the steps of its match with their graph names."""
    offsets, steps, graphs = _events(table)
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([steps, graphs], ["step", "graphs"]))


def event_map(table: RowTable) -> pa.Array:
    """The same as an array of type EVENT_MAP."""
    return pa.MapArray.from_arrays(*_events(table))


def repeated(text: str, count: int) -> pa.Array:
    """The same text `count` times."""
    return pa.repeat(pa.scalar(text, pa.string()), count)


def _events(table: RowTable) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The offsets of the steps of each row, the steps, and their lists of graph names."""
    if table.word is not None:
        return _alike(table, table.word)
    which, symbols, ends = table.taken
    graphs = pa.ListArray.from_arrays(_offsets(np.diff(ends, prepend=0)), _graphs(table.by_step.named, table.names))
    steps = pa.array(list(table.steps), pa.string()).take(pa.array(symbols))
    return _offsets(np.bincount(which, minlength=len(table))), steps, graphs


def _alike(table: RowTable, word: Ids) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The same of rows that all have one graph for each step of a word, and for no other."""
    taken = np.arange(len(table.named) + 1, dtype=np.int32)
    steps = [table.steps[symbol].encode() for symbol in word.tolist()]
    lengths = np.tile(np.array(list(map(len, steps)), dtype=np.int64), len(table))
    text = pa.py_buffer(b"".join(steps) * len(table))
    repeated = pa.StringArray.from_buffers(len(lengths), _offsets(lengths).buffers()[1], text)
    graphs = pa.ListArray.from_arrays(pa.array(taken), _graphs(table.named, table.names))
    return pa.array(taken[:: len(word)]), repeated, graphs


def _graphs(named: Ids, names: Objects) -> pa.Array:
    """The names at these places; each is made once."""
    places = named
    if len(names) > len(named):
        distinct, places = places_of(named)
        names = names[distinct]
    return _strings(names.tolist()).take(pa.array(places))


def _strings(texts: list[str]) -> pa.Array:
    """The texts as UTF-8 has them."""
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:  # a lone surrogate
        return pa.array([encoded(text).decode() for text in texts], pa.string())


def _texts(ids: Ids, dictionary: Dictionary) -> pa.Array:
    """The N-Triples texts of some ids."""
    text, lengths = dictionary.joined(ids)
    try:
        text.decode()
    except UnicodeDecodeError:  # a lone surrogate
        tokens = (dictionary.token(identifier).decode("utf-8", "surrogatepass") for identifier in ids.tolist())
        return _strings(list(tokens))
    return pa.StringArray.from_buffers(len(ids), _offsets(lengths).buffers()[1], pa.py_buffer(text))


def _offsets(counts: Ids) -> pa.Array:
    """Arrow's offsets of lists or strings of these lengths."""
    offsets = offsets_of(counts)
    return pa.array(offsets.astype(np.int32) if offsets[-1] <= _OFFSET_MAX else offsets, pa.int32())
