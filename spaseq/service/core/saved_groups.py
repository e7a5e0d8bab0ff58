"""The queries of the service as plain values, for a snapshot."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from spaseq.runtime.state.snapshot import dumps, loads
from spaseq.service.core.groups import Group, Running
from spaseq.service.core.meanings import meaning_of
from spaseq.service.core.queries import Queries


class SavedQuery(msgspec.Struct, frozen=True, array_like=True):
    """A query of a group; the fields are those of `Running`."""

    name: str
    number: int
    put: int
    text: str
    max_runs: int
    rows: int
    error: str
    shadow: bool


class SavedGroup(msgspec.Struct, frozen=True, array_like=True):
    """A group: its queries in the order of the network, and the state of that."""

    number: int
    queries: list[SavedQuery]
    watermarks: dict[str, int]
    pausing: set[str]
    state: bytes


def saved_groups(queries: Queries) -> list[SavedGroup]:
    """All groups, the main one first."""
    return [_saved(queries, group) for group in queries.groups]


def restore_groups(queries: Queries, saved: Sequence[SavedGroup]) -> None:
    """Continue from saved groups; there are no queries yet."""
    queries.operators.use_kernels()
    queries.aside = [Group(queries.operators.network(), 0) for _ in saved[1:]]
    for group, each in zip(queries.groups, saved, strict=True):
        group.number, group.pausing = each.number, set(each.pausing)
        for query in each.queries:
            queries.operators.add(group, _running(query))
        group.watermarks = dict(each.watermarks)
        group.network.restore(loads(each.state, queries.operators.dictionary))


def _saved(queries: Queries, group: Group) -> SavedGroup:
    by_reader = {running.reader: running for running in group.members.values()}
    ordered = [by_reader[reader] for reader in group.network.readers]
    members = [
        SavedQuery(each.name, each.number, each.put, each.text, each.max_runs, each.rows, each.error, each.shadow)
        for each in ordered
    ]
    state = dumps(group.network.snapshot(), queries.operators.dictionary)
    return SavedGroup(group.number, members, group.watermarks, group.pausing, state)


def _running(saved: SavedQuery) -> Running:
    meaning = meaning_of(saved.name, saved.text)
    return Running(
        saved.name, saved.number, saved.put, meaning, saved.text, saved.max_runs, saved.rows, saved.error, saved.shadow
    )
