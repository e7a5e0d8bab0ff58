"""Negations of one step each, evaluated event by event; see `automata.matches.negation`.

The solutions of each negated step are kept by join key.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from automata.chains import columns as col
from automata.chains.store import ChainStore
from automata.matches.negation import NegationIndex
from automata.plan.automaton import Passed
from automata.plan.plan import Plan, walks
from automata.runs.rows.candidates import Moment, Solution, StepCandidate
from automata.runs.rows.conditions import Conditions
from automata.runs.rows.row_table import Row, RowTable
from automata.runs.rows.store import key_of
from automata.slices.step_table import Part, StepTable
from automata.slices.timeline import in_window
from automata.values import NONE, UNBOUND

_Negated = tuple[int, int | None]
"""A negated step, and its limit."""


class _Kept(NamedTuple):
    """A solution of a negated step."""

    position: int
    time: int
    stream: int
    moment: Moment
    number: int
    values: Solution


class _Symbol:
    """The solutions of one negated step.

    scope       the variables of its solutions, ascending
    kept, positions     by join key
    new         those that the columns do not have yet
    """

    def __init__(self, scope: Sequence[int], key: Sequence[int]) -> None:
        self.scope = tuple(scope)
        self.found = key_of(tuple(self.scope.index(variable) for variable in key), 0)
        self.wanted = key_of(tuple(key), col.FIXED)
        self.kept: dict[object, list[_Kept]] = {}
        self.positions: dict[object, list[int]] = {}
        self.new: list[_Kept] = []
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def add(self, kept: _Kept) -> None:
        self.count += 1
        key = self.found(kept.values)
        self.kept.setdefault(key, []).append(kept)
        self.positions.setdefault(key, []).append(kept.position)

    def clear(self) -> None:
        self.count = 0
        self.kept.clear()
        self.positions.clear()


class RowNegationIndex:
    """The negations of one program, while its runs are lists.

    added       the number of solutions so far
    simple      all of them are one step outside of repetitions, that looks neither at its event nor along chains
    """

    def __init__(self, core: ChainStore, negations: NegationIndex, conditions: Conditions, rows: RowTable) -> None:
        plan = core.plan
        program = self._program = plan.program
        self._negations = negations
        self.added = 0
        self._rows = rows
        bound = frozenset.intersection(*(plan.positions[accept.position].certain for accept in plan.accepts))
        self._symbols = {
            number: _Symbol(sorted(symbol.scope), sorted(symbol.certain & bound))
            for number, symbol in enumerate(program.symbols)
            if number in negations.symbols
        }
        own = [condition for condition in program.conditions if condition.symbol in negations.symbols]
        looking = any(condition.needs_event or walks(plan, condition.references) for condition in own)
        grouped = any(part.step == NONE for part in plan.negations)
        self.simple = not looking and not grouped
        self._conditions = {number: conditions.negated(number) for number in self._symbols} if self.simple else {}
        self._passed = [_steps(plan, edge.passed) for edge in plan.edges]
        self._trailing = [_steps(plan, accept.passed) for accept in plan.accepts]

    def __len__(self) -> int:
        return sum(map(len, self._symbols.values()))

    def enter(self) -> None:
        """Take over what the columns remember."""
        for symbol in self._symbols.values():
            symbol.clear()
        self.shrink()

    def shrink(self) -> None:
        """Forget what the columns have forgotten; they had all there was."""
        for table in self._negations.kept():
            number = table.parts[0].symbol
            symbol = self._symbols[number]
            if len(symbol) != len(table):
                symbol.clear()
                for kept in _from_columns(table, symbol.scope):
                    symbol.add(kept)

    def add(self, single: Mapping[int, Sequence[StepCandidate]], position: int, time: int, stream: int) -> None:
        """Remember the next event's solutions of negated steps."""
        for number, symbol in self._symbols.items():
            for candidate in single.get(number, ()):
                kept = _Kept(position, time, stream, candidate.moment, candidate.numbers[0], candidate.values)
                self.added += 1
                symbol.new.append(kept)
                symbol.add(kept)

    def sync(self) -> None:
        """Let the columns remember, too."""
        tables = {}
        for number, symbol in self._symbols.items():
            if symbol.new:
                tables[number] = _as_columns(number, symbol)
                symbol.new = []
        self._negations.add(tables)

    def violated(self, number: int) -> bool:
        """True if a negation between its steps removes the match that ends at a row; only if `simple`."""
        match = self._rows[number]
        while number != NONE:
            row = self._rows[number]
            if row[col.EDGE] != NONE and self._passed[row[col.EDGE]]:
                source = self._rows[row[col.SOURCE]]
                after = source if source[col.HIGH] != NONE else None
                if any(self._happened(each, match, after, row) for each in self._passed[row[col.EDGE]]):
                    return True
            number = row[col.PARENT]
        return False

    def violated_after(self, number: int, accept: int) -> bool:
        """True if a trailing negation removes the match that ends at a row; only if `simple`."""
        match = self._rows[number]
        return any(self._happened(each, match, match, None) for each in self._trailing[accept])

    def _happened(self, negated: _Negated, match: Row, after: Row | None, before: Row | None) -> bool:
        """True if the negated step has a solution between the two rows, compatible with the match."""
        number, limit = negated
        symbol = self._symbols[number]
        key = symbol.wanted(match)
        kept = symbol.kept.get(key)
        if not kept:
            return False
        positions = symbol.positions[key]
        begin = 0 if after is None else bisect_right(positions, after[col.HIGH])
        end = len(positions) if before is None else bisect_left(positions, before[col.LOW], begin)
        for place in range(end - 1, begin - 1, -1):
            found = kept[place]
            if limit is not None and not _is_near(found.time, limit, after, before):
                continue
            if self._is_between(found, match, after, before) and self._is_compatible(number, found.values, match):
                return True
        return False

    def _is_between(self, found: _Kept, match: Row, after: Row | None, before: Row | None) -> bool:
        """Strictly between the neighbours in time; where there is none, in the match's window."""
        time, stream = found.time, found.stream
        if (
            before is not None
            and (time, stream) != (before[col.LOW_TIME], before[col.LOW_STREAM])
            and time >= before[col.LOW_TIME]
        ):
            return False
        if (
            after is not None
            and (time, stream) != (after[col.HIGH_TIME], after[col.HIGH_STREAM])
            and time <= after[col.HIGH_TIME]
        ):
            return False
        return (after is not None and before is not None) or self._in_window(found, match)

    def _in_window(self, found: _Kept, match: Row) -> bool:
        """True if it is in the window of the match (specification 3.3)."""
        window = self._program.window
        first, last, where = match[col.FIRST_TIME], match[col.HIGH_TIME], found.time
        if window.in_events:
            first, last, where = match[col.FIRST_RANK], match[col.RANK], found.moment.rank
        return bool(in_window(window, where, first, last, match[col.WINDOW]))

    def _is_compatible(self, number: int, values: Solution, match: Row) -> bool:
        """Compatible with the whole match, and every condition of the negated step holds."""
        registers = match[col.FIXED : col.FIXED + self._program.variables]
        for variable, value in zip(self._symbols[number].scope, values, strict=True):
            if value != UNBOUND:
                if registers[variable] not in (UNBOUND, value):
                    return False
                registers[variable] = value
        return all(holds(match, registers) for holds in self._conditions[number])


def _steps(plan: Plan, passed: Sequence[Passed]) -> list[_Negated]:
    """The steps that are passed over."""
    negations = (plan.negations[each.negation] for each in passed)
    return [(negation.step, negation.limit) for negation in negations]


def _is_near(time: int, limit: int, after: Row | None, before: Row | None) -> bool:
    """True if a time is at most so long after the last event before it; if there is none, before the first one."""
    if after is not None:
        return time <= after[col.HIGH_TIME] + limit
    assert before is not None
    return time >= before[col.LOW_TIME] - limit


def _from_columns(table: StepTable, scope: Sequence[int]) -> list[_Kept]:
    moments = zip(
        table.partitions.tolist(), table.rank_low.tolist(), table.slots.tolist(), table.windows.tolist(), strict=True
    )
    columns = table.low.tolist(), table.times.tolist(), table.streams.tolist()
    numbers, values = table.parts[0].numbers.tolist(), table.matrix(scope).tolist()
    return [
        _Kept(position, time, stream, Moment(*moment), number, tuple(solution))
        for position, time, stream, moment, number, solution in zip(*columns, moments, numbers, values, strict=True)
    ]


def _as_columns(number: int, symbol: _Symbol) -> StepTable:
    """The new solutions as a table, as `SymbolTables` makes it of events that are the only ones of their slots."""
    low, times, streams, numbers = (
        np.array([kept[field] for kept in symbol.new], dtype=np.int64) for field in (0, 1, 2, 4)
    )
    moments = np.array([kept.moment for kept in symbol.new], dtype=np.int64)
    partitions, ranks, slots, windows = (np.ascontiguousarray(column) for column in moments.T)
    columns = np.array([kept.values for kept in symbol.new], dtype=np.int64).reshape(len(low), len(symbol.scope)).T
    values = dict(zip(symbol.scope, columns, strict=True))
    inside = partitions != NONE
    seqs = np.where(inside, 0, NONE)
    return StepTable(
        low, low, times, streams, slots, seqs, seqs, inside, ranks, ranks, windows, partitions, values,
        (Part(number, low, numbers),),
    )  # fmt: skip
