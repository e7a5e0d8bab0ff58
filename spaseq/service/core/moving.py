"""Queries that move from one group to another, in the state in which they are."""

from __future__ import annotations

from collections.abc import Sequence

from spaseq.service.core.groups import Group, Running
from spaseq.service.core.operators import Operators


def apart(operators: Operators, group: Group, some: Sequence[Running]) -> Group:
    """A group of its own with some queries of another, and shadows of what they read."""
    other = Group(operators.network(), group.number, watermarks=dict(group.watermarks))
    for producer in group.upstream(some):
        operators.put_in(other, _shadow(producer), group.network.state_of(producer.reader))
    _move(operators, group, other, some)
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


def _shadow(running: Running) -> Running:
    return Running(
        running.name, running.number, running.put, running.meaning, running.text, running.max_runs, shadow=True
    )
