"""OVER MATCHES: matches, or partial aggregates of matches, folded into groups of reporting units (specification 3.4).

No match is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from arrays.times import AFTER_ALL, BEFORE_ALL
from automata.values import UNBOUND, Ids, Match
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.accumulators import Accumulator
from sparql_gpm.expressions.expression_evaluator import distinct_rows
from sparql_gpm.pattern import Aggregate, Expression
from spaseq.algebra.nodes import OverMatches
from spaseq.physical.program import GROUPS_MAX
from spaseq.runtime.stages.groups import Groups, size_of
from spaseq.runtime.stages.match_values import FEW_MATCHES, MatchValues
from spaseq.runtime.stages.reporting_units import ReportingUnits, spans_of

_IN_ORDER = frozenset({"SAMPLE", "GROUP_CONCAT"})
"""The aggregates of which the order of the values decides."""


class Grouping(Groups):
    """The open groups of one query, into which matches are folded."""

    def __init__(
        self,
        over: OverMatches,
        units: ReportingUnits,
        values: MatchValues,
        dictionary: Dictionary,
        name: Callable[[int], str],
        groups_max: int = GROUPS_MAX,
    ) -> None:
        super().__init__(over, dictionary, name, groups_max)
        self._units = units
        self._values = values
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

    def _add_columns(self, rows: Ids, units: Ids, starts: Ids, times: Ids, values: Mapping[str, Ids]) -> None:
        columns = [ids[rows] for ids in values.values()]
        firsts, of_row = distinct_rows([units - units.min(), *columns[: len(self._over.keys)]])
        earliest = np.full(len(firsts), AFTER_ALL, dtype=np.int64)
        latest = np.full(len(firsts), BEFORE_ALL, dtype=np.int64)
        np.minimum.at(earliest, of_row, starts)
        np.maximum.at(latest, of_row, times)
        keys = list(zip(*(c[firsts].tolist() for c in columns[: len(self._over.keys)]), strict=True))
        facts = zip(units[firsts].tolist(), earliest.tolist(), latest.tolist(), strict=True)
        groups = [
            self._group(unit, keys[number] if keys else (), first, last)
            for number, (unit, first, last) in enumerate(facts)
        ]
        self._held -= sum(map(size_of, groups))
        for number, (aggregate, place) in enumerate(zip(self._over.aggregates, self._places, strict=True)):
            accumulators = [group.values[number] for group in groups]
            _fold(aggregate, accumulators, of_row, columns[place] if place >= 0 else None)
        self._held += sum(map(size_of, groups))
        self._check()


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
