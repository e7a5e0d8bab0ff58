"""Columns of result rows as Arrow arrays, made without a Python value for each row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from arrays.columns import UNBOUND, Ids, offsets_of, renumbered
from sparql_gpm.dictionary import Dictionary
from spaseq.outputs.row_table import RowTable

STRINGS = pa.list_(pa.string())
EVENTS = pa.list_(pa.struct([("step", pa.string()), ("graphs", STRINGS)]))


def terms(ids: Ids, dictionary: Dictionary) -> pa.Array:
    """The N-Triples text of each id, null where it is UNBOUND; each distinct term is written once."""
    distinct, (places,) = renumbered((ids,))
    text, lengths = dictionary.joined(distinct)
    offsets = _offsets(lengths).buffers()[1]
    known = pa.StringArray.from_buffers(len(distinct), offsets, pa.py_buffer(text))
    return known.take(pa.array(places - 1, mask=places == UNBOUND))


def bound_terms(columns: list[Ids], dictionary: Dictionary) -> pa.Array:
    """The list of the N-Triples texts of each row, without its unbound cells; null where none is bound."""
    cells = np.column_stack(columns)
    bound = cells != UNBOUND
    counts = bound.sum(axis=1)
    return pa.ListArray.from_arrays(_offsets(counts), terms(cells[bound], dictionary), mask=pa.array(counts == 0))


def events(table: RowTable) -> pa.Array:
    """The EVENTS of each row: the steps of its match with their graph names."""
    which, symbols, ends = table.taken
    graphs = pa.ListArray.from_arrays(_offsets(np.diff(ends, prepend=0)), pa.array(table.taken_graphs, pa.string()))
    steps = pa.array(list(table.steps), pa.string()).take(pa.array(symbols))
    pairs = pa.StructArray.from_arrays([steps, graphs], ["step", "graphs"])
    return pa.ListArray.from_arrays(_offsets(np.bincount(which, minlength=len(table))), pairs)


def repeated(text: str, count: int) -> pa.Array:
    """The same text `count` times."""
    return pa.repeat(pa.scalar(text, pa.string()), count)


def _offsets(counts: Ids) -> pa.Array:
    """Arrow's offsets of lists or strings of these lengths."""
    return pa.array(offsets_of(counts), pa.int32())
