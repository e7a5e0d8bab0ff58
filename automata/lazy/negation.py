"""First-chance negation: a partial match is dropped once a forbidden event is known to lie in it (K 4.4.2).

A path with another negation than of one step between two steps has all evaluated when the match is complete (K 4.4.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arrays.times import later
from automata.chains import bindings
from automata.lazy.partial import Rows
from automata.lazy.path import Step, walk
from automata.lazy.search import Search
from automata.lazy.units import Needs
from automata.plan.plan import PlannedNegation
from automata.plan.program import Reference
from automata.slices.step_buffer import LOW, STREAM, TIME, Buffer
from automata.values import NONE, Ids, Mask


@dataclass(frozen=True, slots=True)
class _Negation:
    """One negated step between two units, with its limit."""

    symbol: int
    after: int
    before: int
    limit: int | None
    needs: Needs


class FirstChance:
    """The negations of one path that partial matches can be tested by.

    decides_all     no negation between the steps of the path is left to be looked at when a match is complete
    """

    def __init__(self, search: Search) -> None:
        self._search = search
        self._plan = search.plan
        self._program = search.plan.program
        self._units = search.units
        self._negations = tuple(self._found())
        items = list(walk(search.path.items))
        edges = [*(item.edge for item in items), *(s.loop for s in items if isinstance(s, Step) and s.loop != NONE)]
        passed = sum(len(self._plan.edges[edge].passed) for edge in edges)
        self.decides_all = len([n for n in self._negations if all(n.needs.providers)]) == passed

    def free(self, bound: frozenset[int], unit: int, rows: Rows) -> Mask:
        """A mask of the rows that no negation removes which can be evaluated now that `unit` is bound too."""
        kept = np.ones(len(rows), dtype=np.bool_)
        for negation in self._negations:
            if negation.needs.completed_by(unit, bound):
                which = np.flatnonzero(kept)
                kept[which[self._violated(negation, rows[which])]] = False
        return kept

    def _violated(self, negation: _Negation, rows: Rows) -> Ids:
        """The numbers of the rows, each at least once, in which the negated step has an event."""
        buffer = self._search.buffers.negated[negation.symbol]
        after, before = (self._search.at(rows, unit, LOW) for unit in (negation.after, negation.before))
        begin, end = buffer.number(LOW, after, after=True), buffer.number(LOW, before)
        if negation.limit is not None:
            last = later(self._search.at(rows, negation.after, TIME), negation.limit)
            end = np.minimum(end, buffer.number(TIME, last, after=True))
        found = [rows[:0, 0]]
        for which, numbers in buffer.search(begin, end, (), rows[:, 0], in_context=False):
            keep = np.flatnonzero(self._between(negation, rows[which], buffer, numbers))
            which, numbers = which[keep], numbers[keep]
            found.append(which[self._meets(negation.symbol, rows[which], buffer, numbers)])
        return np.concatenate(found)

    def _between(self, negation: _Negation, rows: Rows, buffer: Buffer, numbers: Ids) -> Mask:
        """Order between streams: at one time only events of one stream precede each other."""
        keep = np.ones(len(rows), dtype=np.bool_)
        if self._program.streams > 1:
            for unit in (negation.after, negation.before):
                other_time = self._search.at(rows, unit, TIME) != buffer.at(TIME, numbers)
                keep &= other_time | (self._search.at(rows, unit, STREAM) == buffer.at(STREAM, numbers))
        return keep

    def _meets(self, symbol: int, rows: Rows, buffer: Buffer, numbers: Ids) -> Mask:
        """Compatible with what is bound, and every condition of the negated step holds."""
        registers = rows[:, self._search.layout.registers]
        scope = self._program.symbols[symbol].scope
        keep = bindings.unify(registers, {variable: buffer.value(variable, numbers) for variable in scope})
        for number in self._plan.conditions[symbol]:
            which = np.flatnonzero(keep)
            if len(which):
                variables = self._program.conditions[number].variables()
                columns: dict[Reference, Ids] = {r: registers[which, r] for r in variables}
                keep[which] = self._search.condition_evaluator.holds(number, columns, len(which))
        return keep

    # --- which negations ----------------------------------------------------------------------------

    def _found(self) -> Iterator[_Negation]:
        unit_of = {step.edge: self._units.of_step(number) for number, step in enumerate(self._units.steps)}
        for first, second in pairwise(self._search.path.items):
            if not (isinstance(first, Step) and isinstance(second, Step)) or second.loop >= 0:
                continue
            if len(first.symbols) + len(second.symbols) > 2:
                continue
            (after,), (before,) = unit_of[first.edge], unit_of[second.edge]
            for passed in self._plan.edges[second.edge].passed:
                negation = self._plan.negations[passed.negation]
                if negation.step != NONE:
                    yield from self._negation(negation, after, before)

    def _negation(self, negation: PlannedNegation, after: int, before: int) -> Iterator[_Negation]:
        symbol = negation.step
        conditions = [self._program.conditions[number] for number in self._plan.conditions[symbol]]
        references = [reference for condition in conditions for reference in condition.references]
        if any(c.needs_event for c in conditions) or not all(isinstance(r, int) for r in references):
            return
        variables = self._program.symbols[symbol].scope.union(*(c.variables() for c in conditions))
        providers = []
        for variable in sorted(variables):
            if any(variable in self._program.symbols[unit.symbol].scope for unit in self._units.units):
                providers.append(self._units.providers(self._program, variable))
        yield _Negation(symbol, after, before, negation.limit, Needs(frozenset({after, before}), tuple(providers)))
