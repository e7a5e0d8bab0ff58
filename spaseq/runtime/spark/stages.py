"""The two stages as Spark runs them: `mapInArrow`, then `transformWithState`; over static input `mapInArrow` again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from kb.base import KnowledgeBases
from sparql_gpm.dictionary import Dictionary
from spaseq.inputs.arrow import QUADS, lines_of, quads_of, texts_of
from spaseq.inputs.texts import InputText
from spaseq.runtime.spark.matching import Matching
from spaseq.runtime.spark.output import OutcomeTable, packed_batch, unpacked_batches
from spaseq.runtime.spark.pieces import PIECE_SCHEMA, Piece
from spaseq.runtime.spark.placement import key_of
from spaseq.runtime.spark.shard import Shard
from spaseq.runtime.spark.shared_functions import shared_functions
from spaseq.runtime.spark.tasks import StreamInput, Task

MatchingFactory = Callable[[str], tuple[Matching, Dictionary, KnowledgeBases]]
ShardFactory = Callable[[int], Shard]
_KEPT_MAX = 8
"""Compiled stages that a worker process keeps for its next task."""
_PIECES = pa.schema(
    [
        ("key", pa.int64()), ("shard", pa.int32()), ("stream", pa.string()),
        ("place", pa.int64()), ("max_ts", pa.int64()), ("n", pa.int64()),
        ("ended", pa.bool_()), ("advance", pa.int64()), ("blob", pa.binary()),
    ]
)  # fmt: skip

_kept: dict[tuple[str, str], tuple[Matching, Dictionary, KnowledgeBases]] = {}


@dataclass(frozen=True, slots=True)
class MatchStage:
    """Stage 1 of one stream: what `mapInArrow` calls.

    job         a name for the job that no other has: compiled patterns are kept by it
    columns     of the input: QUADS, or the column of texts and those of BESIDE that exist
    """

    job: str
    build: MatchingFactory
    source: StreamInput
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The pieces of one partition."""
        context = TaskContext.get()
        place = context.partitionId() if context is not None else 0
        batch = context.getLocalProperty("streaming.sql.batchId") if context is not None else None
        matching, dictionary, bases = self._matching()
        task = Task(self.source, matching, dictionary, bases, place, f"{batch or 0}.{place}")
        for piece in task.pieces(self._texts(batches)):
            row = {name: getattr(piece, name) for name in Piece.__slots__} | {"key": key_of(piece.shard)}
            yield pa.RecordBatch.from_pylist([row], schema=_PIECES)

    def _matching(self) -> tuple[Matching, Dictionary, KnowledgeBases]:
        key = self.job, self.source.iri
        if key not in _kept:
            while len(_kept) >= _KEPT_MAX:
                _, _, bases = _kept.pop(next(iter(_kept)))
                bases.close()
            _kept[key] = self.build(self.source.iri)
        return _kept[key]

    def _texts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[InputText]:
        if self.columns != QUADS:
            return (text for batch in batches for text in texts_of(batch, self.columns, self.source.name))
        lines = lines_of(chain.from_iterable(map(quads_of, batches)), self.source.time_predicates[0])
        return (InputText(line.encode(), self.source.name) for line in lines)


class ShardProcessor(StatefulProcessor):
    """Stage 2 of a streaming job: a shard is brought back, driven, and put away in each micro-batch."""

    def __init__(self, build: ShardFactory, table: OutcomeTable) -> None:
        self._build = build
        self._table = table

    def init(self, handle: StatefulProcessorHandle) -> None:
        """One value: the shard's state as a blob."""
        self._state = handle.getValueState("shard", "blob binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """The pieces for one shard; packed outcomes."""
        pieces = [_piece(row.asDict()) for row in rows]
        number = pieces[0].shard
        shard = self._build(number)
        if self._state.exists():
            (blob,) = self._state.get() or (b"",)
            shard.restore(bytes(blob))
        outcomes = shard.take(pieces)
        self._state.update((shard.snapshot(),))
        for batch in self._table.batches(number, outcomes):
            yield Row(blob=packed_batch(batch))

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class ShardStage:
    """Stage 2 over static input: what `mapInArrow` calls."""

    build: ShardFactory
    table: OutcomeTable

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """All pieces of some shards; their outcomes."""
        by_shard: dict[int, list[Piece]] = {}
        for batch in batches:
            for row in batch.to_pylist():
                by_shard.setdefault(row["shard"], []).append(_piece(row))
        for number, pieces in by_shard.items():
            yield from self.table.batches(number, self.build(number).take_all(pieces))


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Packed outcomes as rows."""
    for batch in batches:
        yield from unpacked_batches(_values(batch, "blob"))


def two_stages(
    inputs: Sequence[tuple[DataFrame, MatchStage]],
    build: ShardFactory,
    table: OutcomeTable,
    shards: int,
    streaming: bool,
) -> DataFrame:
    """The plan of a job: a DataFrame for each stream in, the outcomes out; of static input, each shard is a task."""
    with shared_functions(inputs[0][0].sparkSession):
        pieces = _pieces(inputs)
        if not streaming:
            return pieces.repartition(shards, "key").mapInArrow(ShardStage(build, table), table.ddl())
        packed = pieces.groupBy("key").transformWithState(ShardProcessor(build, table), "blob binary", "Append", "None")
        return packed.mapInArrow(unpack, table.ddl())


def _pieces(inputs: Sequence[tuple[DataFrame, MatchStage]]) -> DataFrame:
    pieces = None
    for frame, stage in inputs:
        chosen = frame.select(*(F.col(f"`{name}`") for name in stage.columns))
        matched = chosen.mapInArrow(stage, PIECE_SCHEMA)
        pieces = matched if pieces is None else pieces.unionByName(matched)
    assert pieces is not None
    return pieces


def _piece(row: Mapping[str, Any]) -> Piece:
    blob = row["blob"]
    return Piece.of({**row, "blob": None if blob is None else bytes(blob)})


def _values(batch: pa.RecordBatch, name: str) -> list[Any]:
    values: list[Any] = batch.column(batch.schema.get_field_index(name)).to_pylist()
    return values
