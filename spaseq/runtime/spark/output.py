"""The columns of the DataFrame of a job's output: its schema, and rows written to it and read from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arrays.times import nearest_time
from automata.matches.match_table import START, TIME
from sparql_gpm.term_text import term_of
from sparql_gpm.terms import Term, to_ntriples
from spaseq.outputs.arrow_columns import EVENTS, STRINGS, bound_terms, events, repeated, terms
from spaseq.outputs.dead_letters import LETTER_FIELDS
from spaseq.outputs.row_table import RowTable
from spaseq.outputs.rows import Row, ntriples_lines
from spaseq.runtime.spark.shard import PARTITION_COLUMN, ShardOutput, without_hidden

OUTPUT_ROWS_MAX = 50_000
"""Rows in one packed blob of output."""
_MICROSECOND = 1000
_TIME = pa.timestamp("us", tz="UTC")
_BEFORE = pa.schema(
    [
        ("kind", pa.string()), ("id", pa.string()), ("query", pa.string()), ("time", _TIME), ("start", _TIME),
        ("time_ns", pa.int64()), ("start_ns", pa.int64()), ("partition", STRINGS),
    ]
)  # fmt: skip
_LETTER = pa.struct(
    [(name, pa.int64() if name in ("line", "column", "raw_length") else pa.string()) for name in LETTER_FIELDS]
)
_AFTER = pa.schema([("events", EVENTS), ("graph", pa.string()), ("triples", STRINGS), ("letter", _LETTER)])
FIXED = (*_BEFORE.names, *_AFTER.names)
"""The columns that every job has."""


def column_names(variables: Iterable[str]) -> dict[str, str]:
    """variable → its column: its name, with `_` appended while another column has it; Spark ignores case."""
    taken = {name.lower() for name in FIXED}
    found = {}
    for variable in dict.fromkeys(variables):
        name = variable
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        found[variable] = name
    return found


@dataclass(frozen=True, slots=True)
class OutputTable:
    """The table of a job's output; `columns` are those of variables."""

    columns: Mapping[str, str]

    def schema(self) -> pa.Schema:
        """The schema, for Arrow."""
        return pa.schema([*_BEFORE, *((name, pa.string()) for name in self.columns.values()), *_AFTER])

    def batches(self, shard: int | str, output: ShardOutput) -> Iterator[pa.RecordBatch]:
        """The output of a shard, or of what is named in its place in ids, at most OUTPUT_ROWS_MAX rows in a batch."""
        schema, records = self.schema(), []
        for first, found in output.found:
            if isinstance(found, list):
                records += [self._record(shard, first + number, row) for number, row in enumerate(found)]
                continue
            yield from _batches(records, schema)
            records = []
            for begin in range(0, len(found), OUTPUT_ROWS_MAX):
                yield self._batch(found.part(begin, begin + OUTPUT_ROWS_MAX), schema, shard, first + begin)
        for letter in output.letters:
            records.append({"kind": letter.kind, "letter": {name: getattr(letter, name) for name in LETTER_FIELDS}})
        yield from _batches(records, schema)

    def _record(self, shard: int | str, number: int, full: Row) -> dict[str, Any]:
        row, partition = without_hidden(full)
        values = {name: to_ntriples(term) for name, term in row.bindings}
        return {
            "kind": "match",
            "id": f"{row.query}-{shard}-{number}",
            "query": row.query,
            "time": row.time // _MICROSECOND,
            "start": row.start // _MICROSECOND,
            "time_ns": nearest_time(row.time),
            "start_ns": nearest_time(row.start),
            "partition": [to_ntriples(term) for term in partition] or None,
            **{column: values.get(variable) for variable, column in self.columns.items()},
            "events": [{"step": step, "graphs": list(graphs)} for step, graphs in row.events],
            "graph": row.graph,
            "triples": None if row.graph is None else ntriples_lines(row.triples),
        }

    def _batch(self, table: RowTable, schema: pa.Schema, shard: int | str, first: int) -> pa.RecordBatch:
        """Rows that are columns, numbered from `first`."""
        count, dictionary = len(table), table.dictionary
        times, starts = (np.ascontiguousarray(table.matches.facts[:, column]) for column in (TIME, START))
        numbers = pa.array(np.arange(first, first + count)).cast(pa.string())
        partition = [ids for name, ids in table.columns.items() if name.startswith(PARTITION_COLUMN)]
        bound = [name for name in self.columns if name in table.columns]
        found = {
            "kind": repeated("match", count),
            "id": pc.binary_join_element_wise(f"{table.query}-{shard}", numbers, "-"),
            "query": repeated(table.query, count),
            "time": pa.array(times // _MICROSECOND).cast(_TIME),
            "start": pa.array(starts // _MICROSECOND).cast(_TIME),
            "time_ns": pa.array(times),
            "start_ns": pa.array(starts),
            **({"partition": bound_terms(partition, dictionary)} if partition else {}),
            **{self.columns[name]: terms(table.columns[name], dictionary) for name in bound},
            "events": events(table),
        }
        arrays = [found[field.name] if field.name in found else pa.nulls(count, field.type) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _batches(records: Sequence[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for begin in range(0, len(records), OUTPUT_ROWS_MAX):
        yield pa.RecordBatch.from_pylist(records[begin : begin + OUTPUT_ROWS_MAX], schema=schema)


def row_of(fields: Mapping[str, Any]) -> Row:
    """The result row in the fields of a match."""
    bound = tuple((_variable(name), _term(text)) for name, text in fields.items() if name not in FIXED and text)
    steps = tuple((event["step"], tuple(event["graphs"])) for event in fields["events"])
    triples = tuple(_triple(line) for line in fields["triples"] or ())
    return Row(fields["query"], fields["time_ns"], fields["start_ns"], bound, steps, fields["graph"], triples)


@cache
def _variable(column: str) -> str:
    stripped = column.rstrip("_")
    return stripped if stripped.lower() in FIXED else column


@lru_cache(maxsize=1 << 16)
def _term(text: str) -> Term:
    """The term of a text; rows have many terms in common."""
    return term_of(text.encode())


def _triple(line: str) -> tuple[Term, Term, Term]:
    subject, predicate, rest = line.split(" ", 2)
    return _term(subject), _term(predicate), _term(rest.removesuffix(" ."))
