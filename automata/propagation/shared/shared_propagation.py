"""Aggregates over all matches of several queries over the same events, propagated together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from automata.propagation.cells import Cell
from automata.propagation.columns import Unsuited
from automata.propagation.found_columns import Block, FoundColumns
from automata.propagation.measures import Values
from automata.propagation.shared.group_cells import Crowded, GroupCells
from automata.propagation.shared.members import Member
from automata.propagation.shared.program import program_of
from automata.propagation.windows import Found, Key
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids


class Left(NamedTuple):
    """The state of a query that goes on alone: window, key and cell of all that is open, and the next position."""

    cells: Sequence[tuple[int, Key, Cell]]
    position: int

    def cells_from(self, position: int) -> Iterator[tuple[int, Key, Cell]]:
        """The cells for an evaluator in which the next event has another position."""
        for window, key, cell in self.cells:
            cell.position += position - self.position
            yield window, key, cell


class SharedPropagation:
    """The queries of a group; each of them is asked for what has been found since it was asked last.

    symbols     of the group; the variables 0 to `key` - 1 of its solutions are the key
    """

    def __init__(self, members: Sequence[Member], symbols: int, key: int, values: Values) -> None:
        self._symbols = symbols
        self._cells: GroupCells | None = GroupCells(program_of(dict(enumerate(members)), symbols), key, values)
        self._found: dict[int, list[Block]] = {number: [] for number in range(len(members))}
        self.position = 0

    @property
    def members(self) -> frozenset[int]:
        """The numbers of the queries that have not left."""
        return frozenset() if self._cells is None else frozenset(self._cells.program.members)

    @property
    def idle(self) -> bool:
        """No cell is open."""
        return self._cells is None or self._cells.idle

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> dict[int, Left]:
        """Takes the next slice; returns the members that left before it, with values that the kernel cannot take."""
        left: dict[int, Left] = {}
        while self._cells is not None:
            try:
                self._add(self._cells.on_batch(events, solutions, self.position))
            except Unsuited as reason:
                left |= self._leave(self._cells.measuring(reason.variable))
            except Crowded as reason:
                left |= self._leave(reason.members)
            else:
                break
        self.position += len(events)
        return left

    def on_watermark(self, time: int) -> None:
        """No later event has a time up to `time`."""
        if self._cells is not None:
            self._add(self._cells.passed(time))

    def finish(self) -> None:
        """The input has ended."""
        if self._cells is not None:
            self._add(self._cells.finish())

    def take(self, number: int) -> Sequence[Found]:
        """Return and forget the groups of a member found so far."""
        found, self._found[number] = self._found[number], []
        return FoundColumns(found)

    def state_of(self, number: int) -> Left:
        """The state of a member, which stays."""
        assert self._cells is not None
        return Left(self._cells.cells_of(number), self.position)

    def leave(self, number: int) -> Left:
        """Lets a member go."""
        return self._leave([number])[number]

    def live_ids(self) -> list[Ids]:
        """Columns of every id that is still needed."""
        return [] if self._cells is None else self._cells.live_ids()

    def _leave(self, numbers: Collection[int]) -> dict[int, Left]:
        """Takes members out, with their state; what the others have in common stays as it is."""
        assert self._cells is not None
        left = {number: self.state_of(number) for number in numbers}
        stay = {number: each for number, each in self._cells.program.members.items() if number not in left}
        self._cells = self._cells.restricted(program_of(stay, self._symbols)) if stay else None
        return left

    def _add(self, found: Mapping[int, list[Block]]) -> None:
        for number, blocks in found.items():
            self._found[number] += blocks
