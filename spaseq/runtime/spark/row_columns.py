"""Rows that are columns already, as Arrow columns: no row, term or name is touched by itself."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from automata.matches.match_table import START, TIME
from automata.values import UNBOUND, Ids
from sparql_gpm.dictionary import Dictionary
from spaseq.outputs.row_table import RowTable
from spaseq.runtime.spark.blobs import placed
from spaseq.runtime.spark.shard import PARTITION_COLUMN

_MICROSECOND = 1000


def matches_batch(
    table: RowTable, columns: Mapping[str, str], schema: pa.Schema, shard: int, first: int
) -> pa.RecordBatch:
    """The rows, numbered from `first` on, as a batch of outcomes; `columns` are those of variables."""
    count = len(table)
    times, starts = (np.ascontiguousarray(table.matches.facts[:, column]) for column in (TIME, START))
    numbers = pa.array(np.arange(first, first + count)).cast(pa.string())
    found = {
        "kind": _repeated("match", count),
        "id": pc.binary_join_element_wise(f"{table.query}-{shard}", numbers, "-"),
        "query": _repeated(table.query, count),
        "time": pa.array(times // _MICROSECOND).cast(schema.field("time").type),
        "start": pa.array(starts // _MICROSECOND).cast(schema.field("start").type),
        "time_ns": pa.array(times),
        "start_ns": pa.array(starts),
        "partition": _partitions(table),
        "events": _events(table),
    }
    for variable, column in columns.items():
        if variable in table.columns:
            found[column] = _texts(table.columns[variable], table.dictionary)
    arrays = [found[field.name] if field.name in found else pa.nulls(count, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _repeated(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.string()), count)


def _texts(ids: Ids, dictionary: Dictionary) -> pa.Array:
    """The N-Triples text of each id, null where it is unbound; each distinct term is written once."""
    distinct, (places,) = placed((ids,))
    text, lengths = dictionary.joined(distinct)
    known = pa.StringArray.from_buffers(len(distinct), _offsets(np.cumsum(lengths)).buffers()[1], pa.py_buffer(text))
    return known.take(pa.array(places - 1, mask=places == UNBOUND))


def _partitions(table: RowTable) -> pa.Array:
    """The values of PARTITION BY that a row has; null where it has none."""
    hidden = [ids for name, ids in table.columns.items() if name.startswith(PARTITION_COLUMN)]
    if not hidden:
        return pa.nulls(len(table), pa.list_(pa.string()))
    cells = np.column_stack(hidden)
    bound = cells != UNBOUND
    counts = bound.sum(axis=1)
    values = _texts(cells[bound], table.dictionary)
    return pa.ListArray.from_arrays(_offsets(np.cumsum(counts)), values, mask=pa.array(counts == 0))


def _events(table: RowTable) -> pa.Array:
    """The graph names of each step that was taken."""
    which, symbols, ends = table.taken
    graphs = pa.ListArray.from_arrays(_offsets(ends), pa.array(table.taken_graphs, pa.string()))
    steps = pa.array(list(table.steps), pa.string()).take(pa.array(symbols))
    counts = np.bincount(which, minlength=len(table))
    pairs = pa.StructArray.from_arrays([steps, graphs], ["step", "graphs"])
    return pa.ListArray.from_arrays(_offsets(np.cumsum(counts)), pairs)


def _offsets(ends: Ids) -> pa.Array:
    """Arrow's offsets of lists or strings that end there."""
    return pa.array(np.concatenate(([0], ends)), pa.int32())
