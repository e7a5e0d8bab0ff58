"""Dominance among runs: of those that have just taken an event, those that can lead to a match that counts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from automata.chains import columns as col
from automata.chains.table import ROOT, Layout, RunView
from automata.plan.plan import Plan
from automata.plan.pruning import Better, Pruning
from automata.slices.pairs import Pairs
from automata.slices.step_table import StepTable
from automata.values import NONE

Row = Sequence[int]
_COMMON = (col.STATE, col.FIRST, col.PARTITION, col.HIGH, col.HIGH_STREAM)


class Dominance:
    """Drops runs by the rules, and for the reasons, of `automata.plan.pruning`.

    The positions of a run are the bits of one integer, counted from its first event.
    """

    def __init__(self, plan: Plan, layout: Layout, pruning: Pruning) -> None:
        self._plan = plan
        self._layout = layout
        self._pruning = pruning
        self._columns = [self._read(position) for position in range(len(plan.positions))]
        self._positions: dict[int, int] = {ROOT: 0}

    def kept(self, row_of: Callable[[int], Row], rows: Iterable[tuple[int, Hashable]]) -> list[int]:
        """The numbers of the rows that no other one makes superfluous, ascending.

        rows    numbers, each with what else tells its future from that of others
        """
        groups: dict[Hashable, list[int]] = {}
        for number, beside in rows:
            groups.setdefault((beside, self._future(row_of, row_of(number))), []).append(number)
        return sorted(n for group in groups.values() for n in (group if len(group) == 1 else self._best(row_of, group)))

    def forget(self) -> None:
        """The rows get other numbers."""
        self._positions = {ROOT: 0}

    def _read(self, position: int) -> list[int]:
        """The columns that tell the futures of runs at a position apart, but for counts."""
        every = range(self._plan.program.variables)
        return [
            *_COMMON,
            *(self._layout.clock(clock) for clock in self._plan.positions[position].timed),
            *(col.FIXED + v for v in (every if self._pruning.values else self._plan.positions[position].live)),
        ]

    def _future(self, row_of: Callable[[int], Row], row: Row) -> Hashable:
        """All that a later step can read of a run, with counts, as far as they matter, and values on entry."""
        around = []
        for repetition in self._plan.positions[row[col.STATE]].repetitions:
            loop, count = self._plan.repetitions[repetition], row[self._layout.count(repetition)]
            entered = row_of(row[self._layout.entry(repetition)])
            fresh = self._plan.local[repetition] - self._plan.entered[repetition]
            around.append(count if loop.at_most is not None else min(count, loop.at_least))
            around += [entered[col.FIXED + variable] for variable in sorted(fresh)]
        return (*(row[column] for column in self._columns[row[col.STATE]]), *around)

    def _best(self, row_of: Callable[[int], Row], group: Sequence[int]) -> Iterable[int]:
        """Those of the rows with the same futures that are kept, each match so far once."""
        taken = {number: self._taken(row_of, number) for number in group}
        events = set(taken.values())
        match self._pruning.better:
            case Better.LARGER:
                kept = {one for one in events if not any(one != other and one & other == one for other in events)}
            case Better.LATER:
                kept = {max(events)}
            case Better.EARLIER:
                # all end with one event: none is the beginning of another
                kept = set(sorted(events, key=lambda one: bin(one)[:1:-1], reverse=True)[: self._pruning.most])
        distinct = {self._steps(row_of, number): number for number in group if taken[number] in kept}
        return distinct.values()

    def _taken(self, row_of: Callable[[int], Row], number: int) -> int:
        """The positions of a run."""
        path = []
        while number not in self._positions:
            row = row_of(number)
            path.append((number, 1 << row[col.POSITION] - row[col.FIRST]))
            number = row[col.PARENT]
        taken = self._positions[number]
        for above, position in reversed(path):
            taken |= position
            self._positions[above] = taken
        return taken

    def _steps(self, row_of: Callable[[int], Row], number: int) -> Hashable:
        """The match so far, with the values that it binds."""
        row = row_of(number)
        steps = [tuple(row[self._layout.registers])]
        while number != ROOT:
            steps.append((row[col.SYMBOL], row[col.POSITION], row[col.SOLUTION]))
            number = row[col.PARENT]
            row = row_of(number)
        return tuple(steps)


def gapless(runs: RunView, pairs: Pairs, table: StepTable) -> Pairs:
    """The pairs that leave no event out (`automata.plan.pruning.is_gapless`)."""
    next_rank = runs.column(pairs.rows, col.RANK) + 1
    return pairs.take((runs.column(pairs.rows, col.FIRST) == NONE) | (table.rank_low[pairs.steps] <= next_rank))
