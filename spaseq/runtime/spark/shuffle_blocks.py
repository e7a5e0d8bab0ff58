"""Blocks that stage 1 sends to stage 2: the events of one chunk for one shard, packed into one row of a DataFrame.

Packing makes it pay: Spark sees a few rows, not one for each event. Events are columns of ids with a dictionary of
their own:

blob := MAGIC VERSION msgpack [terms, events, reporting, letters]

Terms and events are those of `spaseq.runtime.state.packed_events`. A blob lives from one stage to the next, in
one micro-batch; saved states have the format of `spaseq.runtime.state.snapshot`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from sparql_gpm.columns import EventBatch, Mask
from sparql_gpm.dictionary import Dictionary
from spaseq.errors import RunError
from spaseq.outputs.dead_letters import DeadLetter
from spaseq.runtime.state.packed_events import PackedColumns, PackedTerms, packed_events, unpacked_events

MAGIC, VERSION = b"SPAseqE", 3
"""Of the format and of what stage 1 puts into it: one more whenever either changes."""


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
    terms, events = packed_events(contents.batch, dictionary, blank_suffix)
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
    kind = tuple[PackedTerms, PackedColumns, bytes, tuple[DeadLetter, ...]]
    terms, events, reporting, letters = msgspec.msgpack.decode(memoryview(blob)[head:], type=kind)
    batch = unpacked_events((terms, events), dictionary)
    return BlockContents(batch, np.frombuffer(reporting, dtype=np.bool_), letters)
