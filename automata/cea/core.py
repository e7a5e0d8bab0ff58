"""Complex event automata over tECS: events in, complex events in columns out (C Section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arrays.columns import places_of
from arrays.times import BEFORE_ALL, earlier
from automata.cea import enumeration
from automata.cea import machine as cea
from automata.cea.applicability import counts_events
from automata.cea.bit_vectors import COUNT, FIRST, MOMENT, POSITION, SUBSTREAM, SYMBOL, TIME, Log, Solved, solve
from automata.cea.configurations import Configurations
from automata.cea.creation_times import CreationTimes
from automata.cea.determinize import Determinised
from automata.cea.key_tables import KeyTables
from automata.cea.layout import layout_of
from automata.cea.machine import NEXT, ROOTS, BitVectors, Machine, Roots, Rules
from automata.cea.strategies import strategy_for
from automata.cea.tecs import HEAD, TAIL, grown, new_arena
from automata.cea.update import advance
from automata.plan.plan import Plan
from automata.plan.program import Selector, Skip, Window
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids

NO_LIMIT = 1 << 62
"""More complex events than can be enumerated."""
_VECTORS_MAX = 1 << 14
"""Bit vectors consumed before complete events are enumerated and nodes out of the window are given up."""
_ROOTS_FIRST, _NODES_FIRST, _DEPTH_FIRST = 1 << 12, 1 << 12, 1 << 6
_LABELS, _EVENTS = 1 << 18, 1 << 16
"""Room for the labels and complex events of one enumeration."""


@dataclass(frozen=True, eq=False)
class ComplexEvents:
    """Complex events: the entries of one after those of the other, oldest first, and where each ends."""

    entries: Ids
    ends: Ids

    @cached_property
    def lengths(self) -> Ids:
        """The number of entries of each."""
        return np.diff(self.ends, prepend=0)

    @cached_property
    def width(self) -> int:
        """The number of entries that every one has; 0 if they differ."""
        alike = len(self.ends) and bool((self.lengths == self.ends[0]).all())
        return int(self.ends[0]) if alike else 0


class CeaCore:
    """The CEA of one program, to which CEA applies (`automata.cea.applicability`)."""

    def __init__(self, plan: Plan) -> None:
        program = self._program = plan.program
        self.configurations = Configurations(plan)
        self._determinised = Determinised(strategy_for(plan, self.configurations))
        self.layout = layout_of(plan)
        self.keys = KeyTables(len(program.partition))
        self._arena = new_arena(_NODES_FIRST)
        self._roots = Roots(np.zeros(_ROOTS_FIRST, dtype=np.int64), np.zeros(_ROOTS_FIRST, dtype=np.int64))
        self._found, self._work = enumeration.new_found(_LABELS, _EVENTS), enumeration.new_work(_DEPTH_FIRST)
        selects = program.selector not in (Selector.ALL, Selector.STRICT)  # compares with what is consumed, too
        self._rules = Rules(
            counts_events(plan), bool(program.partition), program.skip is Skip.CONSUME_ALL and not selects
        )
        self._creation_times = CreationTimes()
        self.entries, self.solutions = Log(7), Log(self.layout.width + 1)
        self.position = 0

    def feed(
        self, events: Events, solutions: Mapping[int, SymbolSolutions], limit: int = NO_LIMIT
    ) -> Iterator[ComplexEvents]:
        """Consumes a slice of the merged order; yields the complex events that it completes.

        limit       the most complex events of one triggering event, key and cell; those that began last come first

        A yielded value is valid until the next one; all must be read before the next slice.
        """
        if not any(len(table.events) for table in solutions.values()):
            self.position += len(events)
            return
        yield from self._consume(self._vectors(events, solutions), limit)

    def replay(self, bits: Ids, keys: list[tuple[int, ...]], first: Ids) -> None:
        """Consumes bit vectors whose entries are in `entries` and whose complex events have been reported.

        bits        the symbols of each bit vector
        keys        the key of each
        first       the number of its first entry
        """
        entries = self.entries.take(first)
        starts = entries[:, MOMENT].copy()
        distinct = list(dict.fromkeys(keys))
        numbers = {key: number for number, key in enumerate(distinct)}
        key = np.array([numbers[key] for key in keys], dtype=np.int64)
        vectors = self._placed(bits, key, distinct, first, starts, entries[:, POSITION].copy())
        for _ in self._consume(_in_window(vectors), 0):
            raise AssertionError("a replay reports nothing")

    def forget(self, moment: int) -> None:
        """Drops what lies before the windows of this moment and later ones."""
        window = self._program.window
        low = int(_lows(window, np.array([moment], dtype=np.int64))[0])
        low = max(low, window.start) if window.anchored else low
        kept = int(np.searchsorted(self.entries.rows[:, MOMENT], low))
        self.entries.forget(self.entries.first + kept)
        rows = self.entries.rows
        self.solutions.forget(int(rows[0, FIRST]) if len(rows) else self.solutions.next)
        self._creation_times.give_up(self._arena, low)

    def oldest_position(self) -> int:
        """The least position of an event in a complex event to come."""
        rows = self.entries.rows
        return int(rows[0, POSITION]) if len(rows) else self.position

    def live_ids(self) -> list[Ids]:
        """Columns of the ids in the window and in keys."""
        return [np.unique(self.solutions.rows[:, :-1]), self.keys.live_ids()]

    @property
    def nodes(self) -> int:
        """Rows of the arena in use."""
        return int(self._arena.marks[HEAD] - self._arena.marks[TAIL])

    @property
    def capacity(self) -> int:
        """Rows that the arena has room for."""
        return len(self._arena.nodes)

    @property
    def nodes_made(self) -> int:
        """Rows of the arena ever used."""
        return int(self._arena.marks[HEAD])

    # --- from solutions to bit vectors ------------------------------------------------------------

    def _vectors(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> BitVectors:
        """The bit vectors of a slice; appends its entries and solutions."""
        solved, keys = solve(solutions, self.layout)
        at = solved.entries[solved.vectors]
        happened = solved.events[at]
        places = self.position + happened
        starts = places if self._program.window.in_events else events.times[happened]
        first = self.entries.next + solved.vectors
        vectors = self._placed(solved.bits, solved.keys[at], keys, first, starts, places)
        self._append(solved, events, vectors.slots)
        self.position += len(events)
        return _in_window(vectors)

    def _placed(
        self, bits: Ids, key: Ids, keys: list[tuple[int, ...]], first: Ids, starts: Ids, places: Ids
    ) -> BitVectors:
        """Bit vectors with their slots and numbers; `key` is the number of each one's key among `keys`."""
        lows = _lows(self._program.window, starts)
        slots = key
        if len(key):
            slots = self.keys.slots(keys, int(lows[0]))[key]
            self.keys.touch(slots, starts)
        if self._determinised.crowded():
            self.keys.renumber(self._determinised.forget_all_but(self.keys.cells()))
        distinct, inverse = places_of(bits)
        numbers = np.array([self._determinised.number_of(one) for one in distinct.tolist()], dtype=np.int64)[inverse]
        return BitVectors(slots, numbers, first, starts, lows, places, np.empty_like(slots))

    def _append(self, solved: Solved, events: Events, slots: Ids) -> None:
        happened = solved.events[solved.entries]
        columns = self.entries.extend(len(happened))
        columns[:, POSITION] = self.position + happened
        columns[:, SYMBOL] = solved.symbols[solved.entries]
        columns[:, TIME] = events.times[happened]
        columns[:, MOMENT] = columns[:, POSITION if self._program.window.in_events else TIME]
        counts = np.diff(solved.vectors, append=len(solved.entries))
        columns[:, SUBSTREAM] = np.repeat(self.keys.tables.substreams[slots], counts)
        columns[:, FIRST] = self.solutions.next + solved.entries
        columns[:, COUNT] = np.diff(solved.entries, append=len(solved.events))
        self.solutions.append(solved.values)

    # --- from bit vectors to complex events -------------------------------------------------------

    def _consume(self, vectors: BitVectors, limit: int) -> Iterator[ComplexEvents]:
        for begin in range(0, len(vectors.slots), _VECTORS_MAX):
            some = BitVectors(*(column[begin : begin + _VECTORS_MAX] for column in vectors))
            self._creation_times.give_up(self._arena, int(some.lows[0]))
            yield from self._advance(some, limit)
            self._creation_times.note(some)

    def _advance(self, vectors: BitVectors, limit: int) -> Iterator[ComplexEvents]:
        progress = np.zeros(4, dtype=np.int64)
        status = cea.ROOTS_FULL
        while status != cea.DONE:
            self.keys.fit(len(self._determinised.moves.alive))
            keys, moves, others = self.keys, self._determinised.moves, (self._arena, self._roots, self._rules, progress)
            status = advance(Machine(vectors, keys.tables, keys.substreams, moves, keys.scratch, *others))
            if status in (cea.ROOTS_FULL, cea.ARENA_FULL, cea.DONE):
                yield from self._enumerate(vectors, int(progress[ROOTS]), limit)
                progress[ROOTS] = 0
            self._provide(status, vectors, progress)

    def _provide(self, status: int, vectors: BitVectors, progress: Ids) -> None:
        if status == cea.MOVE_UNKNOWN:
            self._determinised.determine(int(progress[cea.CELL]), int(progress[cea.BIT_VECTOR]))
        elif status == cea.ARENA_FULL:
            held = self.nodes
            roomy = self._creation_times.make_room(self._arena, vectors, int(progress[NEXT]))
            if not roomy or self.nodes == held:
                self._program.check_runs(self.nodes)
                self._arena = grown(self._arena)
        elif status == cea.TABLE_FULL:
            self.keys.make_room()
        elif status == cea.ROOTS_FULL and len(self._roots.nodes) < len(self.keys.scratch.cells):
            self._roots = Roots(*(np.zeros(2 * len(column), dtype=np.int64) for column in self._roots))

    def _enumerate(self, vectors: BitVectors, count: int, limit: int) -> Iterator[ComplexEvents]:
        nodes, lows = self._roots.nodes[:count].copy(), vectors.lows[self._roots.rows[:count]]
        progress = np.zeros(3, dtype=np.int64)
        status = enumeration.OUTPUT_FULL if count else enumeration.DONE
        while status != enumeration.DONE:
            status = enumeration.enumerate_roots(self._arena, nodes, lows, limit, self._work, self._found, progress)
            _, events, labels = progress
            if events:
                yield ComplexEvents(self._found.labels[:labels], self._found.ends[:events])
            elif status == enumeration.OUTPUT_FULL:
                self._found = enumeration.new_found(2 * len(self._found.labels), len(self._found.ends))
            if status == enumeration.WORK_FULL:
                self._work = enumeration.deeper(self._work)
            progress[enumeration.FOUND :] = 0


def _in_window(vectors: BitVectors) -> BitVectors:
    inside = vectors.lows > BEFORE_ALL
    return vectors if inside.all() else BitVectors(*(column[inside] for column in vectors))


def _lows(window: Window, moments: Ids) -> Ids:
    """The earliest start in the window of each moment; BEFORE_ALL for a moment outside all windows."""
    if window.sliding:
        size = window.size - (1 if window.in_events else 0)
        return earlier(moments, size)
    into = (moments % window.size - window.start % window.size) % window.size
    lows = earlier(moments, into)
    return np.where(moments < window.start, BEFORE_ALL, lows) if window.anchored else lows
