"""First-chance negation: a partial match is dropped as soon as a forbidden event is known to lie in it (K 4.4.2).

A negation of one step between two steps can be looked at once both neighbours are bound, and whatever
the negated step's values and conditions depend on: no later event can change the outcome then. A way with
any other negation has all of them looked at when the match is complete (K 4.4.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arrays.columns import compatible, merged
from automata.lazy.buffer import LOW, STREAM, TIME, Buffer
from automata.lazy.partial import PartialLayout, Rows
from automata.lazy.path import AllOf, Item, Path, Step
from automata.lazy.units import Units
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator, Reference
from automata.values import NONE, Ids, Mask


@dataclass(frozen=True, slots=True)
class _Negation:
    """One negated step between two units.

    providers   for each variable that matters the units that bind it for certain: one of them must be bound
    """

    symbol: int
    after: int
    before: int
    providers: tuple[frozenset[int], ...]

    @property
    def decidable(self) -> bool:
        """True if it is ready once every unit is bound."""
        return all(self.providers)

    def ready(self, bound: frozenset[int]) -> bool:
        """True if partial matches of these units can be tested by it."""
        return {self.after, self.before} <= bound and all(units & bound for units in self.providers)


class FirstChance:
    """The negations of one way that partial matches can be tested by.

    negated     the buffers of negated symbols: solutions outside every partition and window included

    decides_all     no negation between the steps of the way is left to be looked at when a match is complete
    """

    def __init__(
        self,
        plan: Plan,
        path: Path,
        units: Units,
        layout: PartialLayout,
        buffers: Mapping[int, Buffer],
        negated: Mapping[int, Buffer],
        condition_evaluator: ConditionEvaluator,
    ) -> None:
        self._program = plan.program
        self._conditions = plan.conditions
        self._units = units
        self._layout = layout
        self._buffers = buffers
        self._negated = negated
        self._condition_evaluator = condition_evaluator
        self._negations = tuple(self._found(plan, path))
        passed = sum(len(plan.edges[edge].passed) for edge in _edges(path.items))
        self.decides_all = len([n for n in self._negations if n.decidable]) == passed

    def free(self, bound: frozenset[int], unit: int, rows: Rows) -> Mask:
        """A mask of the rows that no negation removes which can be evaluated now that `unit` is bound too."""
        kept = np.ones(len(rows), dtype=np.bool_)
        for negation in self._negations:
            if negation.ready(bound | {unit}) and not negation.ready(bound):
                which = np.flatnonzero(kept)
                kept[which[self._violated(negation, rows[which])]] = False
        return kept

    def _violated(self, negation: _Negation, rows: Rows) -> Ids:
        """The numbers of the rows, each at least once, in which the negated step has an event."""
        buffer = self._negated[negation.symbol]
        after, before = (self._at(rows, unit, LOW) for unit in (negation.after, negation.before))
        begin, end = buffer.number(LOW, after, after=True), buffer.number(LOW, before)
        found = [rows[:0, 0]]
        for which, numbers in buffer.search(begin, end, (), rows[:, 0], in_context=False):
            keep = np.flatnonzero(self._between(negation, rows[which], buffer, numbers))
            which, numbers = which[keep], numbers[keep]
            found.append(which[self._meets(negation.symbol, rows[which], buffer, numbers)])
        return np.concatenate(found)

    def _at(self, rows: Rows, unit: int, column: int) -> Ids:
        return self._buffers[self._units.units[unit].symbol].at(column, rows[:, self._layout.number(unit)])

    def _between(self, negation: _Negation, rows: Rows, buffer: Buffer, numbers: Ids) -> Mask:
        """Order between streams: at one time only events of one stream precede each other."""
        keep = np.ones(len(rows), dtype=np.bool_)
        if self._program.streams > 1:
            for unit in (negation.after, negation.before):
                other_time = self._at(rows, unit, TIME) != buffer.at(TIME, numbers)
                keep &= other_time | (self._at(rows, unit, STREAM) == buffer.at(STREAM, numbers))
        return keep

    def _meets(self, symbol: int, rows: Rows, buffer: Buffer, numbers: Ids) -> Mask:
        """Compatible with what is bound, and every condition of the negated step holds."""
        registers = rows[:, self._layout.registers]
        keep = np.ones(len(rows), dtype=np.bool_)
        for variable in self._program.symbols[symbol].scope:
            new, old = buffer.value(variable, numbers), registers[:, variable]
            keep &= compatible(new, old)
            registers[:, variable] = merged(new, old)
        for number in self._conditions[symbol]:
            which = np.flatnonzero(keep)
            if len(which):
                variables = self._program.conditions[number].variables()
                columns: dict[Reference, Ids] = {r: registers[which, r] for r in variables}
                keep[which] = self._condition_evaluator.holds(number, columns, len(which))
        return keep

    # --- which negations ----------------------------------------------------------------------------

    def _found(self, plan: Plan, path: Path) -> Iterator[_Negation]:
        unit_of = {step.edge: self._units.of_step(number) for number, step in enumerate(self._units.steps)}
        for earlier, later in pairwise(path.items):
            if not (isinstance(earlier, Step) and isinstance(later, Step)) or later.loop >= 0:
                continue
            if len(earlier.symbols) + len(later.symbols) > 2:
                continue
            (after,), (before,) = unit_of[earlier.edge], unit_of[later.edge]
            for passed in plan.edges[later.edge].passed:
                step = plan.negations[passed.negation].step
                if step != NONE:
                    yield from self._negation(step, after, before)

    def _negation(self, symbol: int, after: int, before: int) -> Iterator[_Negation]:
        conditions = [self._program.conditions[number] for number in self._conditions[symbol]]
        references = [reference for condition in conditions for reference in condition.references]
        if any(c.needs_event for c in conditions) or not all(isinstance(r, int) for r in references):
            return
        variables = self._program.symbols[symbol].scope.union(*(c.variables() for c in conditions))
        providers = []
        for variable in sorted(variables):
            binders = [n for n, unit in enumerate(self._units.units) if variable in self._scope(unit.symbol)]
            if binders:
                providers.append(frozenset(n for n in binders if variable in self._certain(n)))
        yield _Negation(symbol, after, before, tuple(providers))

    def _scope(self, symbol: int) -> frozenset[int]:
        return self._program.symbols[symbol].scope

    def _certain(self, unit: int) -> frozenset[int]:
        return self._program.symbols[self._units.units[unit].symbol].certain


def _edges(items: Sequence[Item]) -> Iterator[int]:
    """Every edge that a way takes."""
    for item in items:
        yield item.edge
        match item:
            case Step(loop=loop) if loop >= 0:
                yield loop
            case AllOf(members=members):
                for member in members:
                    yield from _edges(member)
