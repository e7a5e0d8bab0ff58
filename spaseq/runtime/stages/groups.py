"""The open groups of OVER MATCHES: accumulators by reporting unit and values of GROUP BY (specification 3.4).

The number of groups, with the values that DISTINCT and GROUP_CONCAT hold, is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from automata.plan.program import TooManyRuns
from automata.state import Values
from automata.values import Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.accumulators import Accumulator, accumulator
from spaseq.algebra.nodes import OverMatches
from spaseq.physical.program import GROUPS_MAX

Key = tuple[int, ...]
"""The ids of the values of GROUP BY, UNBOUND where there is none."""


class TooManyGroups(TooManyRuns):
    """OVER MATCHES would hold more groups, and values in them, than are allowed; it cannot go on."""

    hint = "GROUP BY fewer variables, leave out DISTINCT and GROUP_CONCAT, or take a shorter window or a longer EVERY"


@dataclass(slots=True)
class Group:
    """The matches of one group: the least time of a first event, and an accumulator for each aggregate."""

    first: int
    values: Sequence[Accumulator]


@dataclass(slots=True)
class Unit:
    """A reporting unit: the time of the last event of its matches, its name for CONSTRUCT, and its groups."""

    last: int
    name: str
    groups: dict[Key, Group] = field(default_factory=dict)


@dataclass(slots=True)
class Partial:
    """Aggregates of one match or more of a group, which come after those before."""

    unit: int
    key: Key
    first: int
    last: int
    values: Sequence[Accumulator]


class Groups:
    """The open groups of one query; `name` gives that of a unit."""

    def __init__(
        self,
        over: OverMatches,
        dictionary: Dictionary,
        name: Callable[[int], str],
        groups_max: int = GROUPS_MAX,
    ) -> None:
        self._over = over
        self._dictionary = dictionary
        self._name = name
        self._max = groups_max
        self._held = 0
        self._open: dict[int, Unit] = {}

    def add_partials(self, partials: Iterable[Partial]) -> None:
        """Merges aggregates in output order. Raises TooManyGroups."""
        for partial in partials:
            group = self._group(partial.unit, partial.key, partial.first, partial.last)
            for each, other in zip(group.values, partial.values, strict=True):
                self._held -= each.size
                each.merge(other)
                self._held += each.size
        self._check()

    def merge(self, state: Sequence[Any]) -> None:
        """Merges units in the form of `units_state`. Raises TooManyGroups."""
        for number, unit in self._units_of(state):
            self.add_partials(
                Partial(number, key, group.first, unit.last, group.values) for key, group in unit.groups.items()
            )

    def take(self, passed: Callable[[int, Unit], bool]) -> list[tuple[int, Unit]]:
        """Takes out the units for which `passed` holds, in order."""
        numbers = sorted(number for number, unit in self._open.items() if passed(number, unit))
        found = [(number, self._open.pop(number)) for number in numbers]
        self._held -= sum(size_of(group) for _, unit in found for group in unit.groups.values())
        return found

    def __len__(self) -> int:
        return len(self._open)

    def units(self) -> Mapping[int, Unit]:
        """The open units."""
        return self._open

    def live_ids(self) -> Ids:
        """Every id that the groups hold."""
        return np.array([i for u in self._open.values() for k, g in u.groups.items() for i in _ids(k, g)], np.int64)

    def snapshot(self) -> list[Any]:
        """The open groups, for `spaseq.runtime.state.snapshot`."""
        return units_state(self._open.items())

    def restore(self, state: Sequence[Any]) -> None:
        """Continues from a snapshot."""
        for number, unit in self._units_of(state):
            self._open[number] = unit
            self._held += sum(map(size_of, unit.groups.values()))

    def _units_of(self, state: Sequence[Any]) -> Iterator[tuple[int, Unit]]:
        ids, width = iter(state[1].ids.tolist()), len(self._over.keys)
        for number, last, name, groups in state[0]:
            unit = Unit(last, name)
            for first, states in groups:
                group = unit.groups[tuple([next(ids) for _ in range(width)])] = Group(first, self._accumulators())
                for each, (own, count) in zip(group.values, states, strict=True):
                    each.restore(own, [next(ids) for _ in range(count)])
            yield number, unit

    def _group(self, number: int, key: Key, first: int, last: int) -> Group:
        """The group of a unit, with one more match whose first and last events are at these times."""
        unit = self._open.get(number)
        if unit is None:
            unit = self._open[number] = Unit(last, self._name(number))
        unit.last = max(unit.last, last)
        group = unit.groups.get(key)
        if group is None:
            group = unit.groups[key] = Group(first, self._accumulators())
            self._held += size_of(group)
        group.first = min(group.first, first)
        return group

    def _accumulators(self) -> list[Accumulator]:
        return [accumulator(aggregate, self._dictionary) for aggregate in self._over.aggregates]

    def _check(self) -> None:
        if self._held > self._max:
            raise TooManyGroups(f"more than {self._max:,} groups and values of OVER MATCHES")


def units_state(units: Iterable[tuple[int, Unit]]) -> list[Any]:
    """Units by number as plain values and ids, for `spaseq.runtime.state.snapshot`."""
    found, ids = [], []
    for number, unit in units:
        groups = []
        for key, group in unit.groups.items():
            ids += _ids(key, group)
            groups.append([group.first, [[each.state(), len(each.ids())] for each in group.values]])
        found.append([number, unit.last, unit.name, groups])
    return [found, Values(np.array(ids, dtype=np.int64))]


def size_of(group: Group) -> int:
    """The group, and the values that it holds."""
    return 1 + sum(each.size for each in group.values)


def _ids(key: Key, group: Group) -> list[int]:
    """The ids that a group holds: its key, then those of its accumulators."""
    return [*key, *(i for each in group.values for i in each.ids())]
