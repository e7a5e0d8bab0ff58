"""Values of iterations: PREV, FIRST, LAST and aggregates over the chain of a run (specification 3.2).

The repetitions that one variable's iterations come from are an *iteration domain*. Every row knows the last row inside
the domain so far, and every row inside knows the last row of the iteration before: following those pointers gives one
row per iteration, newest first. The register of that row is the iteration's value, but for the variables of
`Plan.walked`: `automata.chains.series` reads those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automata.chains.lookback import Lookback
from automata.chains.series import Asker, Series, SeriesReader, Taking
from automata.chains.table import Runs
from automata.plan.plan import Plan, PlannedEdge
from automata.plan.program import ConditionEvaluator, FoldValue, IterationValue, Reference
from automata.values import NONE, UNBOUND, Ids, Mask


@dataclass(frozen=True, slots=True)
class IterationView:
    """n runs as conditions see them, whether their last step has a row yet or not.

    registers   int64[n, variables]
    current     domain → bool[n]: the last step is inside the domain, its values are in `registers`
    older       domain → int64[n]: the newest row of the domain that is not the last step itself
                (where `current`: of the iteration before; else: the last row inside)
    rows        their last rows that are written
    taking      the step that they are taking from these
    asker       of one run: they are seen from inside repetitions
    """

    registers: NDArray[np.int64]
    current: Mapping[int, Mask]
    older: Mapping[int, Ids]
    rows: Ids
    taking: Taking | None = None
    asker: Asker | None = None

    def take(self, rows: Ids | Mask) -> IterationView:
        """These runs."""
        return IterationView(
            self.registers[rows],
            {domain: mask[rows] for domain, mask in self.current.items()},
            {domain: older[rows] for domain, older in self.older.items()},
            self.rows[rows],
            None if self.taking is None else self.taking.take(rows),
            self.asker,
        )


@dataclass(frozen=True, slots=True)
class OuterIterations:
    """The iterations of one variable that a whole match brings to a negated group looked for in it.

    values      one an iteration, oldest first; UNBOUND where it binds none
    open        the place of the one that the group stands in: what the group binds is its value; NONE: there is none
    """

    values: tuple[int, ...]
    open: int


@dataclass(frozen=True, slots=True, eq=False)
class Iterations:
    """The iterations of the runs of one plan; `outer` are those before the first run, by variable."""

    plan: Plan
    runs: Runs
    lookback: Lookback
    condition_evaluator: ConditionEvaluator
    outer: Mapping[int, OuterIterations]

    def arriving(
        self, sources: Ids, edge: PlannedEdge, registers: NDArray[np.int64], told: Mapping[int, Mask]
    ) -> IterationView:
        """The runs that take `edge` from the rows `sources`, with these registers; `told` as in `bindings.told`."""
        layout, current, older = self.runs.layout, {}, {}
        for domain in range(len(self.plan.domains)):
            inside = domain in self.plan.positions[edge.target].inside
            goes_on = inside and domain not in edge.begun
            column = layout.previous(domain) if goes_on else layout.inside(domain)
            current[domain] = np.full(len(sources), inside)
            older[domain] = self.runs.column(sources, column)
        return IterationView(registers, current, older, sources, Taking(edge, registers, told))

    def arrived(self, rows: Ids) -> IterationView:
        """The runs whose last rows these are."""
        outside, domains = np.zeros(len(rows), dtype=np.bool_), range(len(self.plan.domains))
        older = {domain: self.runs.column(rows, self.runs.layout.inside(domain)) for domain in domains}
        return IterationView(self.runs.registers(rows), dict.fromkeys(domains, outside), older, rows)

    def as_outer(self, variable: int, view: IterationView) -> OuterIterations:
        """The iteration values of one match for a negated group."""
        (series,) = self._series(variable, view)
        return OuterIterations(tuple(series.values), series.current)

    def columns(self, references: Iterable[Reference], view: IterationView) -> dict[Reference, Ids]:
        """One column of ids for each reference."""
        return {reference: self._column(reference, view) for reference in references}

    def _column(self, reference: Reference, view: IterationView) -> Ids:
        match reference:
            case int():
                return view.registers[:, reference]
            case IterationValue("PREV", variable):
                return self._previous(variable, view)
            case IterationValue(kind, variable):
                offsets, ids = self._values(variable, view)
                some, last = offsets[1:] > offsets[:-1], kind == "LAST"
                result = np.full(len(some), UNBOUND, dtype=np.int64)
                result[some] = ids[offsets[1:][some] - 1 if last else offsets[:-1][some]]
                return result
            case FoldValue(_, variable):
                return self.condition_evaluator.fold(reference, *self._values(variable, view))

    def _previous(self, variable: int, view: IterationView) -> Ids:
        if self._walks(variable, view):
            found = [series.values[-2:-1] or [UNBOUND] for series in self._series(variable, view)]
            return np.array(found, dtype=np.int64).reshape(-1)
        domain = self.plan.domain_of[variable]
        older, current = view.older[domain], view.current[domain]
        column = self.runs.layout.previous(domain)
        before = np.where(current | (older == NONE), older, self.runs.column(older, column))
        return np.where(before == NONE, UNBOUND, self.runs.register(before, variable))

    def _values(self, variable: int, view: IterationView) -> tuple[Ids, Ids]:
        """The bound values of all iterations, oldest first, as offsets and ids."""
        if self._walks(variable, view):
            bound = [[v for v in series.values if v != UNBOUND] for series in self._series(variable, view)]
            offsets = np.cumsum([0, *map(len, bound)], dtype=np.int64)
            return offsets, np.array([value for values in bound for value in values], dtype=np.int64)
        domain, everyone = self.plan.domain_of[variable], np.arange(len(view.registers), dtype=np.int64)
        owners = [np.flatnonzero(view.current[domain])]
        found = [view.registers[owners[0], variable]]
        which, rows = everyone, view.older[domain]
        while len(rows := rows[alive := rows != NONE]):
            which = which[alive]
            owners.append(which)
            found.append(self.runs.register(rows, variable))
            rows = self.runs.column(rows, self.runs.layout.previous(domain))
        return _oldest_first(owners, found, len(everyone))

    def _walks(self, variable: int, view: IterationView) -> bool:
        """True if the chains of runs have to be read."""
        return view.asker is not None or variable in self.plan.walked

    def _series(self, variable: int, view: IterationView) -> list[Series]:
        """The iterations of each run, those of the match around a negated group before its own."""
        reader, outer = SeriesReader(self.plan, self.runs, self.lookback), self.outer.get(variable)
        found = [reader.read(variable, row, view.taking, run, view.asker) for run, row in enumerate(view.rows.tolist())]
        if outer is None:
            return found
        return [_joined(outer, series) for series in found]


def _joined(outer: OuterIterations, own: Series) -> Series:
    values = list(outer.values)
    if outer.open != NONE and own.outside != UNBOUND:
        values[outer.open] = own.outside
    current = outer.open if own.current == NONE else len(values) + own.current
    return Series(values + own.values, current, own.outside)


def _oldest_first(owners: Sequence[Ids], found: Sequence[Ids], runs: int) -> tuple[Ids, Ids]:
    """Values found newest first, each with the run that it is of, as offsets and ids; those unbound left out."""
    owner, ids = np.concatenate(owners[::-1]), np.concatenate(found[::-1])
    owner, ids = owner[ids != UNBOUND], ids[ids != UNBOUND]
    order = np.argsort(owner, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=runs)))).astype(np.int64)
    return offsets, ids[order]


def named(columns: Mapping[Reference, Ids], rows: Ids | Mask) -> dict[Reference, Ids]:
    """These rows of every column."""
    return {reference: column[rows] for reference, column in columns.items()}
