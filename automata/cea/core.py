"""Complex event automata over tECS: events in, complex events in columns out (C Section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from automata.cea import arrays as cea_arrays
from automata.cea import enumeration as cea_enumeration
from automata.cea.applicability import key_of
from automata.cea.arrays import BIT_VECTOR, CELL, NEXT, ROOTS, BitVectors, Roots, Rules
from automata.cea.bit_vectors import COUNT, FIRST, MOMENT, POSITION, SUBSTREAM, SYMBOL, TIME, Log, Solved, solve
from automata.cea.configurations import Configurations
from automata.cea.creation_times import CreationTimes
from automata.cea.determinize import Determinised
from automata.cea.enumeration import deeper, enumerate_roots, new_found, new_work
from automata.cea.key_tables import KeyTables
from automata.cea.strategies import strategy_for
from automata.cea.tecs import HEAD, NEVER, TAIL, grown, new_arena
from automata.cea.update import advance
from automata.plan.automaton import START, build_automaton
from automata.plan.expression import Contiguity
from automata.plan.program import Program, Selector, Skip, Window
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids

NO_LIMIT = 1 << 62
"""More complex events than can be enumerated."""
_LETTERS_MAX = 1 << 14
"""Letters worked off before what is complete is enumerated and what is out of the window is given up."""
_ROOTS_FIRST, _NODES_FIRST, _DEPTH_FIRST = 1 << 12, 1 << 12, 1 << 6
_LABELS, _EVENTS = 1 << 18, 1 << 16
"""Room for the complex events that are enumerated at a time."""


@dataclass(frozen=True, slots=True)
class ComplexEvents:
    """Some complex events: the entries of one after those of the other, oldest first, and where each ends."""

    entries: Ids
    ends: Ids


class CeaCore:
    """The CEA of one program, to which CEA applies (`automata.cea.applicability`)."""

    def __init__(self, program: Program) -> None:
        self._program = program
        automaton = build_automaton(program.expression)
        self.configurations = Configurations(automaton)
        self._determinised = Determinised(strategy_for(program.selector, self.configurations))
        self.key = key_of(program)
        self.keys = KeyTables(len(program.partition))
        self._arena = new_arena(_NODES_FIRST)
        self._roots = Roots(np.zeros(_ROOTS_FIRST, dtype=np.int64), np.zeros(_ROOTS_FIRST, dtype=np.int64))
        self._found, self._work = new_found(_LABELS, _EVENTS), new_work(_DEPTH_FIRST)
        strict = any(edge.operator is Contiguity.STRICT for edge in automaton.edges if edge.source != START)
        gaps = strict or program.selector is Selector.STRICT
        alone = program.selector in (Selector.ALL, Selector.STRICT)  # others compare with what is consumed, too
        consume = program.skip is Skip.CONSUME_ALL and alone
        self._rules = Rules(len(program.symbols), gaps, bool(program.partition), consume)
        self._passing = CreationTimes()
        self.entries, self.solutions = Log(7), Log(program.variables)
        self.position = 0

    def feed(
        self, events: Events, solutions: Mapping[int, SymbolSolutions], limit: int = NO_LIMIT
    ) -> Iterator[ComplexEvents]:
        """Takes in a slice of the merged order; gives the complex events that it completes.

        limit       of one triggering event, key and cell at most so many, those that began last first

        What is given is valid until the next is asked for; all must be asked for before the next slice.
        """
        if not any(len(table.events) for table in solutions.values()):
            self.position += len(events)
            return
        bit_vectors = self._letters(events, solutions)
        yield from self._take(bit_vectors, limit)

    def replay(self, bits: Ids, keys: list[tuple[int, ...]], first: Ids) -> None:
        """Takes in letters whose entries are written down, and whose complex events have been given out.

        bits        the symbols of each letter
        keys        the key of each
        first       the number of its first entry
        """
        entries = self.entries.take(first)
        starts = entries[:, MOMENT].copy()
        lows = _lows(self._program.window, starts)
        distinct = list(dict.fromkeys(keys))
        numbers = {key: number for number, key in enumerate(distinct)}
        slots = self._slots(np.array([numbers[key] for key in keys], dtype=np.int64), distinct, starts, lows)
        places = entries[:, POSITION].copy()
        bit_vectors = BitVectors(slots, self._letter_numbers(bits), first, starts, lows, places, np.empty_like(slots))
        for _ in self._take(_inside(bit_vectors), 0):
            raise AssertionError("nothing is to be found again")

    def forget(self, moment: int) -> None:
        """Nothing before this moment will come any more."""
        window = self._program.window
        low = int(_lows(window, np.array([moment], dtype=np.int64))[0])
        low = max(low, window.start) if window.anchored else low
        kept = int(np.searchsorted(self.entries.rows[:, MOMENT], low))
        self.entries.forget(self.entries.first + kept)
        rows = self.entries.rows
        self.solutions.forget(int(rows[0, FIRST]) if len(rows) else self.solutions.next)
        self._passing.give_up(self._arena, low)

    def oldest_position(self) -> int:
        """No complex event to come has an earlier event."""
        rows = self.entries.rows
        return int(rows[0, POSITION]) if len(rows) else self.position

    def live_ids(self) -> list[Ids]:
        """Columns of the ids that are still needed."""
        return [np.unique(self.solutions.rows), self.keys.live_ids()]

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

    # --- a slice --------------------------------------------------------------------------------

    def _letters(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> BitVectors:
        """The letters of a slice; writes its entries and solutions down."""
        solved, keys = solve(solutions, self.key, self._program.variables, max(len(self._program.symbols), 1))
        at = solved.entries[solved.bit_vectors]
        happened = solved.events[at]
        places = self.position + happened
        starts = places if self._program.window.in_events else events.times[happened]
        lows = _lows(self._program.window, starts)
        slots = self._slots(solved.keys[at], keys, starts, lows)
        first = self.entries.next + solved.bit_vectors
        self._write(solved, events, slots)
        self.position += len(events)
        heads = np.empty_like(slots)
        return _inside(BitVectors(slots, self._letter_numbers(solved.bits), first, starts, lows, places, heads))

    def _take(self, bit_vectors: BitVectors, limit: int) -> Iterator[ComplexEvents]:
        for begin in range(0, len(bit_vectors.slots), _LETTERS_MAX):
            some = BitVectors(*(column[begin : begin + _LETTERS_MAX] for column in bit_vectors))
            self._passing.give_up(self._arena, int(some.lows[0]))
            yield from self._work_off(some, limit)
            self._passing.note(some)

    def _slots(self, number: Ids, keys: list[tuple[int, ...]], starts: Ids, lows: Ids) -> Ids:
        if not len(number):
            return number
        slots = self.keys.slots(keys, int(lows[0]))[number]
        self.keys.touch(slots, starts)
        return slots

    def _letter_numbers(self, bits: Ids) -> Ids:
        if self._determinised.crowded():
            self.keys.renumber(self._determinised.forget_all_but(self.keys.cells()))
        distinct, inverse = np.unique(bits, return_inverse=True)
        numbers = np.array([self._determinised.letter(int(letter)) for letter in distinct], dtype=np.int64)
        return numbers[inverse]

    def _write(self, solved: Solved, events: Events, slots: Ids) -> None:
        happened = solved.events[solved.entries]
        columns = np.empty((len(happened), 7), dtype=np.int64)
        columns[:, POSITION] = self.position + happened
        columns[:, SYMBOL] = solved.symbols[solved.entries]
        columns[:, TIME] = events.times[happened]
        columns[:, MOMENT] = columns[:, POSITION if self._program.window.in_events else TIME]
        letter = np.repeat(np.arange(len(slots)), np.diff(solved.bit_vectors, append=len(solved.entries)))
        columns[:, SUBSTREAM] = self.keys.substreams_of(slots)[letter] if len(slots) else 0
        columns[:, FIRST] = self.solutions.next + solved.entries
        columns[:, COUNT] = np.diff(solved.entries, append=len(solved.events))
        self.entries.append(columns)
        self.solutions.append(solved.values)

    def _work_off(self, bit_vectors: BitVectors, limit: int) -> Iterator[ComplexEvents]:
        progress = np.zeros(4, dtype=np.int64)
        bit_vectors = BitVectors(*(np.ascontiguousarray(column) for column in bit_vectors))
        status = cea_arrays.ROOTS_FULL
        while status != cea_arrays.DONE:
            self.keys.fit(len(self._determinised.moves.alive))
            keys, moves = self.keys, self._determinised.moves
            status = advance(
                bit_vectors, keys.tables, keys.substreams, moves, keys.scratch, self._arena, self._roots, self._rules,
                progress,
            )  # fmt: skip
            if status in (cea_arrays.ROOTS_FULL, cea_arrays.ARENA_FULL, cea_arrays.DONE):
                yield from self._enumerate(bit_vectors, int(progress[ROOTS]), limit)
                progress[ROOTS] = 0
            self._provide(status, bit_vectors, progress)

    def _provide(self, status: int, bit_vectors: BitVectors, progress: Ids) -> None:
        """What the kernel asked for."""
        if status == cea_arrays.MOVE_UNKNOWN:
            self._determinised.determine(int(progress[CELL]), int(progress[BIT_VECTOR]))
        elif status == cea_arrays.ARENA_FULL:
            held = self.nodes
            if not self._passing.make_room(self._arena, bit_vectors, int(progress[NEXT])) or self.nodes == held:
                self._arena = grown(self._arena)
        elif status == cea_arrays.TABLE_FULL:
            self.keys.make_room()
        elif status == cea_arrays.ROOTS_FULL and len(self._roots.nodes) < len(self.keys.scratch.cells):
            self._roots = Roots(*(np.zeros(2 * len(column), dtype=np.int64) for column in self._roots))

    def _enumerate(self, bit_vectors: BitVectors, count: int, limit: int) -> Iterator[ComplexEvents]:
        nodes, lows = self._roots.nodes[:count].copy(), bit_vectors.lows[self._roots.bit_vectors[:count]]
        progress = np.zeros(3, dtype=np.int64)
        status = cea_enumeration.DONE if not count else cea_enumeration.OUTPUT_FULL
        while status != cea_enumeration.DONE:
            status = enumerate_roots(self._arena, nodes, lows, limit, self._work, self._found, progress)
            events, labels = progress[cea_enumeration.FOUND], progress[cea_enumeration.WRITTEN]
            if events:
                yield ComplexEvents(self._found.labels[:labels], self._found.ends[:events])
            elif status == cea_enumeration.OUTPUT_FULL:
                self._found = new_found(2 * len(self._found.labels), len(self._found.ends))
            if status == cea_enumeration.WORK_FULL:
                self._work = deeper(self._work)
            progress[cea_enumeration.FOUND] = progress[cea_enumeration.WRITTEN] = 0


def _inside(bit_vectors: BitVectors) -> BitVectors:
    """Those that are in a window at all."""
    inside = np.flatnonzero(bit_vectors.lows > NEVER)
    return (
        bit_vectors
        if len(inside) == len(bit_vectors.slots)
        else BitVectors(*(column[inside] for column in bit_vectors))
    )


def _lows(window: Window, moments: Ids) -> Ids:
    """The earliest start in the window of each moment; NEVER for a moment outside all windows."""
    if window.sliding:
        return moments - window.size + (1 if window.in_events else 0)
    numbers = (moments - window.start) // window.size
    lows = window.start + numbers * window.size
    return np.where(numbers < 0, NEVER, lows) if window.anchored else lows
