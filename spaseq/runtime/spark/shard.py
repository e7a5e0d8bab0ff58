"""Stage 2 for one shard: a network of queries that is built, restored, driven and saved in each micro-batch.

There is no timer: every block carries the progress of its stream. So the time of a shard is the time of the events, as
in the embedded runtime, and a replayed micro-batch gives the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from arrays.times import BEFORE_ALL
from kb.base import KnowledgeBases
from sparql_gpm.columns import EventBatch, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.term_text import canonical_token
from sparql_gpm.terms import Term
from spaseq.outputs.dead_letters import DeadLetter, late_letter
from spaseq.outputs.row_table import Rows, RowTable
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.counted_operator import CountedOperator
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.funnel.tally import FunnelTally
from spaseq.runtime.order.reorder import NEVER_LATE_NS
from spaseq.runtime.spark.job_record import JobRecord
from spaseq.runtime.spark.shard_partitioner import stable_hash
from spaseq.runtime.spark.shuffle_blocks import ShuffleBlock, unpacked
from spaseq.runtime.stages.merged_units import WrittenUnits
from spaseq.runtime.state.released import separated
from spaseq.runtime.state.saved_states import NetworkState
from spaseq.runtime.state.snapshot import RELEASED, dumps, loads, version_of
from spaseq.runtime.zero_rows.tally import Tally

HIDDEN = " "
"""Begins the names of hidden columns."""
PARTITION_COLUMN, KEY_COLUMN = f"{HIDDEN}partition ", f"{HIDDEN}key "
"""Before the names of the hidden columns by which operators tell the values of PARTITION BY, or of another key."""
_WAY_BACK = "begin with a new checkpoint and output folder: the input is then read from where the new job starts"


@dataclass(frozen=True, slots=True)
class WrittenUnit:
    """The groups of a unit that one shard has found; `query` and `unit` are numbers."""

    query: int
    unit: int
    blob: bytes


@dataclass(frozen=True, slots=True)
class ShardOutput:
    """The rows and dead letters of some blocks; rows have hidden columns for the values of PARTITION BY.

    found       rows in order, as a table or a list, each with the number of its first row in the shard
    written     units of OVER MATCHES that are to be merged with those of other shards
    counted     by the number of the query, the funnel of its sequence since the last output
    """

    found: Sequence[tuple[int, Rows]]
    letters: Sequence[DeadLetter]
    written: Sequence[WrittenUnit] = ()
    counted: Mapping[int, FunnelTally] = field(default_factory=dict)

    def tally(self) -> Tally:
        """The numbers of rows and dead letters, and what was counted."""
        by_query = Counter[str]()
        for _, rows in self.found:
            by_query.update({rows.query: len(rows)} if isinstance(rows, RowTable) else [row.query for row in rows])
        lost = Counter(each.kind for each in self.letters)
        return Tally(rows=by_query.total(), by_query=by_query, lost=lost, sequences=dict(self.counted))


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


@dataclass(frozen=True, slots=True)
class SavedShard:
    """The state of a shard between two micro-batches.

    given       rows reported so far
    inherited   it also holds partial matches of keys that are those of other shards now
    streams     IRI and progress of each stream
    network     the states of its inputs and of its queries
    """

    record: JobRecord
    given: int
    finished: bool
    inherited: bool
    streams: list[Any]
    network: NetworkState

    def blob(self, dictionary: Dictionary) -> bytes:
        """The state as bytes; its ids are those of the dictionary."""
        tree = [self.record.tree(), self.given, self.finished, self.inherited, self.streams, self.network]
        return dumps(tree, dictionary)

    @staticmethod
    def of(blob: bytes, dictionary: Dictionary, running: Callable[[JobRecord], Sequence[str]]) -> SavedShard:
        """The state in a blob; RunError if this version cannot read it.

        running     checks the job, and has the names of the queries that its shard runs, in the order of its network:
                    where release 0.1.0 wrote the state, they are not in it
        """
        tree, given, finished, inherited, streams, network = loads(blob, dictionary)
        record = JobRecord.of(tree)
        names = running(record)
        if version_of(blob) == RELEASED:
            texts = {query.name: query.text for query in record.queries}
            network = separated(network, [(name, texts[name]) for name in names], dictionary)
        else:
            network = msgspec.convert(network, NetworkState)
        return SavedShard(record, given, finished, inherited, streams, network)


class Shard:
    """The queries of one shard of the job in `record`.

    number      of the shard
    names       of the streams, by IRI
    left_out    gives letters over a bound since its last call
    written     by the number of the query, the units of OVER MATCHES that are to be merged
    counted     by the number of the query, the operators whose funnels are counted
    """

    def __init__(
        self,
        number: int,
        operators: Iterable[QueryOperator],
        dictionary: Dictionary,
        names: Mapping[str, str],
        delay_ns: int,
        record: JobRecord,
        left_out: Callable[[], list[DeadLetter]] = list,
        bases: KnowledgeBases | None = None,
        written: Mapping[int, WrittenUnits] | None = None,
        counted: Mapping[int, CountedOperator] | None = None,
    ) -> None:
        self._written = written or {}
        self._counted = counted or {}
        self._counted_before = self._counts()
        self._bases = bases
        self._left_out = left_out
        self._dictionary = dictionary
        self._names = names
        self._delay = delay_ns
        self._number = number
        self._record = record
        self._inherited = False
        self._network = Network(dictionary, NEVER_LATE_NS)
        self._found: list[Rows] = []
        texts = {query.name: query.text for query in record.queries}
        for operator in operators:
            self._network.add(operator, self._found.append, texts[operator.query.name])
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

    def snapshot(self) -> bytes:
        """The state between two micro-batches, as a blob."""
        streams = [[iri, *astuple(stream)] for iri, stream in self._streams.items()]
        inputs, states = self._network.snapshot()
        network = NetworkState(inputs, list(states.values()))
        saved = SavedShard(self._record, self._given, self._finished, self._inherited, streams, network)
        return saved.blob(self._dictionary)

    def restore(self, blob: bytes) -> None:
        """Continues from a state; RunError if another job wrote it, or it or that of a query cannot be read."""
        readers = {reader.query.name: reader for reader in self._network.readers}

        def running(record: JobRecord) -> list[str]:
            self._record.check(record)
            return list(readers)

        saved = SavedShard.of(blob, self._dictionary, running)
        self._given, self._finished, self._inherited = saved.given, saved.finished, saved.inherited
        self._streams |= {iri: _Stream(*progress) for iri, *progress in saved.streams}
        states = {readers[state.name]: state for state in saved.network.queries if state.name in readers}
        self._network.restore(saved.network.inputs, states, _WAY_BACK)
        self._network.raise_stopped()
        self._counted_before = self._counts()

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
        for every in self._found:
            some = self._own(every) if self._inherited else every
            found.append((self._given, some))
            self._given += len(some)
        self._found.clear()
        written = [WrittenUnit(number, *each) for number, own in self._written.items() for each in own.take()]
        return ShardOutput(found, letters + self._left_out(), written, self._counted_since())

    def _counts(self) -> dict[int, FunnelTally]:
        """The counts so far, those of micro-batches before among them."""
        return {number: deepcopy(operator.tally) for number, operator in self._counted.items()}

    def _counted_since(self) -> dict[int, FunnelTally]:
        """The counts since the last output; after a rescaling times alone: partial matches of others are here, too."""
        before, self._counted_before = self._counted_before, self._counts()
        since = {number: tally.since(before[number]) for number, tally in self._counted_before.items()}
        if self._inherited:
            return {number: FunnelTally((), seconds=tally.seconds) for number, tally in since.items()}
        return since

    def _own(self, rows: Rows) -> Rows:
        """The rows of the keys of this shard, by the hidden columns; all rows of a query without a key."""
        if isinstance(rows, list):
            return [row for row in rows if self._is_own([canonical_token(term) for term in _hidden(row)])]
        columns = [ids for name, ids in rows.columns.items() if name.startswith(HIDDEN)]
        if not columns:
            return rows
        keys, inverse = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
        own = [self._is_own([canonical_token(self._dictionary.term(i)) for i in key]) for key in keys.tolist()]
        return rows.take(np.flatnonzero(np.array(own, dtype=np.bool_)[inverse.ravel()]))

    def _is_own(self, key: Sequence[bytes]) -> bool:
        return not key or stable_hash(key) % self._record.shards == self._number


def without_hidden(row: Row) -> tuple[Row, tuple[Term, ...]]:
    """A row without its hidden columns, and the values of PARTITION BY."""
    partition = _hidden(row, PARTITION_COLUMN)
    if not _hidden(row):
        return row, partition
    return replace(row, bindings=tuple(b for b in row.bindings if not b[0].startswith(HIDDEN))), partition


def _hidden(row: Row, prefix: str = HIDDEN) -> tuple[Term, ...]:
    return tuple(term for name, term in row.bindings if name.startswith(prefix))
