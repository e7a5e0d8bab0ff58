"""Pieces from stage 1 to stage 2: a row a shard and chunk, most of it a packed blob.

Packing is what makes it pay: Spark sees a few rows, not one an event. What is in a blob: `blobs.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparql_gpm.columns import EventBatch
from spaseq.runtime.order.reorder import BEFORE_ALL
from spaseq.runtime.spark.blobs import Contents

PIECE_SCHEMA = (
    "key bigint, shard int, stream string, place bigint, max_ts bigint, n bigint, ended boolean, advance bigint, "
    "blob binary"
)
"""For Spark; the fields of `Piece`, and before them the key of the shard (`placement.py`)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some events of one stream for one shard, or what is known of the stream by the end of a task.

    place       task and number of the piece in it: pieces of a stream are in the order of their places
    max_ts      the largest time that the task has seen so far, BEFORE_ALL for none
    n           events in the blob
    ended       nothing will come on the stream any more
    advance     nothing before this time will come, BEFORE_ALL if nobody said so
    blob        the events, and dead letters; None: there are none
    """

    shard: int
    stream: str
    place: int
    max_ts: int
    n: int
    ended: bool
    advance: int
    blob: bytes | None

    @staticmethod
    def of(row: Mapping[str, Any]) -> Piece:
        """A row of Spark's."""
        return Piece(**{name: row[name] for name in Piece.__slots__})


def in_order(pieces: Iterable[Piece]) -> dict[str, list[Piece]]:
    """The pieces of each stream, in the order of their places."""
    found: dict[str, list[Piece]] = {}
    for piece in sorted(pieces, key=lambda piece: piece.place):
        found.setdefault(piece.stream, []).append(piece)
    return found


def joined(parts: list[Contents]) -> tuple[EventBatch, NDArray[np.bool_]]:
    """The events of several pieces, one after the other; at least one piece."""
    return EventBatch.concatenate([p.batch for p in parts]), np.concatenate([p.reporting for p in parts])


def newest(pieces: Iterable[Piece]) -> int:
    """The largest time in any of them."""
    return max((piece.max_ts for piece in pieces), default=BEFORE_ALL)
