"""Outcomes as columns: the schema of the DataFrame that a job gives, and rows on their way into and out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import pyarrow as pa

from sparql_gpm.term_text import term_of
from sparql_gpm.terms import Term, to_ntriples
from spaseq.outputs.rows import Row, ntriples_lines
from spaseq.runtime.spark.blobs import Letter
from spaseq.runtime.spark.row_columns import matches_batch
from spaseq.runtime.spark.shard import Outcomes, shown

OUTCOME_ROWS_MAX = 50_000
"""Rows in one packed blob of outcomes."""
_STRINGS = pa.list_(pa.string())
_TIME = pa.timestamp("us", tz="UTC")
_LETTER = (("stream", pa.string()), ("source", pa.string()), ("line", pa.int64()), ("column", pa.int64()),
           ("reason", pa.string()), ("raw", pa.string()))  # fmt: skip
_BEFORE = (
    ("kind", pa.string(), "string"),
    ("id", pa.string(), "string"),
    ("query", pa.string(), "string"),
    ("time", _TIME, "timestamp"),
    ("start", _TIME, "timestamp"),
    ("time_ns", pa.int64(), "bigint"),
    ("start_ns", pa.int64(), "bigint"),
    ("partition", _STRINGS, "array<string>"),
)
_AFTER = (
    (
        "events",
        pa.list_(pa.struct([("step", pa.string()), ("graphs", _STRINGS)])),
        "array<struct<step: string, graphs: array<string>>>",
    ),
    ("graph", pa.string(), "string"),
    ("triples", _STRINGS, "array<string>"),
    (
        "letter",
        pa.struct(list(_LETTER)),
        "struct<stream: string, source: string, line: bigint, column: bigint, reason: string, raw: string>",
    ),
)
FIXED = tuple(name for name, *_ in (*_BEFORE, *_AFTER))
"""The columns that every job has."""


def column_names(variables: Iterable[str]) -> dict[str, str]:
    """variable → its column: its own name, with `_` after it where another column has it; Spark ignores case."""
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
class OutcomeTable:
    """How outcomes become columns.

    columns     variable → its column
    """

    columns: Mapping[str, str]

    def ddl(self) -> str:
        """The schema, for Spark."""
        variables = [f"`{name}` string" for name in self.columns.values()]
        before, after = ([f"{name} {spark}" for name, _, spark in part] for part in (_BEFORE, _AFTER))
        return ", ".join([*before, *variables, *after])

    def schema(self) -> pa.Schema:
        """The schema, for Arrow."""
        variables = [(name, pa.string()) for name in self.columns.values()]
        fixed = [[(name, kind) for name, kind, _ in part] for part in (_BEFORE, _AFTER)]
        return pa.schema([*fixed[0], *variables, *fixed[1]])

    def batches(self, shard: int, outcomes: Outcomes) -> Iterator[pa.RecordBatch]:
        """Outcomes of a shard, some thousand in a batch."""
        schema, records = self.schema(), []
        for first, found in outcomes.found:
            if isinstance(found, list):
                records += [self._record(shard, first + number, row) for number, row in enumerate(found)]
                continue
            yield from _batches(records, schema)
            records = []
            for begin in range(0, len(found), OUTCOME_ROWS_MAX):
                part = found.part(begin, begin + OUTCOME_ROWS_MAX)
                yield matches_batch(part, self.columns, schema, shard, first + begin)
        yield from _batches(records + [_letter_record(letter) for letter in outcomes.letters], schema)

    def _record(self, shard: int, number: int, full: Row) -> dict[str, Any]:
        row, partition = shown(full)
        values = {name: to_ntriples(term) for name, term in row.bindings}
        return {
            "kind": "match",
            "id": f"{row.query}-{shard}-{number}",
            "query": row.query,
            "time": row.time // 1000,
            "start": row.start // 1000,
            "time_ns": row.time,
            "start_ns": row.start,
            "partition": [to_ntriples(term) for term in partition] or None,
            **{column: values.get(variable) for variable, column in self.columns.items()},
            "events": [{"step": step, "graphs": list(graphs)} for step, graphs in row.events],
            "graph": row.graph,
            "triples": None if row.graph is None else ntriples_lines(row.triples),
        }


def _batches(records: Sequence[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for begin in range(0, len(records), OUTCOME_ROWS_MAX):
        yield pa.RecordBatch.from_pylist(records[begin : begin + OUTCOME_ROWS_MAX], schema=schema)


def _letter_record(letter: Letter) -> dict[str, Any]:
    return {"kind": letter.kind, "letter": {name: getattr(letter, name) for name, _ in _LETTER}}


def packed_batch(batch: pa.RecordBatch) -> bytes:
    """A batch as one binary value."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpacked_batches(blobs: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    """The batches in binary values."""
    for blob in blobs:
        with pa.ipc.open_stream(blob) as reader:
            yield from reader


def row_of(fields: Mapping[str, Any]) -> Row:
    """A match as the engine's row."""
    bound = tuple((_variable(name), _term(text)) for name, text in fields.items() if name not in FIXED and text)
    events = tuple((event["step"], tuple(event["graphs"])) for event in fields["events"])
    triples = tuple(_triple(line) for line in fields["triples"] or ())
    return Row(fields["query"], fields["time_ns"], fields["start_ns"], bound, events, fields["graph"], triples)


@cache
def _variable(column: str) -> str:
    stripped = column.rstrip("_")
    return stripped if stripped.lower() in FIXED else column


@lru_cache(maxsize=1 << 16)
def _term(text: str) -> Term:
    """Rows have many terms in common."""
    return term_of(text.encode())


def _triple(line: str) -> tuple[Term, Term, Term]:
    subject, predicate, rest = line.split(" ", 2)
    return _term(subject), _term(predicate), _term(rest.removesuffix(" ."))
