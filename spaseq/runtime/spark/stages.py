"""The stages as Spark runs them: `mapInArrow`, then `transformWithState` (`mapInArrow` for static input)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from kb.base import KnowledgeBases
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME
from spaseq.inputs.arrow import QUADS, lines_of, quads_of, texts_of
from spaseq.inputs.texts import InputText
from spaseq.runtime.spark import elsewhere  # noqa: F401  (it brings the storage of other file systems)
from spaseq.runtime.spark.accumulated import SHARDS, Adds, Counted, task_place
from spaseq.runtime.spark.output import OutputTable
from spaseq.runtime.spark.packed_output import PACKED, MergeStage, packed, packed_batches, unpack
from spaseq.runtime.spark.placement import key_of
from spaseq.runtime.spark.session import shared_functions
from spaseq.runtime.spark.shard import Shard
from spaseq.runtime.spark.shard_partitioner import ShardPartitioner
from spaseq.runtime.spark.shuffle_blocks import ShuffleBlock
from spaseq.runtime.spark.tasks import StreamInput, Task
from spaseq.runtime.zero_rows.tally import TaskTally

Compiled = tuple[ShardPartitioner, Dictionary, KnowledgeBases]
"""Stage 1 of a stream, its dictionary and the knowledge bases that it queries."""
_COMPILED_MAX = 8
"""Compiled stages, and shards' knowledge bases, that a worker process caches for its next task."""
_SHUFFLE = pa.schema(
    [
        ("key", pa.int64()), ("shard", pa.int32()), ("stream", pa.string()),
        ("place", pa.int64()), ("max_ts", pa.int64()), ("n", pa.int64()),
        ("ended", pa.bool_()), ("advance", pa.int64()), ("blob", pa.binary()),
        ("partition", pa.string()), ("active", pa.list_(pa.string())),
    ]
)  # fmt: skip

_cache: dict[tuple[str, str], Compiled] = {}


class Shards(Protocol):
    """The shards of a job in one process, one at a time, each without a state; they keep what they have in common."""

    def shard(self, number: int) -> Shard:
        """The shard of a number, valid until the next one is asked for."""

    def close(self) -> None:
        """Releases what they keep."""


_shards: dict[str, Shards] = {}


@dataclass(frozen=True, slots=True)
class ShardFactory:
    """The shards of a job, made once in each process; `job` names them."""

    job: str
    build: Callable[[], Shards]

    def __call__(self, number: int) -> Shard:
        """A shard without a state."""
        if self.job not in _shards:
            while len(_shards) >= _COMPILED_MAX:
                _shards.pop(next(iter(_shards))).close()
            _shards[self.job] = self.build()
        return _shards[self.job].shard(number)


@dataclass(frozen=True, slots=True)
class MatchStage:
    """Stage 1 of one stream, for `mapInArrow`; `job` names its cached patterns. Columns: QUADS, or texts and BESIDE.

    tally   of the job, to which each task adds its own; None: nobody asks
    """

    job: str
    build: Callable[[str], Compiled]
    source: StreamInput
    columns: tuple[str, ...]
    tally: Adds | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        batch, place = task_place()
        partitioner, dictionary, bases = self._compiled()
        own = partitioner.tally = self._own_tally(partitioner, dictionary, (batch, place))
        task, ended = Task(self.source, partitioner, dictionary, bases, place, f"{batch}.{place}"), False
        for block in task.blocks(self._texts(batches)):
            ended = ended or block.ended
            row = {name: getattr(block, name) for name in ShuffleBlock.__slots__} | {"key": key_of(block.shard)}
            yield pa.RecordBatch.from_pylist([row], schema=_SHUFFLE)
        if self.tally is not None and own is not None:
            self.tally.add(Counted.of(own.result(ended=ended), batch, (self.source.iri, place)))

    def _own_tally(
        self, partitioner: ShardPartitioner, dictionary: Dictionary, place: tuple[int, int]
    ) -> TaskTally | None:
        return None if self.tally is None else TaskTally(self.source.iri, place, dictionary, partitioner.needs)

    def _compiled(self) -> Compiled:
        key = self.job, self.source.iri
        if key not in _cache:
            while len(_cache) >= _COMPILED_MAX:
                _, _, bases = _cache.pop(next(iter(_cache)))
                bases.close()
            _cache[key] = self.build(self.source.iri)
        return _cache[key]

    def _texts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[InputText]:
        if self.columns != QUADS:
            return (text for batch in batches for text in texts_of(batch, self.columns, self.source.name))
        lines = lines_of(chain.from_iterable(map(quads_of, batches)), (*self.source.time.predicates, PROV_TIME)[0])
        return (InputText(line.encode(), self.source.name) for line in lines)


class ShardProcessor(StatefulProcessor):
    """Stage 2 of a streaming job: a shard is restored, driven and saved in each micro-batch."""

    def __init__(self, build: ShardFactory, table: OutputTable, tally: Adds | None) -> None:
        self._build = build
        self._tally = tally
        self._table = table

    def init(self, handle: StatefulProcessorHandle) -> None:
        """One value: the shard's state as a blob."""
        self._state = handle.getValueState("shard", "blob binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """The packed output of one shard for its blocks."""
        blocks = [ShuffleBlock.of(row.asDict()) for row in rows]
        number = blocks[0].shard
        shard = self._build(number)
        if self._state.exists():
            (blob,) = self._state.get() or (b"",)
            shard.restore(bytes(blob))
        output = shard.process(blocks)
        self._state.update((shard.snapshot(),))
        if self._tally is not None:
            self._tally.add(Counted.of(output.tally(), task_place()[0], (SHARDS, number)))
        for row in packed(number, output, self._table):
            yield Row(**row)

    def close(self) -> None:
        """Does nothing: no resource is open."""


@dataclass(frozen=True, slots=True)
class ShardStage:
    """Stage 2 over static input: what `mapInArrow` calls; `packs`: its output is packed; `tally`: as in MatchStage."""

    build: ShardFactory
    table: OutputTable
    packs: bool
    tally: Adds | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        by_shard: dict[int, list[ShuffleBlock]] = {}
        for batch in batches:
            for row in batch.to_pylist():
                by_shard.setdefault(row["shard"], []).append(ShuffleBlock.of(row))
        for number, blocks in by_shard.items():
            output = self.build(number).process(blocks, last=True)
            if self.tally is not None:
                self.tally.add(Counted.of(output.tally(), task_place()[0], (SHARDS, number)))
            made = packed_batches(number, output, self.table) if self.packs else self.table.batches(number, output)
            yield from made


def two_stages(
    inputs: Sequence[tuple[DataFrame, MatchStage]],
    build: ShardFactory,
    table: OutputTable,
    shards: int,
    streaming: bool,
    merge: MergeStage | None = None,
    tally: Adds | None = None,
) -> DataFrame:
    """The DataFrame of a job's output from those of its streams; over static input each shard is a task.

    Every stage adds to `tally`.
    Units of OVER MATCHES that several shards have written meet in a third stage, `merge`, within the micro-batch.
    """
    schema, between = from_arrow_schema(table.schema()), from_arrow_schema(PACKED)
    with shared_functions(inputs[0][0].sparkSession):
        blocks = reduce(DataFrame.unionByName, (_blocks(frame, stage) for frame, stage in inputs))
        if not streaming:
            stage = ShardStage(build, table, merge is not None, tally)
            found = blocks.repartition(shards, "key").mapInArrow(stage, between if merge else schema)
            return found.repartition(shards, "key").mapInArrow(merge, schema) if merge else found
        found = blocks.groupBy("key").transformWithState(ShardProcessor(build, table, tally), between, "Append", "None")
        return found.repartition(shards, "key").mapInArrow(merge, schema) if merge else found.mapInArrow(unpack, schema)


def _blocks(frame: DataFrame, stage: MatchStage) -> DataFrame:
    return frame.select(*(F.col(f"`{name}`") for name in stage.columns)).mapInArrow(stage, from_arrow_schema(_SHUFFLE))
