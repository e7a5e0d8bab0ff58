"""Blocks that stage 1 sends to stage 2: the events of one chunk for one shard, packed into one row of a DataFrame.

Packing makes it pay: Spark sees a few rows, not one for each event. Events are columns of ids with a dictionary of
their own:

blob := MAGIC VERSION msgpack [terms, events, reporting, letters]

An id is a place among the terms of the blob, 0 for UNBOUND. Terms are concatenated canonical N-Triples texts with the
values of numbers beside them, so that neither stage touches a single term. A blob lives from one stage to the next, in
one micro-batch; saved states have the format of `spaseq.runtime.state.snapshot`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from arrays.columns import renumbered
from sparql_gpm.columns import UNBOUND, EventBatch, Ids, Mask
from sparql_gpm.dictionary import Dictionary
from spaseq.errors import RunError
from spaseq.outputs.dead_letters import DeadLetter
from spaseq.runtime.state.snapshot import narrowed

MAGIC, VERSION = b"SPAseqE", 3
"""Of the format and of what stage 1 puts into it: one more whenever either changes."""

_BLANK = ord("_")
_Column = tuple[str, bytes]
_Terms = tuple[bytes, _Column, bytes]
_Events = tuple[_Column, _Column, list[str], _Column, _Column, _Column, _Column]


@dataclass(frozen=True, slots=True)
class ShuffleBlock:
    """Some events of one stream for one shard, or what is known of the stream by the end of a task.

    place       task and number of the block in it: blocks of a stream are in the order of their places
    max_ts      the largest time that the task has seen so far, BEFORE_ALL for none
    n           events in the blob
    ended       no event will follow on the stream
    advance     no event before this time will follow, BEFORE_ALL if not said
    blob        the events, and dead letters; None: there are none
    partition   the partition of the source that the task reads; "": the source has one
    active      the partitions that hold the watermark from now on; None: not said, empty: all are idle
    """

    shard: int
    stream: str
    place: int
    max_ts: int
    n: int
    ended: bool
    advance: int
    blob: bytes | None
    partition: str = ""
    active: Sequence[str] | None = None

    @staticmethod
    def of(row: Mapping[str, Any]) -> ShuffleBlock:
        """The block in a row of Spark's."""
        blob = row["blob"]
        fields = {name: row[name] for name in ShuffleBlock.__slots__}
        return ShuffleBlock(**{**fields, "blob": None if blob is None else bytes(blob)})


@dataclass(frozen=True, slots=True)
class BlockContents:
    """The events of a blob, a mask of those that this shard reports if they are late, and dead letters of stage 1."""

    batch: EventBatch
    reporting: Mask
    letters: tuple[DeadLetter, ...]


def packed(contents: BlockContents, dictionary: Dictionary, blank_suffix: str) -> bytes:
    """A blob; `blank_suffix` makes the labels of this task's blank nodes unlike those of any other."""
    batch = contents.batch
    distinct, columns = renumbered((batch.subjects, batch.predicates, batch.objects))
    text, lengths = _suffixed(*dictionary.joined(distinct), blank_suffix.encode())
    events = (
        _column(batch.times), _column(batch.streams), list(batch.names), _column(batch.offsets), *map(_column, columns)
    )  # fmt: skip
    terms = text, _column(lengths), dictionary.numbers[distinct].tobytes()
    tree = terms, events, contents.reporting.tobytes(), contents.letters
    return MAGIC + VERSION.to_bytes(2, "big") + msgspec.msgpack.encode(tree)


def unpacked(blob: bytes, dictionary: Dictionary) -> BlockContents:
    """The contents of a blob, with the dictionary's ids for its terms; RunError for a blob of another version."""
    head = len(MAGIC) + 2
    version = int.from_bytes(blob[len(MAGIC) : head], "big")
    if blob[: len(MAGIC)] != MAGIC or version != VERSION:
        raise RunError(
            f"a worker sends events in version {version}, this one reads version {VERSION}",
            hint="install the same SPAseq on the driver and on every worker",
        )
    kind = tuple[_Terms, _Events, bytes, tuple[DeadLetter, ...]]
    terms, events, reporting, letters = msgspec.msgpack.decode(memoryview(blob)[head:], type=kind)
    text, lengths, numbers = terms
    found = dictionary.intern_joined(text, _array(lengths), np.frombuffer(numbers, dtype=np.float64))
    ids = np.concatenate((np.array([UNBOUND], dtype=np.int64), found))
    times, streams, names, offsets, *columns = events
    batch = EventBatch(_array(times), _array(streams), names, _array(offsets), *(ids[_raw(c)] for c in columns))
    return BlockContents(batch, np.frombuffer(reporting, dtype=np.bool_), letters)


def _suffixed(text: bytes, lengths: Ids, suffix: bytes) -> tuple[bytes, Ids]:
    """The texts with the suffix after each blank node's label."""
    starts = np.cumsum(lengths) - lengths
    blank = np.frombuffer(text, dtype=np.uint8)[starts] == _BLANK
    if not suffix or not blank.any():
        return text, lengths
    parts, at = [], 0
    for end in (starts + lengths)[blank].tolist():
        parts += [text[at:end], suffix]
        at = end
    return b"".join([*parts, text[at:]]), lengths + len(suffix) * blank


def _column(values: Ids) -> _Column:
    values = narrowed(values)
    return values.dtype.str, values.tobytes()


def _raw(column: _Column) -> NDArray[Any]:
    return np.frombuffer(column[1], dtype=column[0])


def _array(column: _Column) -> Ids:
    return _raw(column).astype(np.int64)
