"""Joining partial matches with the buffered events of one more unit (K Sections 3 and 4.1).

The ordering filters bound the slice of the buffer that is searched; what the bounds cannot say, and
the values and conditions, are masks over the pairs that were found.
"""

from __future__ import annotations

import numpy as np

from arrays.columns import hash_columns
from arrays.times import AFTER_ALL, earlier, later
from automata.chains import bindings
from automata.lazy.conditions import EarlyConditions
from automata.lazy.negation import FirstChance
from automata.lazy.partial import PARTITION, RANK_MAX, RANK_MIN, TIME_MAX, TIME_MIN, WINDOW, Rows
from automata.lazy.search import Search
from automata.slices.step_buffer import LOW, RANK, STREAM, TIME, Buffer
from automata.slices.step_buffer import PARTITION as BUFFER_PARTITION
from automata.slices.step_buffer import WINDOW as BUFFER_WINDOW
from automata.values import Ids, Mask

Bound = frozenset[int]
"""The units that a partial match has bound."""


class Joiner:
    """Joins for one path through the automaton."""

    def __init__(self, search: Search, first_chance: FirstChance) -> None:
        program = self._program = search.plan.program
        self._search = search
        self._units = search.units
        self._layout = search.layout
        self._first_chance = first_chance
        self._contexts = bool(program.partition) or not program.window.sliding
        self._conditions = EarlyConditions(search)
        self._scopes = [tuple(sorted(program.symbols[unit.symbol].scope)) for unit in search.units.units]

    def join(self, bound: Bound, rows: Rows, unit: int, since: int) -> Rows:
        """The rows with one more unit bound, to events with numbers from `since` on, that can still become matches."""
        buffer = self._search.buffer(unit)
        if not len(rows) or since >= buffer.end:
            return rows[:0]
        begin, end = self._bounds(bound, rows, unit, buffer)
        begin = np.maximum(begin, since)
        key = self._units.key(self._program, bound, unit)
        in_context = bool(bound) and self._contexts
        hashes = self._hashes(rows, key, in_context) if key or in_context else begin
        found, count = [], 0
        for which, numbers in buffer.search(begin, end, key, hashes, in_context):
            found.append(self._joined(bound, rows[which], unit, buffer, numbers))
            count += len(found[-1])
            self._program.check_runs(count)
        return np.concatenate(found) if found else rows[:0]

    def _hashes(self, rows: Rows, key: tuple[int, ...], in_context: bool) -> Ids:
        context = [rows[:, PARTITION], rows[:, WINDOW]] if in_context else []
        registers = rows[:, self._layout.registers]
        return hash_columns([*context, *(registers[:, variable] for variable in key)], len(rows))

    def _bounds(self, bound: Bound, rows: Rows, unit: int, buffer: Buffer) -> tuple[Ids, Ids]:
        """For each row the numbers between which events of the unit may lie."""
        after = rows[:, self._layout.floor(unit)] - 1
        before = np.full(len(rows), AFTER_ALL)
        for other in bound:
            low = self._search.at(rows, other, LOW)
            if self._units.before[other, unit]:
                after = np.maximum(after, low)
            if self._units.before[unit, other]:
                before = np.minimum(before, low)
        begin, end = buffer.number(LOW, after, after=True), buffer.number(LOW, before)
        window = self._program.window
        if bound and window.sliding and not window.in_events:
            begin = np.maximum(begin, buffer.number(TIME, earlier(rows[:, TIME_MAX], window.size)))
            end = np.minimum(end, buffer.number(TIME, later(rows[:, TIME_MIN], window.size), after=True))
        for other in bound if self._search.plan.limits else ():
            times, (since, until) = self._search.at(rows, other, TIME), self._search.times.between(unit, other)
            begin = np.maximum(begin, buffer.number(TIME, earlier(times, since)))
            end = np.minimum(end, buffer.number(TIME, later(times, until), after=True))
        for other in bound:
            if self._units.together[other, unit]:
                times = self._search.at(rows, other, TIME)
                begin = np.maximum(begin, buffer.number(TIME, times))
                end = np.minimum(end, buffer.number(TIME, times, after=True))
        return begin, end

    def _joined(self, bound: Bound, rows: Rows, unit: int, buffer: Buffer, numbers: Ids) -> Rows:
        """The pairs of a row and an event that fit, as rows; `rows` are copies that may be changed."""
        keep = self._fits(bound, rows, unit, buffer, numbers)
        rows, numbers = rows[keep], numbers[keep]
        values = {variable: buffer.value(variable, numbers) for variable in self._scopes[unit]}
        fitting = bindings.unify(rows[:, self._layout.registers], values)
        rows, numbers = rows[fitting], numbers[fitting]
        self._stamp(bound, rows, unit, buffer, numbers)
        rows = rows[self._conditions.hold(bound, unit, rows)]
        return rows[self._first_chance.free(bound, unit, rows)]

    def _fits(self, bound: Bound, rows: Rows, unit: int, buffer: Buffer, numbers: Ids) -> Mask:
        """Partition, window, order between streams, distinct events."""
        keep = np.ones(len(rows), dtype=np.bool_)
        if not bound:
            return keep
        if self._contexts:
            keep &= rows[:, PARTITION] == buffer.at(BUFFER_PARTITION, numbers)
            keep &= rows[:, WINDOW] == buffer.at(BUFFER_WINDOW, numbers)
        window = self._program.window
        if window.in_events and window.sliding:
            ranks = buffer.at(RANK, numbers)
            keep &= np.maximum(rows[:, RANK_MAX], ranks) - np.minimum(rows[:, RANK_MIN], ranks) < window.size
        for other in bound:
            if self._units.apart[other, unit]:
                keep &= self._search.at(rows, other, LOW) != buffer.at(LOW, numbers)
            elif self._program.streams > 1 and not self._units.together[other, unit]:
                same_time = self._search.at(rows, other, TIME) == buffer.at(TIME, numbers)
                keep &= ~same_time | (self._search.at(rows, other, STREAM) == buffer.at(STREAM, numbers))
        return keep

    def _stamp(self, bound: Bound, rows: Rows, unit: int, buffer: Buffer, numbers: Ids) -> None:
        times, ranks = buffer.at(TIME, numbers), buffer.at(RANK, numbers)
        rows[:, self._layout.number(unit)] = numbers
        rows[:, TIME_MIN] = np.minimum(rows[:, TIME_MIN], times)
        rows[:, TIME_MAX] = np.maximum(rows[:, TIME_MAX], times)
        rows[:, RANK_MIN] = np.minimum(rows[:, RANK_MIN], ranks)
        rows[:, RANK_MAX] = np.maximum(rows[:, RANK_MAX], ranks)
        if not bound:
            rows[:, WINDOW] = buffer.at(BUFFER_WINDOW, numbers)
            rows[:, PARTITION] = buffer.at(BUFFER_PARTITION, numbers)
