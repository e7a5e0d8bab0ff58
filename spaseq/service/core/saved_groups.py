"""The queries of the service as plain values, for a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from sparql_gpm.dictionary import Dictionary
from spaseq.runtime.embedded.audience import Reader
from spaseq.runtime.state.released import separated
from spaseq.runtime.state.saved_states import InputState, QueryState
from spaseq.runtime.state.snapshot import loads
from spaseq.service.core.groups import Expected, Group, Running
from spaseq.service.core.meanings import meaning_of
from spaseq.service.core.queries import Queries

WAY_BACK = "PUT it again with ?since=window, which rebuilds its state from the log"


class SavedQuery(msgspec.Struct, frozen=True, array_like=True):
    """A query of a group; the fields are those of `Running`. Release 0.1.0 had no state here."""

    name: str
    number: int
    put: int
    text: str
    max_runs: int
    rows: int
    error: str
    shadow: bool
    state: QueryState | None = None


class SavedGroup(msgspec.Struct, frozen=True, array_like=True):
    """A group: its queries in the order in which the network had them, with their states, and its inputs.

    together    of release 0.1.0: all states in one blob
    producers   of expected queries, as `Group` has them
    """

    number: int
    queries: list[SavedQuery]
    watermarks: dict[str, int]
    pausing: set[str]
    together: bytes = b""
    inputs: list[InputState] = []
    expected: dict[str, Expected] = {}
    rebuilding: set[str] = set()
    producers: dict[str, dict[int, SavedGroup]] = {}

    def apart(self, name: str, parts: dict[str, bytes]) -> SavedGroup:
        """The group without its states, which are put among the parts of the snapshot; `name`: of the group there."""
        parts |= {f"{name} query {each.name}": each.state.blob for each in self.queries if each.state is not None}
        parts |= {f"{name} input {number}": each.blob for number, each in enumerate(self.inputs)}
        return self._with(lambda _: b"", lambda place, group: group.apart(f"{name} {place}", parts))

    def together_with(self, name: str, parts: Mapping[str, bytes]) -> SavedGroup:
        """The group with its states from the parts of a snapshot; one that is damaged is empty."""
        return self._with(
            lambda place: parts.get(f"{name} {place}", b""),
            lambda place, group: group.together_with(f"{name} {place}", parts),
        )

    def _with(self, blob: Callable[[str], bytes], group: Callable[[str, SavedGroup], SavedGroup]) -> SavedGroup:
        queries = [
            each if each.state is None else replace(each, state=replace(each.state, blob=blob(f"query {each.name}")))
            for each in self.queries
        ]
        inputs = [replace(each, blob=blob(f"input {number}")) for number, each in enumerate(self.inputs)]
        producers = {
            name: {number: group(f"producers {name} {number}", each) for number, each in those.items()}
            for name, those in self.producers.items()
        }
        return replace(self, queries=queries, inputs=inputs, producers=producers)

    @property
    def state_bytes(self) -> int:
        """The size of the states."""
        states = [each.state.blob for each in self.queries if each.state is not None]
        producers = sum(each.state_bytes for those in self.producers.values() for each in those.values())
        return producers + sum(map(len, (self.together, *states, *(each.blob for each in self.inputs))))


def saved_groups(queries: Queries) -> list[SavedGroup]:
    """All groups, the main one first."""
    return [_saved(queries, group) for group in queries.groups]


def restore_groups(
    queries: Queries, saved: Sequence[SavedGroup], last_row: Callable[[int, int], int]
) -> list[tuple[Group, Running]]:
    """Continue from saved groups; there are no queries yet. A query whose state cannot be read has failed.

    Returns the queries whose states are to be rebuilt from the log: nothing reads those of release 0.1.0 any more, or
    the disk did not give the log.
    last_row    the number of the last row that such a query, by its number, had before it failed at a record
    """
    rebuilt: list[tuple[Group, Running]] = []
    queries.operators.use_kernels()
    queries.aside = [Group(queries.operators.network(), 0) for _ in saved[1:]]
    for group, each in zip(queries.groups, saved, strict=True):
        group.pausing, group.expected = set(each.pausing), dict(each.expected)
        group.producers = _producers(queries, each)
        readers, inputs = _enter(queries, group, each)
        failed = [running for running in group.members.values() if group.failing and running.error]
        group.network.restore(inputs, readers, WAY_BACK)
        for running in failed:
            running.rows = last_row(running.number, group.number)
        if each.together:
            late = [one for one in group.members.values() if queries.operators.joined_late(one.meaning)]
            rebuilt += [(group, running) for running in late]
        rebuilt += [(group, group.members[name]) for name in sorted(each.rebuilding)]
        _fail(group, last_row, [running for _, running in rebuilt])
    return rebuilt


def _enter(queries: Queries, group: Group, saved: SavedGroup) -> tuple[dict[Reader, QueryState], list[InputState]]:
    """Let an empty group have the queries of a saved one; returns their states and those of the inputs."""
    group.number = saved.number
    inputs, states = _states(saved, queries.operators.dictionary)
    for query in saved.queries:
        queries.operators.add(group, _running(query))
    group.watermarks = dict(saved.watermarks)
    return {group.members[name].reader: state for name, state in states.items()}, inputs


def _producers(queries: Queries, saved: SavedGroup) -> dict[str, dict[int, Group]]:
    """The producers of expected queries; without those whose states cannot be read, which come from the log."""
    found: dict[str, dict[int, Group]] = {}
    for name, those in saved.producers.items():
        for number, each in those.items():
            group = Group(queries.operators.network(), 0)
            readers, inputs = _enter(queries, group, each)
            group.network.restore(inputs, readers, WAY_BACK)
            if not group.network.take_stopped():
                found.setdefault(name, {})[number] = group
    return found


def _saved(queries: Queries, group: Group) -> SavedGroup:
    by_reader = {running.reader: running for running in group.members.values()}
    inputs, states = group.network.snapshot()
    members = [
        SavedQuery(
            each.name,
            each.number,
            each.put,
            each.text,
            each.max_runs,
            each.rows,
            each.error,
            each.shadow,
            states[reader],
        )
        for reader in group.network.readers
        for each in (by_reader[reader],)
    ]
    producers = {
        name: {number: _saved(queries, each) for number, each in those.items()}
        for name, those in group.producers.items()
    }
    return SavedGroup(
        group.number, members, group.watermarks, group.pausing, b"", inputs, group.expected, group.rebuilding, producers
    )


def _fail(group: Group, last_row: Callable[[int, int], int], but: Sequence[Running]) -> None:
    """Mark the queries as failed whose states cannot be read; of a shadow, the queries that read its stream."""
    for name, reason in group.network.take_stopped().items():
        unread = group.members[name]
        if unread in but:
            continue
        for running in group.downstream(unread) if unread.shadow else [unread]:
            group.fail(running, reason)
            running.rows = last_row(running.number, group.number)


def _states(saved: SavedGroup, dictionary: Dictionary) -> tuple[list[InputState], dict[str, QueryState]]:
    """The states of the inputs, and those of the queries by name."""
    if not saved.together:
        return saved.inputs, {each.name: each.state for each in saved.queries if each.state is not None}
    written = [(each.name, each.text) for each in saved.queries]
    network = separated(loads(saved.together, dictionary), written, dictionary)
    return network.inputs, {state.name: state for state in network.queries}


def _running(saved: SavedQuery) -> Running:
    meaning = meaning_of(saved.name, saved.text)
    return Running(
        saved.name, saved.number, saved.put, meaning, saved.text, saved.max_runs, saved.rows, saved.error, saved.shadow
    )
