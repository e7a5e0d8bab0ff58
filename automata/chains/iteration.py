"""Values of iterations: PREV, FIRST, LAST and aggregates over the chain of a run (specification 3.2).

The repetitions that one variable's iterations come from are an *iteration domain*. Every row knows the last row inside
the domain so far, and every row inside knows the last row of the iteration before: following those pointers gives one
row per iteration, newest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    """

    registers: NDArray[np.int64]
    current: Mapping[int, Mask]
    older: Mapping[int, Ids]

    def take(self, rows: Ids | Mask) -> IterationView:
        """These runs."""
        return IterationView(
            self.registers[rows],
            {domain: mask[rows] for domain, mask in self.current.items()},
            {domain: older[rows] for domain, older in self.older.items()},
        )


@dataclass(frozen=True, slots=True)
class OuterIterations:
    """The iterations of one variable that a whole match brings to a negated group looked for in it.

    values      the bound ones, oldest first
    previous    what PREV is as long as the group itself adds no iteration; UNBOUND where there is none
    latest      the value of the last iteration
    open        that iteration is still without a value, and the group stands in it: what the group binds is its value
    """

    values: tuple[int, ...]
    previous: int
    latest: int
    open: bool


@dataclass(frozen=True, slots=True, eq=False)
class Iterations:
    """The iterations of the runs of one plan; `outer` are those before the first run, by variable."""

    plan: Plan
    runs: Runs
    condition_evaluator: ConditionEvaluator
    outer: Mapping[int, OuterIterations]

    def arriving(self, sources: Ids, edge: PlannedEdge, registers: NDArray[np.int64]) -> IterationView:
        """The runs that take `edge` from the rows `sources`, with these registers."""
        layout, current, older = self.runs.layout, {}, {}
        for domain in range(len(self.plan.domains)):
            inside = domain in self.plan.positions[edge.target].inside
            goes_on = inside and domain not in edge.begun
            column = layout.previous(domain) if goes_on else layout.inside(domain)
            current[domain] = np.full(len(sources), inside)
            older[domain] = self.runs.column(sources, column)
        return IterationView(registers, current, older)

    def arrived(self, rows: Ids) -> IterationView:
        """The runs whose last rows these are."""
        outside, domains = np.zeros(len(rows), dtype=np.bool_), range(len(self.plan.domains))
        older = {domain: self.runs.column(rows, self.runs.layout.inside(domain)) for domain in domains}
        return IterationView(self.runs.registers(rows), dict.fromkeys(domains, outside), older)

    def seen_from(self, around: Sequence[int], ends: Mapping[int, int], now: IterationView) -> IterationView:
        """Iterations as something inside repetitions counts them: up to its own in those, up to now elsewhere.

        around      the repetitions around it, outermost first
        ends        the last row of its iteration of each; NONE where that goes on to the end
        now         one run at its end
        """
        current, older = dict(now.current), dict(now.older)
        for domain in range(len(self.plan.domains)):
            shared = [repetition for repetition in around if self._encloses(repetition, domain)]
            if shared and ends[shared[-1]] != NONE:
                end = np.array([ends[shared[-1]]], dtype=np.int64)
                current[domain] = np.zeros(1, dtype=np.bool_)
                older[domain] = self.runs.column(end, self.runs.layout.inside(domain))
        return IterationView(now.registers, current, older)

    def as_outer(self, variable: int, view: IterationView, around: Sequence[int]) -> OuterIterations:
        """The iteration values of a match for a negated group inside the repetitions `around`."""
        domain = self.plan.domain_of[variable]
        _, values = self._values(variable, view)
        previous, newest = self._previous(variable, view), view.older[domain]
        latest = self.runs.register(newest, variable)[0] if newest[0] != NONE else UNBOUND
        inside = bool(around) and around[-1] in (self.plan.domains[domain] or around)
        is_open = inside and view.registers[0, variable] == UNBOUND
        return OuterIterations(tuple(values.tolist()), int(previous[0]), int(latest), bool(is_open))

    def columns(self, references: Iterable[Reference], view: IterationView) -> dict[Reference, Ids]:
        """One column of ids for each reference."""
        return {reference: self._column(reference, view) for reference in references}

    def _encloses(self, repetition: int, domain: int) -> bool:
        """True if the repetition is one of the domain's, or is around one of them."""
        outer, *inner = (self.plan.repetitions[r].positions for r in (repetition, *self.plan.domains[domain]))
        return any(positions <= outer for positions in inner)

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
        domain = self.plan.domain_of[variable]
        older, current = view.older[domain], view.current[domain]
        column = self.runs.layout.previous(domain)
        before = np.where(current | (older == NONE), older, self.runs.column(older, column))
        first = UNBOUND
        if (outer := self.outer.get(variable)) is not None:
            first = outer.latest if self.plan.domains[domain] else outer.previous
        return np.where(before == NONE, first, self.runs.register(before, variable))

    def _values(self, variable: int, view: IterationView) -> tuple[Ids, Ids]:
        """The bound values of all iterations, oldest first, as offsets and ids."""
        domain, everyone = self.plan.domain_of[variable], np.arange(len(view.registers), dtype=np.int64)
        owners = [np.flatnonzero(view.current[domain])]
        found = [view.registers[owners[0], variable]]
        which, rows = everyone, view.older[domain]
        while len(rows := rows[alive := rows != NONE]):
            which = which[alive]
            owners.append(which)
            found.append(self.runs.register(rows, variable))
            rows = self.runs.column(rows, self.runs.layout.previous(domain))
        if (outer := self.outer.get(variable)) is not None:
            if outer.open and not self.plan.domains[domain]:
                owners[0], found[0] = everyone, view.registers[:, variable]
            owners += [everyone] * len(outer.values)
            found += [np.full(len(everyone), value, dtype=np.int64) for value in reversed(outer.values)]
        return _oldest_first(owners, found, len(everyone))


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
