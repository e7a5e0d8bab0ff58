"""The slow way to a variable: from one step of a match, through the chain of its run (specification 3.2).

Needed where a condition or a negation stands inside a repetition that has moved on: what it sees is
the value in *its own* iteration, or one bound outside the repetition, never one of another iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from automata.chains import columns as col
from automata.chains.table import Runs
from automata.plan.automaton import Unordered
from automata.plan.plan import Plan
from automata.plan.variables import Variables
from automata.values import NONE, UNBOUND, Mask

Registers = NDArray[np.int64]
"""int64[variables]: those of one run."""


class Lookback:
    """Reads the chains of the runs of one plan."""

    def __init__(self, plan: Plan, runs: Runs) -> None:
        self._plan = plan
        self._runs = runs
        self._inside = {unordered.position: _repetitions_inside(plan, unordered) for unordered in plan.unordered}

    def chain(self, row: int) -> list[int]:
        """The rows of a run, oldest first; the members of an ALL stand one after the other before its own row."""
        return self._newest_first(row, NONE)[::-1]

    def members(self, row: int) -> list[int]:
        """The last rows of the members, if this is the row of an ALL."""
        state = int(self._runs.table[row, col.STATE])
        if state == NONE or self._plan.positions[state].any_order == NONE:
            return []
        columns = [self._runs.layout.member(member) for member in range(self._runs.layout.members)]
        return [int(member) for member in self._runs.table[row, columns] if member != NONE]

    def own(self, chain: Sequence[int], at: int) -> tuple[Sequence[int], int]:
        """The chain without the other members of each ALL that step number `at` stands in, and the step's number there.

        What they bind is bound by the row of the ALL. The inner rows of conjunctions are left out, too: they stand
        before the row that has the edge, and already have what the whole step binds.
        """
        rows = self._runs.table[list(chain)]
        inner = (rows[:, col.STATE] == NONE) & (rows[:, col.SYMBOL] != NONE)
        others = {row for row, left_out in zip(chain, inner.tolist(), strict=True) if left_out}
        for row in chain[at + 1 :]:
            parent = int(self._runs.table[row, col.PARENT])
            members = [self._newest_first(member, parent) for member in self.members(row)]
            if any(chain[at] in rows for rows in members):
                others.update(*(rows for rows in members if chain[at] not in rows))
        own = [row for row in chain if row not in others]
        return own, own.index(chain[at])

    def bound_by(self, row: int) -> frozenset[int]:
        """The variables that a row's own step binds; none on a row that took no event."""
        state, symbol = self._runs.table[row, [col.STATE, col.SYMBOL]].tolist()
        if state == NONE or symbol == NONE:
            return frozenset()
        layout, values = self._runs.layout, self._runs.table[row]
        scope = [v for v in self._plan.positions[state].scope if values[col.FIXED + v] != UNBOUND]
        return frozenset(v for v in scope if v not in layout.told or values[layout.told[v]] == 1)

    def seen(
        self,
        chain: Sequence[int],
        at: int,
        repetitions: tuple[int, ...],
        last: Registers,
        edge: int,
        told: Variables = frozenset(),
    ) -> tuple[Registers, dict[int, int]]:
        """The bindings visible from step number `at` of the chain, and the last row of each iteration around it.

        That row is NONE when the iteration goes on to the end.

        repetitions     those around what looks, outermost first
        last            the registers at the end of the match so far
        edge            the edge by which a step is being taken that has no row yet; NONE if there is none
        told            those of `Plan.told` that this step binds
        """
        if not repetitions:
            return last, {}
        around = repetitions[::-1]
        chain, at = self.own(chain, at)
        crossed = [*map(self._ended, chain[at + 1 :]), self._crossed(edge)]
        ends = [self._end(crossed, repetition) for repetition in around]
        values = self._registers(chain, at + ends[0], last)
        rows = {r: chain[at + end] if at + end < len(chain) else NONE for r, end in zip(around, ends, strict=True)}
        for repetition, begin, end in zip(around, ends, [*ends[1:], len(crossed)], strict=True):
            outer = self._registers(chain, at + end, last)
            bound = self._bound_between(chain, at + begin, at + end, edge, told, repetition)
            values = np.where((values == UNBOUND) & bound, outer, values)
        return values, rows

    def _newest_first(self, row: int, stop: int) -> list[int]:
        rows: list[int] = []
        while row not in (NONE, stop):
            rows.append(row)
            parent = int(self._runs.table[row, col.PARENT])
            for member in reversed(self.members(row)):
                rows += self._newest_first(member, parent)
            row = parent
        return rows

    def _ended(self, row: int) -> frozenset[int]:
        """The repetitions of which an iteration ends where the row comes: at an ALL those inside its members."""
        state, edge = self._runs.table[row, [col.STATE, col.EDGE]].tolist()
        return self._inside[state] if state in self._inside else self._crossed(edge)

    def _crossed(self, edge: int) -> frozenset[int]:
        """The repetitions of which an iteration ends where the edge is taken."""
        return frozenset() if edge == NONE else frozenset((*self._plan.edges[edge].leaves, self._plan.edges[edge].loop))

    @staticmethod
    def _end(crossed: list[frozenset[int]], repetition: int) -> int:
        """The number of steps after the first that its iteration of the repetition lasts."""
        return next((number for number, ended in enumerate(crossed) if repetition in ended), len(crossed))

    def _registers(self, chain: Sequence[int], at: int, last: Registers) -> Registers:
        return self._runs.table[chain[at], self._runs.layout.registers] if at < len(chain) else last

    def _bound_between(
        self, chain: Sequence[int], begin: int, end: int, edge: int, told: Variables, repetition: int
    ) -> Mask:
        """The variables that a step outside the repetition binds between the ends, or another member has bound."""
        bound = np.zeros(self._runs.layout.variables, dtype=np.bool_)
        for member in (member for row in chain[begin + 1 : end + 1] for member in self.members(row)):
            if member not in chain:
                bound |= self._runs.table[member, self._runs.layout.registers] != UNBOUND
        rows = self._runs.table[list(chain[begin + 1 : end + 1])]
        rows = rows[(rows[:, col.STATE] != NONE) & (rows[:, col.SYMBOL] != NONE)]
        columns = self._runs.layout.told.items()
        steps = [
            (int(row[col.STATE]), frozenset(variable for variable, column in columns if row[column])) for row in rows
        ]
        if edge != NONE and end >= len(chain):
            steps.append((self._plan.edges[edge].target, told))
        for state, binds in steps:
            if state not in self._plan.repetitions[repetition].positions:
                bound[[v for v in self._plan.positions[state].scope if v in binds or v not in self._plan.told]] = True
        return bound


def _repetitions_inside(plan: Plan, unordered: Unordered) -> frozenset[int]:
    """The repetitions inside the members of an ALL."""
    return frozenset(
        number
        for number, repetition in enumerate(plan.repetitions)
        if any(repetition.positions <= member.positions for member in unordered.members)
    )
