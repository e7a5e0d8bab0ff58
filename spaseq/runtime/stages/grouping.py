"""OVER MATCHES: matches, or partial aggregates of matches, folded into groups of reporting units (specification 3.4).

No match is kept. A group holds its values of GROUP BY and an accumulator for each aggregate; the number of groups, with
the values that DISTINCT and GROUP_CONCAT hold, is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from automata.plan.program import TooManyRuns
from automata.state import Values
from automata.values import UNBOUND, Ids, Match
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.accumulators import Accumulator, accumulator
from sparql_gpm.expressions.expression_evaluator import distinct_rows
from sparql_gpm.pattern import Aggregate, Expression
from spaseq.algebra.nodes import OverMatches
from spaseq.physical.program import GROUPS_MAX
from spaseq.runtime.stages.match_values import FEW_MATCHES, MatchValues
from spaseq.runtime.stages.reporting_units import ReportingUnits, spans_of

_IN_ORDER = frozenset({"SAMPLE", "GROUP_CONCAT"})
"""The aggregates of which the order of the values decides."""

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


class Grouping:
    """The open groups of one query."""

    def __init__(
        self,
        over: OverMatches,
        units: ReportingUnits,
        values: MatchValues,
        dictionary: Dictionary,
        name: Callable[[int], str],
        groups_max: int = GROUPS_MAX,
    ) -> None:
        self._over = over
        self._units = units
        self._values = values
        self._dictionary = dictionary
        self._name = name
        self._max = groups_max
        self._held = 0
        self._open: dict[int, Unit] = {}
        columns = list(argument_columns(over))
        self._places = [columns.index(_column(a.argument)) if a.argument is not None else -1 for a in over.aggregates]

    def add(self, matches: Sequence[Match]) -> None:
        """Folds matches in output order. Raises TooManyGroups."""
        if not matches:
            return
        spans = spans_of(matches)
        rows, units = self._units.of(spans)
        if not len(rows):
            return
        if len(matches) <= FEW_MATCHES:
            values = self._values.ids(matches)
            for row, unit in zip(rows.tolist(), units.tolist(), strict=True):
                match, own = matches[row], values[row]
                group = self._group(unit, tuple(own[: len(self._over.keys)]), match.start, match.time)
                for each, place in zip(group.values, self._places, strict=True):
                    self._held -= each.size
                    each.add(own[place] if place >= 0 else 1)
                    self._held += each.size
            self._check()
            return
        self._add_columns(rows, units, spans.start[rows], spans.time[rows], self._values.columns(matches))

    def add_partials(self, partials: Iterable[Partial]) -> None:
        """Merges aggregates in output order. Raises TooManyGroups."""
        for partial in partials:
            group = self._group(partial.unit, partial.key, partial.first, partial.last)
            for each, other in zip(group.values, partial.values, strict=True):
                self._held -= each.size
                each.merge(other)
                self._held += each.size
        self._check()

    def take(self, passed: Callable[[int, Unit], bool]) -> list[tuple[int, Unit]]:
        """Takes out the units for which `passed` holds, in order."""
        numbers = sorted(number for number, unit in self._open.items() if passed(number, unit))
        found = [(number, self._open.pop(number)) for number in numbers]
        self._held -= sum(_size(group) for _, unit in found for group in unit.groups.values())
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
        units, ids = [], []
        for number, unit in self._open.items():
            groups = []
            for key, group in unit.groups.items():
                ids += _ids(key, group)
                states = [[each.state(), len(each.ids())] for each in group.values]
                groups.append([group.first, states])
            units.append([number, unit.last, unit.name, groups])
        return [units, Values(np.array(ids, dtype=np.int64))]

    def restore(self, state: Sequence[Any]) -> None:
        """Continues from a snapshot."""
        ids, width = iter(state[1].ids.tolist()), len(self._over.keys)
        for number, last, name, groups in state[0]:
            unit = self._open[number] = Unit(last, name)
            for first, states in groups:
                group = unit.groups[tuple([next(ids) for _ in range(width)])] = Group(first, self._accumulators())
                for each, (own, count) in zip(group.values, states, strict=True):
                    each.restore(own, [next(ids) for _ in range(count)])
                self._held += _size(group)

    def _add_columns(self, rows: Ids, units: Ids, starts: Ids, times: Ids, values: Mapping[str, Ids]) -> None:
        columns = [ids[rows] for ids in values.values()]
        firsts, of_row = distinct_rows([units - units.min(), *columns[: len(self._over.keys)]])
        earliest = np.full(len(firsts), np.iinfo(np.int64).max, dtype=np.int64)
        latest = np.full(len(firsts), np.iinfo(np.int64).min, dtype=np.int64)
        np.minimum.at(earliest, of_row, starts)
        np.maximum.at(latest, of_row, times)
        keys = list(zip(*(c[firsts].tolist() for c in columns[: len(self._over.keys)]), strict=True))
        facts = zip(units[firsts].tolist(), earliest.tolist(), latest.tolist(), strict=True)
        groups = [
            self._group(unit, keys[number] if keys else (), first, last)
            for number, (unit, first, last) in enumerate(facts)
        ]
        self._held -= sum(map(_size, groups))
        for number, (aggregate, place) in enumerate(zip(self._over.aggregates, self._places, strict=True)):
            accumulators = [group.values[number] for group in groups]
            _fold(aggregate, accumulators, of_row, columns[place] if place >= 0 else None)
        self._held += sum(map(_size, groups))
        self._check()

    def _group(self, number: int, key: Key, first: int, last: int) -> Group:
        """The group of a unit, with one more match whose first and last events are at these times."""
        unit = self._open.get(number)
        if unit is None:
            unit = self._open[number] = Unit(last, self._name(number))
        unit.last = max(unit.last, last)
        group = unit.groups.get(key)
        if group is None:
            group = unit.groups[key] = Group(first, self._accumulators())
            self._held += _size(group)
        group.first = min(group.first, first)
        return group

    def _accumulators(self) -> list[Accumulator]:
        return [accumulator(aggregate, self._dictionary) for aggregate in self._over.aggregates]

    def _check(self) -> None:
        if self._held > self._max:
            raise TooManyGroups(f"more than {self._max:,} groups and values of OVER MATCHES")


def argument_columns(over: OverMatches) -> dict[str, Expression]:
    """The values of every match under their names: those of GROUP BY, then the arguments of the aggregates."""
    return {_column(expression): expression for expression in over.per_match()}


def _column(expression: Expression) -> str:
    return repr(expression)


def _fold(aggregate: Aggregate, accumulators: Sequence[Accumulator], of_row: Ids, values: Ids | None) -> None:
    """Adds the value of each row, which is in the group of a number, to its accumulator; None: COUNT(*)."""
    if values is None:
        for each, times in zip(accumulators, np.bincount(of_row, minlength=len(accumulators)).tolist(), strict=True):
            each.add(1, times)
        return
    bound = values != UNBOUND
    of_row, values = of_row[bound], values[bound]
    if aggregate.name in _IN_ORDER:
        for group, value in zip(of_row.tolist(), values.tolist(), strict=True):
            accumulators[group].add(value)
        return
    if not len(values):
        return
    first, kinds = distinct_rows([of_row, values])
    counts = np.bincount(kinds, minlength=len(first))
    for group, value, times in zip(of_row[first].tolist(), values[first].tolist(), counts.tolist(), strict=True):
        accumulators[group].add(value, times)


def _ids(key: Key, group: Group) -> list[int]:
    """The ids that a group holds: its key, then those of its accumulators."""
    return [*key, *(i for each in group.values for i in each.ids())]


def _size(group: Group) -> int:
    return 1 + sum(each.size for each in group.values)
