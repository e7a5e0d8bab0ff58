"""Stage 2 for one shard: a network of queries that is built, restored, driven and saved in each micro-batch.

There is no timer: every block carries the progress of its stream. So the time of a shard is the time of the events, as
in the embedded runtime, and a replayed micro-batch gives the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

import numpy as np

from kb.base import KnowledgeBases
from sparql_gpm.columns import EventBatch, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import Term
from spaseq.outputs.dead_letters import DeadLetter, late_letter
from spaseq.outputs.row_table import Rows
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.order.reorder import BEFORE_ALL
from spaseq.runtime.spark.job_record import JobRecord
from spaseq.runtime.spark.shuffle_blocks import ShuffleBlock, unpacked
from spaseq.runtime.state.snapshot import dumps, loads

PARTITION_COLUMN = " partition "
"""Before the names of the hidden columns by which operators tell the values of PARTITION BY."""
_NEVER_LATE_NS = 3 << 61
"""The delay of the network inside: the shard itself decides what is late, by the times that all tasks have seen."""


@dataclass(frozen=True, slots=True)
class ShardOutput:
    """The rows and dead letters of some blocks; rows have hidden columns for the values of PARTITION BY.

    found       rows in order, as a table or a list, each with the number of its first row in the shard
    """

    found: Sequence[tuple[int, Rows]]
    letters: Sequence[DeadLetter]


@dataclass(slots=True)
class _Stream:
    """The progress of one stream.

    max_time    the largest time that any task has seen
    partitions  of a source with several, the largest time of each
    active      those that hold the watermark: all that are not idle
    """

    max_time: int = BEFORE_ALL
    watermark: int = BEFORE_ALL
    ended: bool = False
    partitions: dict[str, int] = field(default_factory=dict)
    active: list[str] = field(default_factory=list)

    def read(self, block: ShuffleBlock) -> None:
        """Take over what a block says of the partition that its task has read, and of all of them."""
        self.max_time = max(self.max_time, block.max_ts)
        if block.partition:
            self.partitions[block.partition] = max(self.partitions.get(block.partition, BEFORE_ALL), block.max_ts)
        if block.active is not None:
            self.active = list(block.active)

    def reached(self) -> int:
        """The largest time of the stream: of several partitions the least of theirs, the largest if all are idle."""
        if not self.partitions:
            return BEFORE_ALL if self.active else self.max_time
        times = [self.partitions.get(name, BEFORE_ALL) for name in self.active]
        return min(times, default=max(self.partitions.values()))


class Shard:
    """The queries of one shard of the job in `record`.

    names       of the streams, by IRI
    left_out    gives letters over a bound since its last call
    """

    def __init__(
        self,
        operators: Iterable[QueryOperator],
        dictionary: Dictionary,
        names: Mapping[str, str],
        delay_ns: int,
        record: JobRecord,
        left_out: Callable[[], list[DeadLetter]] = list,
        bases: KnowledgeBases | None = None,
    ) -> None:
        self._bases = bases
        self._left_out = left_out
        self._dictionary = dictionary
        self._names = names
        self._delay = delay_ns
        self._record = record
        self._network = Network(dictionary, _NEVER_LATE_NS)
        self._found: list[Rows] = []
        for operator in operators:
            self._network.add(operator, self._found.append)
        self._streams = {iri: _Stream() for iri in names}
        self._given = 0
        self._finished = False

    def process(self, blocks: Iterable[ShuffleBlock], last: bool = False) -> ShardOutput:
        """The output for the blocks of a micro-batch, given in any order; `last`: no other block will follow."""
        if self._bases is not None:
            self._bases.refresh()
        by_stream: dict[str, list[ShuffleBlock]] = {}
        for block in sorted(blocks, key=lambda block: block.place):
            by_stream.setdefault(block.stream, []).append(block)
        letters = [letter for iri, own in by_stream.items() for letter in self._admit(iri, own)]
        if not last:
            for iri, own in by_stream.items():
                self._advance(iri, own)
        ended = self._streams and all(stream.ended for stream in self._streams.values())
        if last or (ended and not self._finished):
            self._network.finish()
            self._finished = True
        return self._output(letters)

    def close(self) -> None:
        """Closes the connections and files of its knowledge bases."""
        if self._bases is not None:
            self._bases.close()

    def snapshot(self) -> bytes:
        """The state between two micro-batches, as a blob."""
        streams = [[iri, *astuple(stream)] for iri, stream in self._streams.items()]
        tree = [self._record.tree(), self._given, self._finished, streams, self._network.snapshot()]
        return dumps(tree, self._dictionary)

    def restore(self, blob: bytes) -> None:
        """Continues from a state; RunError if this version cannot read it, or another job wrote it."""
        record, self._given, self._finished, streams, network = loads(blob, self._dictionary)
        self._record.check(JobRecord.of(record))
        self._streams |= {iri: _Stream(*progress) for iri, *progress in streams}
        self._network.restore(network)

    def _admit(self, iri: str, blocks: list[ShuffleBlock]) -> list[DeadLetter]:
        """Pushes the events; returns the dead letters of stage 1, and those of late events."""
        contents = [unpacked(block.blob, self._dictionary) for block in blocks if block.blob is not None]
        letters = [letter for part in contents for letter in part.letters]
        if not contents:
            return letters
        batch = EventBatch.concatenate([part.batch for part in contents])
        reporting = np.concatenate([part.reporting for part in contents])
        late = np.arange(len(batch)) if self._streams[iri].ended else self._network.push(iri, batch)
        return letters + self._late(iri, batch, reporting, late.tolist())

    def _late(self, iri: str, batch: EventBatch, reporting: Mask, late: list[int]) -> list[DeadLetter]:
        """The dead letters of late events, which have names and times: stage 1 has dropped their own triples."""
        found = batch.take(np.array([index for index in late if reporting[index]], dtype=np.int64))
        none = np.zeros(0, dtype=np.int64)
        offsets = np.zeros(len(found) + 1, dtype=np.int64)
        bare = EventBatch(found.times, found.streams, found.names, offsets, none, none, none)
        stream = self._names[iri], iri
        return [late_letter(*stream, bare.names[i], 0, bare, i, self._dictionary) for i in range(len(bare))]

    def _advance(self, iri: str, blocks: list[ShuffleBlock]) -> None:
        """Advance the stream to its watermark at the end of the micro-batch."""
        stream = self._streams[iri]
        if stream.ended:
            return
        for block in blocks:
            stream.read(block)
        watermark = max(stream.reached() - self._delay, *(block.advance for block in blocks))
        if watermark > stream.watermark:
            stream.watermark = watermark
            self._network.advance(iri, watermark)
        if any(block.ended for block in blocks):
            stream.ended = True
            self._network.close(iri)

    def _output(self, letters: list[DeadLetter]) -> ShardOutput:
        self._network.raise_stopped()
        found = []
        for some in self._found:
            found.append((self._given, some))
            self._given += len(some)
        self._found.clear()
        return ShardOutput(found, letters + self._left_out())


def without_hidden(row: Row) -> tuple[Row, tuple[Term, ...]]:
    """A row without its hidden columns, and the values of those."""
    hidden = tuple(term for name, term in row.bindings if name.startswith(PARTITION_COLUMN))
    if not hidden:
        return row, hidden
    return replace(row, bindings=tuple(b for b in row.bindings if not b[0].startswith(PARTITION_COLUMN))), hidden
