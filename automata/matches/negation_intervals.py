"""Negation intervals: the negations that matches have passed, each with the ends of the interval it forbids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

import numpy as np

from automata.chains import columns as col
from automata.chains.table import Runs
from automata.chains.walk import Visit, visits
from automata.plan.automaton import Passed
from automata.plan.plan import Plan
from automata.values import NONE, Ids, Mask


@dataclass(frozen=True, slots=True)
class NegationIntervals:
    """n negation intervals.

    which           the index of the match
    negations       its number in the automaton
    after, before   the neighbouring rows; NONE at an end of the match, where the window's end takes their place
    seen_from       the row in whose iteration the negation stands
    """

    which: Ids
    negations: Ids
    after: Ids
    before: Ids
    seen_from: Ids

    def __len__(self) -> int:
        return len(self.which)

    def take(self, rows: Ids | Mask) -> NegationIntervals:
        """These of them."""
        return NegationIntervals(*(getattr(self, name)[rows] for name in _COLUMNS))


_COLUMNS = tuple(column.name for column in fields(NegationIntervals))


def inner_intervals(plan: Plan, runs: Runs, rows: Ids) -> NegationIntervals:
    """The intervals between the steps of the matches that end at these rows."""
    return _joined(list(_inner(plan, runs, visits(runs, rows), NONE)))


def iteration_intervals(plan: Plan, runs: Runs, rows: Ids, repetition: int) -> NegationIntervals:
    """Those of the last iteration of a possessive repetition alone, a further one that ends at these rows."""
    begun = runs.column(rows, runs.layout.begun(repetition))
    return _joined(list(_inner(plan, runs, visits(runs, rows, begun), repetition)))


def trailing_intervals(passed: tuple[Passed, ...], rows: Ids, before: Ids | None = None) -> NegationIntervals:
    """The intervals from the matches that end at these rows to the rows `before`; None: to the end of their windows."""
    which = np.arange(len(rows), dtype=np.int64)
    before = np.full(len(rows), NONE, dtype=np.int64) if before is None else before
    return _joined([NegationIntervals(which, np.full_like(rows, p.negation), rows, before, rows) for p in passed])


def _inner(plan: Plan, runs: Runs, visited: Iterable[Visit], begins: int) -> Iterator[NegationIntervals]:
    """The intervals of the edges taken; where an edge begins an iteration of `begins`, those that stand in it."""
    for visit in visited:
        taken = runs.column(visit.rows, col.EDGE)
        for number in np.unique(taken[taken != NONE]).tolist():
            edge, here = plan.edges[number], taken == number
            for passed in edge.passed:
                if begins == NONE or edge.loop != begins or not passed.at_source:
                    yield _passed(passed, runs, visit.which[here], visit.rows[here], visit.closing[here])


def _passed(passed: Passed, runs: Runs, which: Ids, rows: Ids, closing: Ids) -> NegationIntervals:
    source = runs.column(rows, col.SOURCE)
    target = np.where(closing != NONE, closing, rows)
    after = np.where(runs.column(source, col.HIGH) != NONE, source, NONE)
    seen_from = source if passed.at_source else target
    return NegationIntervals(which, np.full_like(rows, passed.negation), after, target, seen_from)


def _joined(parts: list[NegationIntervals]) -> NegationIntervals:
    none = np.zeros(0, dtype=np.int64)
    return NegationIntervals(*(np.concatenate([none, *(getattr(part, name) for part in parts)]) for name in _COLUMNS))
