"""The output of shards as rows of a DataFrame of blobs, and its last stage: units of OVER MATCHES merged into rows.

A row of packed output holds rows of the job's output, or one shard's groups of a unit. All groups of a unit have one
key, by which they meet in one task. Every shard writes a unit in the same micro-batch (`merged_units`), so this stage
keeps no state, and a micro-batch that is run again gives the same rows under the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from spaseq.outputs.rows import Row
from spaseq.runtime.spark.accumulated import MERGED, Adds, Counted, task_place
from spaseq.runtime.spark.output import OutputTable
from spaseq.runtime.spark.placement import key_of
from spaseq.runtime.spark.shard import ShardOutput
from spaseq.runtime.spark.shard_partitioner import stable_hash
from spaseq.runtime.zero_rows.tally import Tally

PACKED = pa.schema([("key", pa.int64()), ("query", pa.int32()), ("unit", pa.int64()), ("blob", pa.binary())])
"""`query` is null where the blob is a stream of Arrow, of rows of the job's output."""
_KEYS = 1 << 31


class Mergers(Protocol):
    """A maker of rows of units that shards have written."""

    def rows(self, query: int, blobs: Sequence[bytes]) -> list[Row]:
        """The rows of a unit of the query with this number."""


def packed(shard: int, output: ShardOutput, table: OutputTable) -> Iterator[dict[str, Any]]:
    """The output of a shard, in rows of `PACKED`."""
    for batch in table.batches(shard, output):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield {"key": key_of(shard), "query": None, "unit": None, "blob": bytes(sink.getvalue())}
    for each in output.written:
        place = stable_hash([b"%d %d" % (each.query, each.unit)]) % _KEYS
        yield {"key": key_of(place), "query": each.query, "unit": each.unit, "blob": each.blob}


def packed_batches(shard: int, output: ShardOutput, table: OutputTable) -> Iterator[pa.RecordBatch]:
    """The same as batches of Arrow."""
    for row in packed(shard, output, table):
        yield pa.RecordBatch.from_pylist([row], schema=PACKED)


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Packed output without units as rows."""
    for batch in batches:
        for blob in batch.column("blob").to_pylist():
            with pa.ipc.open_stream(blob) as reader:
                yield from reader


@dataclass(frozen=True, slots=True)
class MergeStage:
    """The last stage of a job with units to be merged: what `mapInArrow` calls; `tally`: as in `MatchStage`."""

    build: Callable[[], Mergers]
    table: OutputTable
    tally: Adds | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        units: dict[tuple[int, int], list[bytes]] = {}
        for batch in batches:
            for row in batch.to_pylist():
                if row["query"] is None:
                    with pa.ipc.open_stream(row["blob"]) as reader:
                        yield from reader
                else:
                    units.setdefault((row["query"], row["unit"]), []).append(row["blob"])
        if units:
            yield from self._merged(units)

    def _merged(self, units: dict[tuple[int, int], list[bytes]]) -> Iterator[pa.RecordBatch]:
        mergers, counted = self.build(), Tally()
        for query, unit in sorted(units):
            output = ShardOutput([(0, mergers.rows(query, units.pop((query, unit))))], [])
            counted.add(output.tally())
            yield from self.table.batches(f"w{unit}", output)
        if self.tally is not None:
            batch, place = task_place()
            self.tally.add(Counted.of(counted, batch, (MERGED, place)))
