"""ALL( ) over rows: opening it, and joining the matches of its members; see `automata.chains.all_join`.

Finished members wait by what they must have in common: the row that opened the ALL, partition, window, and the values
of the variables that every one of them binds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from arrays.times import ENDLESS_NS, TIME_NS_MAX
from automata.chains import columns as col
from automata.chains.store import ChainStore
from automata.runs.rows.edges import able, cross, row_opening
from automata.runs.rows.row_table import Row, RowTable
from automata.slices.step_table import SEVERAL
from automata.values import NONE, UNBOUND

_Waiting = dict[tuple[int, ...], list[int]]
_Combined = tuple[tuple[int, ...], Row]
"""Finished members, and the values that they have bound together."""


class RowAllJoin:
    """The ALLs of one program. `rows` are those of `automata.runs.rows.store`, and new ones are appended there."""

    def __init__(self, core: ChainStore, rows: RowTable) -> None:
        plan, window = core.plan, core.plan.program.window
        self._core = core
        self._rows = rows
        self._members = [core.layout.member(member) for member in range(core.layout.members)]
        self._markers = [core.layout.marker(marker) for marker in range(core.layout.markers)]
        self._openings = {
            number: row_opening(core, edge)
            for number, edge in enumerate(plan.edges)
            if plan.positions[edge.target].any_order != NONE
        }
        around = [plan.positions[unordered.position].timed for unordered in plan.unordered]
        self._timed = [[core.layout.clock(clock) for clock in clocks] for clocks in around]
        self._shared = [[col.FIXED + variable for variable in key] for key in plan.member_keys]
        self._size_ns = window.size if window.sliding and not window.in_events else ENDLESS_NS
        self._size = window.size if window.sliding and window.in_events else ENDLESS_NS
        self._finished: list[list[_Waiting]] = [[{} for _ in unordered.members] for unordered in plan.unordered]
        self._taken: dict[int, frozenset[int]] = {}

    def enter(self) -> None:
        """Take over the finished members that the columns have."""
        self._taken.clear()
        for which, all_join in enumerate(self._core.all_joins):
            for waiting, numbers in zip(self._finished[which], all_join.finished, strict=True):
                waiting.clear()
                for number in numbers.tolist():
                    waiting.setdefault(self._key(which, self._rows[number]), []).append(number)

    def leave(self) -> None:
        """Give them back."""
        for finished, all_join in zip(self._finished, self._core.all_joins, strict=True):
            numbers = [sorted(number for bucket in waiting.values() for number in bucket) for waiting in finished]
            all_join.finished = [np.array(each, dtype=np.int64) for each in numbers]

    def drop(self, over: Callable[[Row], bool], now: int) -> None:
        """Forget finished members, and those whose limits have passed before the time `now`."""
        for finished, timed in zip(self._finished, self._timed, strict=True):
            for member, waiting in enumerate(finished):
                left = {
                    key: [n for n in bucket if not over(self._rows[n]) and not _passed(self._rows[n], timed, now)]
                    for key, bucket in waiting.items()
                }
                finished[member] = {key: bucket for key, bucket in left.items() if bucket}

    def open(self, edge: int, number: int) -> list[tuple[int, int]]:
        """The runs begun by a run that reaches an ALL: the start of each member, and its row."""
        opening, rows = self._openings[edge], self._rows
        old = rows[number]
        if not able(opening, old):
            return []
        row = old.copy()
        row[col.SOURCE] = row[col.PARENT] = number
        row[col.EDGE] = edge
        for column in self._core.layout.closed:
            row[column] = 0
        row[col.STATE] = row[col.SYMBOL] = row[col.SOLUTION] = row[col.POSITION] = NONE
        for column in self._core.layout.own:
            row[column] = NONE
        for variable, entry in opening.forgets:
            row[col.FIXED + variable] = rows[old[entry]][col.FIXED + variable]
        cross(opening, row, old, number)
        for column in opening.cleared:
            row[column] = TIME_NS_MAX
        if opening.clock != NONE:
            row[opening.clock] = min(opening.last(old), TIME_NS_MAX) if opening.limited else TIME_NS_MAX
        rows.append(row)
        instance, started = len(rows) - 1, []
        for start in opening.starts:
            own = row.copy()
            own[col.PARENT] = own[col.SOURCE] = own[col.INSTANCE] = instance
            own[col.EDGE], own[col.STATE] = NONE, start
            rows.append(own)
            started.append((start, len(rows) - 1))
        return started

    # --- joining ----------------------------------------------------------------------------------

    def join(self, which: int, member: int, number: int) -> list[int]:
        """The rows of the ALL that a newly finished row of one member completes."""
        row = self._rows[number]
        key = self._key(which, row)
        combined: list[_Combined] = [((number,), row[self._core.layout.registers])]
        finished = self._finished[which]
        buckets = [self._still(waiting, key, row) for other, waiting in enumerate(finished) if other != member]
        enough = all(buckets) and len({row[col.HIGH], *(self._rows[n][col.HIGH] for b in buckets for n in b)}) > len(
            buckets
        )
        for bucket in buckets if enough else ():
            combined = self._all_with(combined, bucket)
        self._finished[which][member].setdefault(key, []).append(number)
        joined = []
        for (own, *others), registers in combined if enough else ():
            each = [*others[:member], own, *others[member:]]
            last = max([self._rows[number][col.HIGH_TIME] for number in each])
            if any(_passed(self._rows[number], self._timed[which], last) for number in each):
                continue
            self._rows.append(self._joined(which, each, registers))
            joined.append(len(self._rows) - 1)
        return joined

    def _still(self, waiting: _Waiting, key: tuple[int, ...], now: Row) -> Sequence[int]:
        """Those of one member that are in the window of a member that finishes now; no other will be in a later one."""
        bucket = waiting.get(key, ())
        rows, time, rank = self._rows, now[col.HIGH_TIME] - self._size_ns, now[col.RANK] - self._size
        still = [n for n in bucket if rows[n][col.FIRST_TIME] >= time and rows[n][col.FIRST_RANK] > rank]
        if still and len(still) < len(bucket):
            waiting[key] = still
        elif bucket and not still:
            del waiting[key]
        return still

    def _all_with(self, combined: Sequence[_Combined], bucket: Sequence[int]) -> list[_Combined]:
        """Each combination with each finished row of one more member that fits."""
        found: list[_Combined] = []
        for one in combined:
            found += [more for number in bucket if (more := self._with(*one, number))]
            self._core.plan.program.check_runs(len(self._rows) - 1 + len(found))
        return found

    def _with(self, numbers: tuple[int, ...], registers: Row, number: int) -> _Combined | None:
        """One member more, if it is compatible and took other events."""
        merged = []
        for value, other in zip(registers, self._rows[number][self._core.layout.registers], strict=True):
            if value != other and value != UNBOUND and other != UNBOUND:
                return None
            merged.append(value or other)
        mine = self._events(number)
        if all(mine.isdisjoint(self._events(each)) for each in numbers):
            return (*numbers, number), merged
        return None

    def _key(self, which: int, row: Row) -> tuple[int, ...]:
        return row[col.INSTANCE], row[col.PARTITION], row[col.WINDOW], *[row[column] for column in self._shared[which]]

    def _joined(self, which: int, numbers: Sequence[int], registers: Row) -> Row:
        """The row: the context is that of the row that opened the ALL, the events are those of all members."""
        rows, members = self._rows, [self._rows[number] for number in numbers]
        opened = members[0][col.INSTANCE]
        row = rows[opened].copy()
        if row[col.FIRST] == NONE:
            for column in (col.FIRST_TIME, col.FIRST, col.FIRST_RANK):
                row[column] = min([member[column] for member in members])
            row[col.WINDOW], row[col.PARTITION] = members[0][col.WINDOW], members[0][col.PARTITION]
        row[col.PARENT], row[col.STATE] = opened, self._core.plan.unordered[which].position
        row[col.EDGE] = row[col.SYMBOL] = row[col.SOLUTION] = row[col.POSITION] = row[col.SLOT] = NONE
        for column in self._core.layout.closed:
            row[column] = 0
        row[self._core.layout.registers] = registers
        self._stamp(row, members, [rows[self._first_step(number)] for number in numbers])
        for column in self._markers:
            row[column] = max([member[column] for member in members])
        for column in self._timed[which]:
            row[column] = min([member[column] for member in members])
        for column, number in zip(self._members, numbers, strict=False):
            row[column] = number
        self._track(which, row, members)
        return row

    @staticmethod
    def _stamp(row: Row, members: Sequence[Row], firsts: Sequence[Row]) -> None:
        """First and last of the set of all members' events."""
        row[col.LOW_TIME], row[col.HIGH_TIME] = (
            min([f[col.LOW_TIME] for f in firsts]),
            max([m[col.HIGH_TIME] for m in members]),
        )
        row[col.LOW], row[col.HIGH] = min([f[col.LOW] for f in firsts]), max([m[col.HIGH] for m in members])
        row[col.RANK] = max([m[col.RANK] for m in members])
        row[col.LOW_STREAM] = _common({f[col.LOW_STREAM] for f in firsts if f[col.LOW_TIME] == row[col.LOW_TIME]})
        row[col.HIGH_STREAM] = _common({m[col.HIGH_STREAM] for m in members if m[col.HIGH_TIME] == row[col.HIGH_TIME]})

    def _first_step(self, number: int) -> int:
        """The row of the first step of a member, whose source is the member's start."""
        rows = self._rows
        opened = rows[number][col.INSTANCE]
        while True:
            before = rows[number][col.SOURCE]
            if rows[before][col.SOURCE] == opened and rows[before][col.SYMBOL] == NONE:
                return number
            number = before

    def _track(self, which: int, row: Row, members: Sequence[Row]) -> None:
        layout, plan = self._core.layout, self._core.plan
        for domain in range(layout.domains):
            inside, previous = layout.inside(domain), layout.previous(domain)
            if domain in plan.positions[plan.unordered[which].position].inside:
                row[inside] = len(self._rows)
            else:
                latest = max(members, key=lambda member: member[inside])
                row[inside], row[previous] = latest[inside], latest[previous]

    def _events(self, number: int) -> frozenset[int]:
        """The positions of the events of a finished member."""
        if number not in self._taken:
            positions = {position for _, position, _ in steps_of_run(self._rows, self._members, number)}
            self._taken[number] = frozenset(positions)
        return self._taken[number]


def steps_of_run(rows: RowTable, members: Sequence[int], number: int) -> list[tuple[int, int, int]]:
    """Symbol, position and solution of every step of a run, those in an ALL included; of a finished member its own.

    members     the columns of the members of an ALL
    """
    stop = rows[number][col.INSTANCE]
    found, pending = [], [(number, stop)]
    while pending:
        number, stop = pending.pop()
        while number != NONE and number != stop:
            row = rows[number]
            if row[col.SYMBOL] != NONE:
                found.append((row[col.SYMBOL], row[col.POSITION], row[col.SOLUTION]))
            else:
                pending += [(row[column], row[col.PARENT]) for column in members if row[column] != NONE]
            number = row[col.PARENT]
    return found


def _passed(row: Row, clocks: Sequence[int], time: int) -> bool:
    """True if one of the clocks of a run has run out before a time."""
    return any(row[column] < time for column in clocks)


def _common(streams: set[int]) -> int:
    """The one stream, or SEVERAL."""
    return streams.pop() if len(streams) == 1 else SEVERAL
