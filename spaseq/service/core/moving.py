"""Queries that move from one group to another, in the state in which they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spaseq.service.core.groups import Group, Running
from spaseq.service.core.operators import Operators


def apart(operators: Operators, group: Group, some: Sequence[Running]) -> Group:
    """A group of its own with some queries of another, and shadows of what they read."""
    other = shadows(operators, group, group.upstream(some))
    _move(operators, group, other, some)
    return other


def shadows(operators: Operators, group: Group, some: Sequence[Running]) -> Group:
    """A group of its own with shadows of some queries of another, as they are now."""
    other = Group(operators.network(), group.number, watermarks=dict(group.watermarks))
    for running in some:
        operators.put_in(other, shadow_of(running), group.network.state_of(running.reader))
    return other


def keep_producers(
    operators: Operators, group: Group, behind: Group, reader: Running, others: Mapping[int, Group]
) -> None:
    """Keep what a query reads as it is in a group, for one that is behind and has the query once it is there.

    others  of its earlier texts
    """
    read = [each for each in group.upstream([reader]) if each.name not in behind.members]
    kept = {reader.put: shadows(operators, group, read)} if read else {}
    if others or kept:
        behind.producers.setdefault(reader.name, {}).update({**others, **kept})


def use_producers(operators: Operators, group: Group, name: str, number: int) -> None:
    """Let a group that has reached the record of a query's text have what was kept for it."""
    if (kept := group.producers.get(name, {}).pop(number, None)) is not None:
        for running in [each for each in kept.members.values() if each.name not in group.members]:
            operators.put_in(group, shadow_of(running), kept.network.state_of(running.reader))


@dataclass(frozen=True, slots=True)
class Kept:
    """The state of some queries of a group, before it reads on: those that may have to wait, and all around them.

    states      by name
    found       by name, the number of rows that have been found and are not stored yet
    """

    number: int
    watermarks: dict[str, int]
    states: dict[str, list[Any]]
    found: dict[str, int]


def kept_before(operators: Operators, group: Group) -> Kept | None:
    """The state of the queries of a group that may have to be set back; None if none may.

    They wait for an endpoint, or have a condition that may be too costly for an event.
    """
    some: dict[str, Running] = {}
    names = group.members if operators.patient else group.costly & group.members.keys()
    for running in map(group.members.__getitem__, names):
        if not running.error and (running.is_costly or operators.waits(running.meaning)):
            around = group.downstream(running)
            some |= {each.name: each for each in (*group.upstream(around), *around) if not each.error}
    if not some:
        return None
    states = {name: group.network.state_of(each.reader) for name, each in some.items()}
    found = {name: len(each.found) for name, each in some.items()}
    return Kept(group.number, dict(group.watermarks), states, found)


def set_back(operators: Operators, group: Group, name: str, before: Kept, singly: bool = False) -> Group:
    """A group of its own with a query and those that read its stream, as they were before the group read on."""
    other = Group(operators.network(), before.number, watermarks=dict(before.watermarks), singly=singly)
    some = [each for each in group.downstream(group.members[name]) if each.name in before.states]
    for producer in group.upstream(some):
        if producer.name in before.states:
            operators.put_in(other, shadow_of(producer), before.states[producer.name])
    for running in some:
        group.network.remove(running.reader, keep_readers=True)
        del group.members[running.name]
        del running.found[before.found[running.name] :]
    for running in some:
        operators.put_in(other, running, before.states[running.name])
    return other


def caught_up(group: Group, main: Group) -> bool:
    """True if a group has read what the main group has, which has the queries whose shadows it needs."""
    shadows = (each.name for each in group.members.values() if each.shadow)
    return group.number >= main.number and all(name in main.members for name in shadows)


def move_all(operators: Operators, group: Group, other: Group) -> None:
    """Let the queries of a group go on in another; its shadows have done their work."""
    _move(operators, group, other, [each for each in group.members.values() if not each.shadow])
    for shadow in group.members.values():
        group.network.remove(shadow.reader, keep_readers=True)


def _move(operators: Operators, group: Group, other: Group, some: Sequence[Running]) -> None:
    by_reader = {running.reader: running for running in some}
    ordered = [by_reader[reader] for reader in group.network.readers if reader in by_reader]
    kept = [(running, group.network.state_of(running.reader)) for running in ordered]
    for running in ordered:
        group.network.remove(running.reader, keep_readers=True)
        del group.members[running.name]
    for running, state in kept:
        operators.put_in(other, running, state)


def shadow_of(running: Running) -> Running:
    """A query whose rows only the readers of its stream get, for a group in which it does not run itself."""
    return Running(
        running.name, running.number, running.put, running.meaning, running.text, running.max_runs, shadow=True
    )
