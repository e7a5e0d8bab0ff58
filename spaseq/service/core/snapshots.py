"""The state of the service between two records, as bytes: versioned, with terms in place of ids, and no code."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from spaseq.errors import RunError
from spaseq.service.core.history import Mark
from spaseq.service.core.identities import Block, keys_in
from spaseq.service.core.records import Answered
from spaseq.service.core.saved_groups import SavedGroup
from spaseq.service.core.state import DeclaredKnowledge, State
from spaseq.service.store.damage import damaged
from spaseq.service.store.migration import RELEASED_PART

VERSION = 2
"""Of snapshots; one more when an older service could not read them. Release 0.1.0 wrote version 1."""
_MAIN = "declared"
"""The name of the part with all but the states."""


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


def save(saved: Saved) -> dict[str, bytes]:
    """A snapshot as parts by name, each of which can be damaged without the others: one is the state of a query."""
    parts: dict[str, bytes] = {}
    groups = [group.apart(f"group {number}", parts) for number, group in enumerate(saved.groups)]
    return {_MAIN: msgspec.msgpack.encode(replace(saved, groups=groups)), **parts}


def load(parts: Mapping[str, bytes]) -> Saved:
    """The snapshot of its parts; RunError for one that is damaged, or of another version.

    A state that is damaged is one that cannot be read: its query fails by name.
    """
    body = parts.get(_MAIN) or parts.get(RELEASED_PART)
    if not body:
        raise damaged("the snapshot has no sound part with what is declared")
    try:
        version = msgspec.msgpack.decode(body, type=list[object])[0]
        if version in (1, VERSION):
            saved = msgspec.msgpack.decode(body, type=Saved)
            groups = [group.together_with(f"group {number}", parts) for number, group in enumerate(saved.groups)]
            return saved if _MAIN not in parts else replace(saved, groups=groups)
    except (msgspec.MsgspecError, IndexError) as error:
        raise damaged(f"its snapshot: {error}") from error
    hint = "start the service with the SPAseq that wrote it"
    raise RunError(f"the snapshot has version {version}, this SPAseq reads 1 and {VERSION}", hint=hint)
