"""The state in the checkpoint of a stopped job, read and replaced as by a micro-batch without input.

It is replaced in a copy of the checkpoint, which then takes its place: whatever breaks off, the checkpoint of before is
whole. The micro-batch does what `StreamingCheckpointManager.repartition` of Spark does, and is made of its parts, but
the values are other ones: the state of a shard is one value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from spaseq.errors import InputError
from spaseq.runtime.spark.hadoop import HadoopFiles, told

_STATE = "shard"
_LONG_ROW = struct.Struct("<qq")
"""Spark's UnsafeRow of one bigint: the nulls, and the value."""
_BINARY_HEAD = struct.Struct("<qq")
"""The head of Spark's UnsafeRow of one binary: the nulls, and offset << 32 | size; the bytes follow, in whole words."""


class Checkpoint:
    """The checkpoint of a stopped job, in a folder of any of Hadoop's file systems.

    Raises InputError where there is none, or where its job runs or has not completed its last micro-batch.
    """

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark, self._folder = spark, folder.rstrip("/")
        self._files = HadoopFiles.of(spark)
        self._changed = _changed(self._folder)
        complete(self._files, self._folder)
        if not self._files.exists(f"{self._folder}/offsets"):
            hint = "name the folder that the job has as its CHECKPOINT"
            raise InputError(f"{folder} is not the checkpoint of a job", hint=hint)
        self._last = self._last_batch()

    def states(self) -> dict[int, bytes]:
        """The state of each shard, by the key under which Spark groups it."""
        reader = self._spark.read.format("statestore").option("stateVarName", _STATE)
        try:
            rows = reader.load(self._folder).select("key", "value").collect()
            found = {row.key[0]: bytes(row.value[0]) for row in rows}
        except (PySparkException, TypeError) as error:
            raise InputError(f"{self._folder} has no states of SPAseq's shards", hint="name another folder") from error
        if not found:
            hint = "nothing has to be divided: begin with a new checkpoint"
            raise InputError(f"the checkpoint {self._folder} has no state yet", hint=hint)
        return found

    def replace(self, states: Mapping[int, bytes], partitions: int, kept: str) -> None:
        """Replace the states by these, by key, in so many shuffle partitions; the folder of before is `kept`."""
        if self._files.exists(kept):
            hint = "it is the checkpoint that an earlier command has kept: remove it, or move it away"
            raise InputError(f"{kept} is there already", hint=hint)
        self._files.delete(self._changed)
        self._files.copy(self._folder, self._changed)
        with told(self._changed):
            _rewrite(self._spark, self._changed, states, partitions)
        if self._last_batch() != self._last:
            raise self._in_use()
        self._files.rename(self._folder, kept)
        self._files.rename(self._changed, self._folder)

    def _last_batch(self) -> int:
        metadata = _metadata(self._spark, self._folder)
        with told(self._folder):
            own = metadata.streamMetadata().id()
            last, committed = (log.getLatestBatchId() for log in (metadata.offsetLog(), metadata.commitLog()))
        if own in [query.id for query in self._spark.streams.active]:
            raise self._in_use()
        if last.isEmpty() or committed.isEmpty() or last.get() != committed.get():
            hint = "if it does not run, start it once more as it is, and let it end"
            raise InputError(f"the job of {self._folder} runs, or its last micro-batch is not complete", hint=hint)
        return int(last.get())

    def _in_use(self) -> InputError:
        return InputError(f"the job of {self._folder} is running", hint="stop it first")


def complete(files: HadoopFiles, folder: str) -> None:
    """Take the last step of a change of a checkpoint that was broken off before it: the copy takes its place."""
    own = folder.rstrip("/")
    if not files.exists(own) and files.exists(_changed(own)):
        files.rename(_changed(own), own)


def prepare(files: HadoopFiles, folder: str) -> None:
    """Make a checkpoint ready for the start of its job, wherever that, or a change of it, was killed.

    A driver killed while it writes the offsets of the first micro-batch leaves them under a hidden name,
    `offsets/.0.UUID.tmp`. Spark does not count them as a micro-batch, yet begins no query beside them: since 4.1
    `offsets` must be empty (SPARK-53103, STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY). That check stays on: it
    also finds a state whose offsets were lost. Where a micro-batch has begun, Spark passes over such files by itself.
    """
    complete(files, folder)
    offsets = f"{folder.rstrip('/')}/offsets"
    names = files.names(offsets)
    if all(name.startswith(".") for name in names):
        for name in names:
            files.delete(f"{offsets}/{name}")


def _changed(folder: str) -> str:
    """The copy of a checkpoint in which it is changed; there is none when nothing is being changed."""
    return f"{folder}.rescaling"


def _metadata(spark: SparkSession, folder: str) -> Any:
    assert spark._jvm is not None
    runtime = spark._jvm.org.apache.spark.sql.execution.streaming.runtime
    return runtime.StreamingQueryCheckpointMetadata(spark._jsparkSession, folder, False)


def _rewrite(spark: SparkSession, folder: str, states: Mapping[int, bytes], partitions: int) -> None:
    """Write a micro-batch without input after which the states are these."""
    assert spark._jvm is not None
    session, metadata = spark._jsparkSession, _metadata(spark, folder)
    if _partitions(metadata) != partitions:
        session.streamingCheckpointManager().repartition(folder, partitions, True)
        metadata = _metadata(spark, folder)
    offsets, commits = metadata.offsetLog(), metadata.commitLog()
    before = commits.getLatestBatchId().get()
    ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
    transform = _Transform(lambda frame: _rows(spark, frame, states).repartition(partitions, "partition_key"))
    option = spark._jvm.scala.Option
    offsets.add(before + 1, offsets.get(before).get())
    spark._jvm.org.apache.spark.sql.execution.streaming.state.StateRewriter(
        session, before, before + 1, folder, session.sessionState().newHadoopConf(), option.empty(),
        option.apply(transform), option.apply(metadata),
    ).run()  # fmt: skip
    commits.add(before + 1, commits.get(before).get())


def _partitions(metadata: Any) -> int:
    offsets = metadata.offsetLog()
    last = offsets.get(offsets.getLatestBatchId().get()).get()
    return int(last.metadataOpt().get().conf().apply("spark.sql.shuffle.partitions"))


class _Transform:
    """A function from DataFrame to DataFrame, for Scala."""

    def __init__(self, function: Callable[[Any], DataFrame]) -> None:
        self._function = function

    def apply(self, frame: Any) -> Any:
        """The new rows in place of the old."""
        return self._function(frame)._jdf

    class Java:
        """Of py4j."""

        implements: ClassVar = ["scala.Function1"]


def _rows(spark: SparkSession, java_frame: Any, states: Mapping[int, bytes]) -> DataFrame:
    """The rows of the states, as Spark's state store writes them."""
    frame = DataFrame(java_frame, spark)
    rows = [((key,), _LONG_ROW.pack(0, key), _unsafe(blob), _STATE) for key, blob in states.items()]
    return spark.createDataFrame(rows, frame.schema)


def _unsafe(blob: bytes) -> bytes:
    """Spark's UnsafeRow of one binary."""
    return _BINARY_HEAD.pack(0, _BINARY_HEAD.size << 32 | len(blob)) + blob + bytes(-len(blob) % 8)
