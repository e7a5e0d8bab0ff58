"""The state of the service between two records, as bytes: versioned, with terms in place of ids, and no code."""

from __future__ import annotations

import msgspec

from spaseq.errors import RunError
from spaseq.service.core.history import Mark
from spaseq.service.core.identities import Block, keys_in
from spaseq.service.core.records import Answered
from spaseq.service.core.saved_groups import SavedGroup
from spaseq.service.core.state import DeclaredKnowledge, State

VERSION = 2
"""Of snapshots; one more when an older service could not read them. Release 0.1.0 wrote version 1."""


class Memory(msgspec.Struct, frozen=True, array_like=True):
    """Of one stream, blocks of identities (first position, time, keys one after the other), and answers with times."""

    stream: str
    blocks: list[tuple[int, int, bytes]]
    answers: list[tuple[int, Answered]]

    @staticmethod
    def of(stream: str, blocks: list[Block], answers: list[tuple[int, Answered]]) -> Memory:
        """The memory of a stream."""
        return Memory(stream, [(each.first, each.at, b"".join(each.keys)) for each in blocks], answers)

    def restored(self) -> list[Block]:
        """The identities."""
        return [Block(first, at, keys_in(keys)) for first, at, keys in self.blocks]


class Saved(msgspec.Struct, frozen=True, array_like=True):
    """A snapshot; the main group is the first one.

    replaced    knowledge bases that groups use which lag behind, with the numbers of the records that replaced them
    """

    version: int
    state: State
    groups: list[SavedGroup]
    memories: list[Memory]
    marks: list[Mark]
    replaced: list[tuple[int, DeclaredKnowledge]] = []


def save(saved: Saved) -> bytes:
    """A snapshot as bytes."""
    return msgspec.msgpack.encode(saved)


def load(body: bytes | None) -> Saved:
    """The snapshot, an empty one of None; RunError for one of another version."""
    if body is None:
        return Saved(VERSION, State(), [], [], [])
    try:
        version = msgspec.msgpack.decode(body, type=list[object])[0]
        if version in (1, VERSION):
            return msgspec.msgpack.decode(body, type=Saved)
    except (msgspec.MsgspecError, IndexError) as error:
        raise RunError(f"the snapshot is damaged: {error}", hint="restore the data folder from a back-up") from error
    hint = "start the service with the SPAseq that wrote it"
    raise RunError(f"the snapshot has version {version}, this SPAseq reads 1 and {VERSION}", hint=hint)
