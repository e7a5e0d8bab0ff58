"""Runs as columns: one row per partial match, in one int64 matrix that grows and is compacted.

A row is written once, when its step is taken, and stays for as long as a run that came from it is
alive: the chain of `PARENT`s is the match so far. Only `Layout.changing` changes later. Pointers (PARENT,
SOURCE, INSTANCE, ENTRY, …) are row numbers; NONE where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from arrays.times import BEFORE_ALL, TIME_NS_MAX
from automata.chains import columns as col
from automata.plan.plan import Plan
from automata.plan.program import Program
from automata.slices.step_table import StepTable
from automata.values import NONE, Ids, Mask

ROOT = 0
"""The row of the run that has taken nothing."""
CLOSED_BITS = 63
"""Edges that one column tells to be closed: the bits of an int64 but its sign."""
_ROWS_INITIAL = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns after the fixed ones.

    members     the most that an ALL has
    clocks      how many clocks of limits there are
    possessive  the possessive repetitions
    told        variable → the column that is 1 where the row's own step binds it
    closed      the columns of closed edges: of the first CLOSED_BITS edges of a position, of the next ones, …
    """

    variables: int
    repetitions: int
    domains: int
    markers: int
    clocks: int
    members: int
    possessive: tuple[int, ...]
    told: Mapping[int, int]
    closed: tuple[int, ...]

    @staticmethod
    def of(plan: Plan) -> Layout:
        """That of a plan's runs."""
        members = max((len(unordered.members) for unordered in plan.unordered), default=0)
        counted = len(plan.repetitions), len(plan.domains), len(plan.markers), len(plan.clocks)
        closable = max([len(position.outgoing) for position in plan.positions], default=0)
        one = Layout(plan.program.variables, *counted, members, plan.possessive, {}, (col.CLOSED,))
        one = replace(one, told={variable: one.width + place for place, variable in enumerate(plan.told)})
        return replace(one, closed=(col.CLOSED, *range(one.width, one.width + (closable - 1) // CLOSED_BITS)))

    @property
    def registers(self) -> slice:
        """The values of the variables, as seen from the run's place."""
        return slice(col.FIXED, col.FIXED + self.variables)

    def count(self, repetition: int) -> int:
        """Iterations begun."""
        return col.FIXED + self.variables + 2 * repetition

    def entry(self, repetition: int) -> int:
        """The row from which the repetition was entered."""
        return self.count(repetition) + 1

    def inside(self, domain: int) -> int:
        """The last row inside an iteration domain."""
        return col.FIXED + self.variables + 2 * self.repetitions + 2 * domain

    def previous(self, domain: int) -> int:
        """The last row of the iteration before."""
        return self.inside(domain) + 1

    def marker(self, marker: int) -> int:
        """1 where the marker's position was taken."""
        return col.FIXED + self.variables + 2 * (self.repetitions + self.domains) + marker

    def clock(self, clock: int) -> int:
        """The last time at which a run may take an event that the clock limits; TIME_NS_MAX where it does not run."""
        return self.marker(self.markers) + clock

    def member(self, member: int) -> int:
        """On the row of an ALL: the last row of that member."""
        return self.clock(self.clocks) + member

    def begun(self, repetition: int) -> int:
        """The row from which a further iteration of a possessive repetition was begun; NONE in its first one."""
        return self.member(self.members) + 4 * self.possessive.index(repetition)

    def left(self, repetition: int) -> int:
        """The row that took the last step out of it; NONE where that was an ALL."""
        return self.begun(repetition) + 1

    def extension(self, repetition: int) -> int:
        """The last row of the newest iteration that was begun from this row and is complete."""
        return self.begun(repetition) + 2

    def sibling(self, repetition: int) -> int:
        """On such a last row: that of the one before it."""
        return self.begun(repetition) + 3

    @property
    def own(self) -> list[int]:
        """The columns that are NONE in a new row: no run hands them on."""
        extended = (column for r in self.possessive for column in (self.extension(r), self.sibling(r)))
        return [*(self.member(member) for member in range(self.members)), *extended]

    @property
    def changing(self) -> list[int]:
        """The columns that change once a row is written."""
        extended = (column for r in self.possessive for column in (self.extension(r), self.sibling(r)))
        return [*self.closed, *extended]

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.member(self.members) + 4 * len(self.possessive) + len(self.told) + len(self.closed) - 1

    def closed_at(self, place: int) -> tuple[int, int]:
        """Column and bit of the edge at this place among those of its source."""
        return self.closed[place // CLOSED_BITS], 1 << place % CLOSED_BITS

    def closed_masks(self, places: Iterable[int]) -> dict[int, int]:
        """Column → the bits in it of the edges at these places."""
        masks: dict[int, int] = {}
        for column, bit in map(self.closed_at, places):
            masks[column] = masks.get(column, 0) | bit
        return masks

    def pointers(self) -> list[int]:
        """The columns that hold row numbers."""
        return [
            col.PARENT, col.SOURCE, col.INSTANCE,
            *(self.entry(r) for r in range(self.repetitions)),
            *(column for d in range(self.domains) for column in (self.inside(d), self.previous(d))),
            *(self.member(m) for m in range(self.members)),
            *range(self.member(self.members), self.member(self.members) + 4 * len(self.possessive)),
        ]  # fmt: skip


class RunView(Protocol):
    """Runs that an event may extend, by number."""

    @property
    def written(self) -> Runs:
        """The rows that theirs point at."""

    @property
    def begun(self) -> StepTable | None:
        """The table whose rows have begun one of them each, in this order; None: that is not so."""

    def column(self, rows: Ids, column: int) -> Ids:
        """One column of these."""

    def registers(self, rows: Ids) -> NDArray[np.int64]:
        """int64[rows, variables]."""

    def register(self, rows: Ids, variable: int) -> Ids:
        """One column of `registers`."""

    def close(self, rows: Ids, place: int) -> None:
        """The edge at a place among those of its source has been taken under skip-till-next."""


class Runs(RunView):
    """The rows. `table` has spare capacity: only table[:size] is meant; `made` counts every row ever written.

    standing    mask of the rows of active runs, by number, with the same spare capacity
    """

    def __init__(self, layout: Layout, registers: Ids, program: Program) -> None:
        self.layout = layout
        self._program = program
        self.table: NDArray[np.int64] = np.empty((_ROWS_INITIAL, layout.width), dtype=np.int64)
        self.standing: Mask = np.zeros(_ROWS_INITIAL, dtype=np.bool_)
        self.size = self.made = 0
        root = np.full((1, layout.width), NONE, dtype=np.int64)
        root[:, [col.STATE, *layout.closed]] = 0
        root[:, col.HIGH_TIME] = root[:, col.LOW_TIME] = BEFORE_ALL
        root[:, layout.registers] = registers
        root[:, [layout.count(r) for r in range(layout.repetitions)]] = 0
        root[:, [layout.marker(m) for m in range(layout.markers)]] = 0
        root[:, [layout.clock(c) for c in range(layout.clocks)]] = TIME_NS_MAX
        self.append(root)

    def check(self, rows: int) -> None:
        """Raises TooManyRuns if so many rows more are too many; to be called before they are made."""
        self._program.check_runs(self.size - 1 + rows)

    def append(self, rows: NDArray[np.int64]) -> Ids:
        """Adds rows; returns their numbers."""
        self.check(len(rows))
        needed = self.size + len(rows)
        if needed > len(self.table):
            grown = np.empty((max(needed, 2 * len(self.table)), self.layout.width), dtype=np.int64)
            grown[: self.size] = self.table[: self.size]
            self.table = grown
            self.standing = np.concatenate((self.standing, np.zeros(len(grown) - len(self.standing), dtype=np.bool_)))
        self.table[self.size : needed] = rows
        self.made += len(rows)
        numbers = np.arange(self.size, needed, dtype=np.int64)
        self.size = needed
        return numbers

    def column(self, rows: Ids, column: int) -> Ids:
        result: Ids = self.table[rows, column]
        return result

    def registers(self, rows: Ids) -> NDArray[np.int64]:
        result: NDArray[np.int64] = self.table[rows, self.layout.registers]
        return result

    def register(self, rows: Ids, variable: int) -> Ids:
        return self.column(rows, col.FIXED + variable)

    begun = None

    @property
    def written(self) -> Runs:
        return self

    def close(self, rows: Ids, place: int) -> None:
        column, bit = self.layout.closed_at(place)
        self.table[rows, column] |= bit

    def compact(self, alive: Iterable[Ids]) -> Ids:
        """Keeps the rows named and all that they point at; returns old number → new (NONE if gone)."""
        reached = self._reached(alive)
        kept = np.flatnonzero(reached)
        renumbered = np.full(self.size + 1, NONE, dtype=np.int64)
        renumbered[kept] = np.arange(len(kept), dtype=np.int64)
        table = np.empty((max(_ROWS_INITIAL, 2 * len(kept)), self.layout.width), dtype=np.int64)
        table[: len(kept)] = self.table[kept]
        for column in self.layout.pointers():
            table[: len(kept), column] = renumbered[table[: len(kept), column]]
        standing = np.zeros(len(table), dtype=np.bool_)
        standing[: len(kept)] = self.standing[kept]
        self.table, self.standing, self.size = table, standing, len(kept)
        return renumbered

    def restore(self, table: NDArray[np.int64], made: int) -> None:
        """These rows and no others, none of them of an active run."""
        self.table, self.size, self.made = table, len(table), made
        self.standing = np.zeros(len(table), dtype=np.bool_)

    def _reached(self, alive: Iterable[Ids]) -> Mask:
        reached = np.zeros(self.size + 1, dtype=np.bool_)
        reached[ROOT] = True
        pointers = self.layout.pointers()
        front = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *alive]))
        while len(front):
            reached[front] = True
            targets = np.unique(self.table[front][:, pointers])
            front = targets[(targets >= 0) & ~reached[targets]]
        return reached[:-1]
