"""Runs that meet one event at a time, as lists of Python's integers.

Columnar work has a price that does not depend on how many events there are, and a stretch of one event pays it for
nothing. Here the rows of `automata.runs.table` are lists, with the same columns and numbers, and dictionaries find runs
by their join keys. `enter` and `leave` go from one form to the other, so that whatever else is to be done (compaction,
snapshots, long stretches) is done in columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter

import numpy as np

from automata.program import Match, Program
from automata.runs.core import Core
from automata.runs.single_steps import Step, TestHost, places_of, register_columns, steps_of
from automata.runs.table import (
    CLOSED,
    FIRST,
    FIRST_TIME,
    FIXED,
    HIGH,
    HIGH_STREAM,
    HIGH_TIME,
    NONE,
    PARENT,
    PARTITION,
    POSITION,
    SLOT,
    SOLUTION,
    SYMBOL,
    TAIL,
    WINDOW,
)
from automata.selection import Candidate, report_order
from automata.timeline import Carry, Timeline, window_numbers

Solution = tuple[int, ...]
"""The values of a symbol's variables, in ascending order of the variables."""
Key = int | tuple[int, ...]
_Row = list[int]
_Index = dict[Key, list[int]]
_Taken = tuple[Step, int, _Row, int]
"""An edge, the run that takes it, the registers afterwards, the serial number of the solution."""


class SingleRuns:
    """The runs of a program for which `runs_singly`, while they are held as lists; see `enter`."""

    def __init__(self, program: Program, core: Core, timeline: Timeline, host: TestHost) -> None:
        self._core = core
        self._timeline = timeline
        self._window = program.window
        self._registers = register_columns(core)
        self._places = places_of(core)
        self._steps = steps_of(program, core, self._places, host)
        self._keys = [[_key_of(index, FIXED) for index in place.indexes] for place in self._places]
        self._found = [_key_of(step.key, 0) for step in self._steps]
        self._rows: list[_Row] = []
        self._active: list[list[_Index]] = []
        self._adjacent = [position for position, place in enumerate(self._places) if place.adjacent]
        self._number = (0, 0, 0)
        self.made = 0

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._rows)

    def enter(self) -> None:
        """Take the runs over from their columns."""
        runs = self._core.runs
        self._rows = runs.table[: runs.size].tolist()
        self._active = [[{} for _ in place.indexes] for place in self._places]
        for position, active in enumerate(self._core.active):
            for row in active.rows.tolist():
                self._add(position, row)
        self.made = 0

    def leave(self) -> None:
        """Give the runs back as columns."""
        runs = self._core.runs
        kept = np.array(self._rows, dtype=np.int64)
        runs.table = np.empty((max(len(runs.table), 2 * len(kept)), kept.shape[1]), dtype=np.int64)
        runs.table[: len(kept)] = kept
        runs.size = len(kept)
        runs.made += self.made
        for position, active in enumerate(self._core.active):
            active.replace(np.array(sorted(self._standing(position)), dtype=np.int64))

    def take(
        self, time: int, stream: int, solutions: Mapping[int, Sequence[Solution]], serials: Mapping[int, int]
    ) -> list[Match]:
        """The next event, alone in its time slot: the matches that end with it, in report order.

        solutions   symbol → the event's solutions, of the symbols that have any
        serials     the serial number of each symbol's first
        """
        position, slot, rank = self._advance()
        window = self._window_number(time)
        taken: list[_Taken] = []
        if window != NONE:
            for step, find in zip(self._steps, self._found, strict=True):
                for offset, solution in enumerate(solutions.get(step.symbol, ())):
                    bucket = self._active[step.source][step.index].get(find(solution))
                    if bucket:
                        serial = serials[step.symbol] + offset
                        self._meet(step, bucket, solution, serial, (time, stream, slot, window), taken)
        self._close(taken)
        for place in self._adjacent:
            for index in self._active[place]:
                index.clear()
        stamp = (time, stream, position, time, stream, position, slot, 0, 1, rank)
        matches = [match for each in taken for match in self._grow(each, stamp, window)]
        return _in_order(matches) if len(matches) > 1 else matches

    def expire(self, oldest_time: int, window: int) -> None:
        """Drop runs that began before `oldest_time` or in an earlier tumbling window."""
        for position in range(len(self._places)):
            old = [
                number
                for number in self._standing(position)
                if (row := self._rows[number])[FIRST] != NONE
                and (row[FIRST_TIME] < oldest_time or row[WINDOW] < window)
            ]
            for number in old:
                self._remove(position, number)

    def oldest_position(self) -> int:
        """The first position of the runs that are alive."""
        firsts = (self._rows[n][FIRST] for p in range(len(self._places)) for n in self._standing(p))
        return min((first for first in firsts if first != NONE), default=self._timeline.position)

    # --- one event --------------------------------------------------------------------------------

    def _advance(self) -> tuple[int, int, int]:
        """Position, slot and rank of the next event, which is the only one of its slot."""
        timeline = self._timeline
        position = timeline.position
        timeline.position += 1
        carry = timeline.carries.setdefault(0, Carry())
        rank = carry.rank
        carry.rank += 1
        carry.slot = rank if timeline.total else carry.slot + 1
        return position, carry.slot, rank

    def _window_number(self, time: int) -> int:
        """As `window_numbers` gives it; looked up once for each window."""
        if self._window.sliding:
            return 0
        begin, end, number = self._number
        if not begin <= time < end:
            number = int(window_numbers(self._window, np.array([time]), np.array([0]))[0])
            begin = time - (time - self._window.start) % self._window.size
            self._number = (begin, begin + self._window.size, number)
        return number

    def _meet(
        self,
        step: Step,
        bucket: Sequence[int],
        solution: Solution,
        serial: int,
        event: tuple[int, int, int, int],
        taken: list[_Taken],
    ) -> None:
        """Add the runs of a bucket that take the edge with this solution (LANGUAGE 3.2, "extends")."""
        time, stream, slot, window = event
        for number in bucket:
            row = self._rows[number]
            if row[FIRST] != NONE:
                high = row[HIGH_TIME]
                if time <= high and (time < high or row[HIGH_STREAM] != stream):
                    continue
                if row[WINDOW] != window or (self._window.sliding and time - row[FIRST_TIME] > self._window.size):
                    continue
                if step.strict and not (slot == row[SLOT] + 1 and row[TAIL]):
                    continue
            if (step.closes and row[CLOSED] & step.blockers) or (step.bounded and not _able(step, row)):
                continue
            registers = self._merged(step, row, solution)
            if registers is not None and (not step.tests or all(test(registers) for test in step.tests)):
                taken.append((step, number, registers, serial))

    def _merged(self, step: Step, row: _Row, solution: Solution) -> _Row | None:
        """The registers with the solution's values in; None if they are not compatible."""
        registers = row[self._registers]
        for variable, entry in step.forgets:
            registers[variable] = self._rows[row[entry]][FIXED + variable]
        for place, variable in step.scope:
            value = solution[place]
            if value:
                if registers[variable] not in (0, value):
                    return None
                registers[variable] = value
        return registers

    def _close(self, taken: Sequence[_Taken]) -> None:
        """Mark what skip-till-next has taken; runs that can take nothing any more go."""
        for step, number, _, _ in taken:
            if step.closes:
                row = self._rows[number]
                row[CLOSED] |= step.bit
                if row[CLOSED] == self._places[step.source].all_closed:
                    self._remove(step.source, number)

    def _grow(self, taken: _Taken, stamp: tuple[int, ...], window: int) -> Iterator[Match]:
        """Write the row of a run that has taken an edge, and read off the matches that end there."""
        step, number, registers, serial = taken
        old = self._rows[number]
        position = stamp[2]
        begun = old[FIRST_TIME:CLOSED] if old[FIRST] != NONE else [stamp[0], position, stamp[-1], window, 0]
        head = (number, number, NONE, step.number, step.target, step.symbol, serial, position)
        row = [*head, *stamp, *begun, 0, *registers, *old[self._registers.stop :]]
        for count, entry, before in step.enters:
            row[count], row[entry] = 1, number if before == NONE else old[before]
        for count in step.loops:
            row[count] += 1
        self.made += 1
        place = self._places[step.target]
        if place.goes_on:
            self._rows.append(row)
            self._add(step.target, len(self._rows) - 1)
        for reached in place.ends:
            if all(row[column] >= bound for column, bound in reached):
                yield self._match(row)

    def _match(self, row: _Row) -> Match:
        entries = [(row[SYMBOL], row[POSITION], row[SOLUTION])]
        parent = row[PARENT]
        while parent != NONE:
            step = self._rows[parent]
            if step[SYMBOL] != NONE:
                entries.append((step[SYMBOL], step[POSITION], step[SOLUTION]))
            parent = step[PARENT]
        entries.reverse()
        facts = row[FIRST], row[HIGH], row[FIRST_TIME], row[HIGH_TIME], row[PARTITION]
        return Match(tuple(entries), tuple(row[self._registers]), (), *facts)

    # --- runs by join key -------------------------------------------------------------------------

    def _standing(self, position: int) -> Iterator[int]:
        """The runs at a position that an event may still extend."""
        if self._active[position]:
            for bucket in self._active[position][0].values():
                yield from bucket

    def _add(self, position: int, number: int) -> None:
        row = self._rows[number]
        for key_of, index in zip(self._keys[position], self._active[position], strict=True):
            index.setdefault(key_of(row), []).append(number)

    def _remove(self, position: int, number: int) -> None:
        row = self._rows[number]
        for key_of, index in zip(self._keys[position], self._active[position], strict=True):
            key = key_of(row)
            bucket = index.get(key, [])
            if number in bucket:
                bucket.remove(number)
                if not bucket:
                    del index[key]


def _able(step: Step, row: _Row) -> bool:
    """Whether the run's repetitions allow the edge."""
    for column, bound in step.at_least:
        if row[column] < bound:
            return False
    return all(row[column] < bound for column, bound in step.below)


def _key_of(places: tuple[int, ...], first: int) -> Callable[[Sequence[int]], Key]:
    """Reads the values at these places off a row or a solution."""
    if not places:
        return lambda _: ()
    getter: Callable[[Sequence[int]], Key] = itemgetter(*(first + place for place in places))
    return getter


def _in_order(matches: Sequence[Match]) -> list[Match]:
    """Each match once, in report order; all of them end with the same event."""
    distinct = {match.entries: match for match in matches}
    candidates = [
        Candidate(match, frozenset(position for _, position, _ in match.entries), False, (0,))
        for match in distinct.values()
    ]
    return [candidate.match for candidate in sorted(candidates, key=report_order)]
