"""Stage 2 for one shard: a network of queries that is built, brought back to its state, driven, and put away again.

There is no timer: with every piece of input, stage 1 tells every shard how far the stream has come. So the time of a
shard is the time of the events, as in the embedded runtime, and a micro-batch that is replayed gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sparql_gpm.columns import EventBatch, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import Term
from spaseq.outputs.dead_letters import DeadLetter, late_letter
from spaseq.outputs.row_table import Rows
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.order.reorder import BEFORE_ALL
from spaseq.runtime.spark.blobs import unpacked
from spaseq.runtime.spark.pieces import Piece, in_order, joined, newest
from spaseq.runtime.state.snapshot import dumps, loads

PARTITION_COLUMN = " partition "
"""Before the names of the hidden columns by which operators tell the values of PARTITION BY."""
WAITS_FOR_EVER = 3 << 61
"""The delay of the network inside: what is late is decided here, by what all tasks have seen."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes of some pieces; rows have hidden columns for the values of PARTITION BY.

    found       rows in order, as columns or one by one, with the number that the first of them has in the shard
    """

    found: Sequence[tuple[int, Rows]]
    letters: Sequence[DeadLetter]

    def rows(self) -> list[Row]:
        """All rows, without their hidden columns."""
        return [shown(row)[0] for _, rows in self.found for row in rows]


@dataclass(slots=True)
class _Stream:
    """newest   the largest time that any task has seen
    mark        nothing before it is admitted any more
    """

    newest: int = BEFORE_ALL
    mark: int = BEFORE_ALL
    ended: bool = False


class Shard:
    """The queries of one shard.

    operators   of the queries that have something in the shard
    names       of the input streams, by IRI
    delay_ns    by how much events may be late; None: the input is all there, and nothing is
    """

    def __init__(
        self,
        operators: Iterable[QueryOperator],
        dictionary: Dictionary,
        names: Mapping[str, str],
        delay_ns: int | None,
    ) -> None:
        self._dictionary = dictionary
        self._names = names
        self._delay = delay_ns
        self._network = Network(dictionary, WAITS_FOR_EVER)
        self._found: list[Rows] = []
        for operator in operators:
            self._network.add(operator, self._found.append)
        self._streams = {iri: _Stream() for iri in names}
        self._given = 0
        self._finished = False

    def take(self, pieces: Iterable[Piece]) -> Outcomes:
        """The pieces of a micro-batch, in any order; what comes of them."""
        by_stream = in_order(pieces)
        letters = [letter for iri, own in by_stream.items() for letter in self._admit(iri, own)]
        for iri, own in by_stream.items():
            self._go_on(iri, own)
        if self._streams and all(stream.ended for stream in self._streams.values()) and not self._finished:
            self.finish()
        return self._outcomes(letters)

    def take_all(self, pieces: Iterable[Piece]) -> Outcomes:
        """All there is."""
        letters = [letter for iri, own in in_order(pieces).items() for letter in self._admit(iri, own)]
        self.finish()
        return self._outcomes(letters)

    def finish(self) -> None:
        """The input has ended."""
        self._network.finish()
        self._finished = True

    def snapshot(self) -> bytes:
        """The state between two micro-batches, as a blob."""
        streams = [[iri, s.newest, s.mark, s.ended] for iri, s in self._streams.items()]
        tree = [self._given, self._finished, streams, self._network.snapshot()]
        return dumps(tree, self._dictionary)

    def restore(self, blob: bytes) -> None:
        """Go on from a state; RunError if this version cannot read it."""
        self._given, self._finished, streams, network = loads(blob, self._dictionary)
        self._streams |= {iri: _Stream(newest, mark, ended) for iri, newest, mark, ended in streams}
        self._network.restore(network)

    def _admit(self, iri: str, pieces: list[Piece]) -> list[DeadLetter]:
        """Takes events in; gives the dead letters of stage 1, and those of events that come too late."""
        contents = [unpacked(piece.blob, self._dictionary) for piece in pieces if piece.blob is not None]
        letters = [letter for part in contents for letter in part.letters]
        if not contents:
            return letters
        batch, reporting = joined(contents)
        late = np.arange(len(batch)) if self._streams[iri].ended else self._network.push(iri, batch)
        return letters + self._late(iri, batch, reporting, late.tolist())

    def _late(self, iri: str, batch: EventBatch, reporting: Mask, late: list[int]) -> list[DeadLetter]:
        """Of the event, stage 2 has the name and the time; its other triples are no longer there."""
        bare = batch.take(np.array([index for index in late if reporting[index]], dtype=np.int64))
        none = np.zeros(0, dtype=np.int64)
        bare = EventBatch(
            bare.times, bare.streams, bare.names, np.zeros(len(bare) + 1, dtype=np.int64), none, none, none
        )
        return [late_letter(self._names[iri], bare.names[i], 0, bare, i, self._dictionary) for i in range(len(bare))]

    def _go_on(self, iri: str, pieces: list[Piece]) -> None:
        """Advance the stream to its watermark at the end of the micro-batch."""
        stream = self._streams[iri]
        stream.newest = max(stream.newest, newest(pieces))
        known = stream.newest - self._delay if self._delay is not None and stream.newest > BEFORE_ALL else BEFORE_ALL
        mark = max(known, *(piece.advance for piece in pieces))
        if mark > stream.mark and not stream.ended:
            stream.mark = mark
            self._network.advance(iri, mark)
        if any(piece.ended for piece in pieces) and not stream.ended:
            stream.ended = True
            self._network.close(iri)

    def _outcomes(self, letters: list[DeadLetter]) -> Outcomes:
        found = []
        for some in self._found:
            found.append((self._given, some))
            self._given += len(some)
        self._found.clear()
        return Outcomes(found, letters)


def shown(row: Row) -> tuple[Row, tuple[Term, ...]]:
    """A row without its hidden columns, and what is in them."""
    hidden = tuple(term for name, term in row.bindings if name.startswith(PARTITION_COLUMN))
    if not hidden:
        return row, hidden
    return replace(row, bindings=tuple(b for b in row.bindings if not b[0].startswith(PARTITION_COLUMN))), hidden
