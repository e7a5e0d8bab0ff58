"""The register automaton of a program as arrays that a kernel walks, or the reason why there is none.

All tables are one int64 array, short lists filled up with NONE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from automata.plan import expression as nodes
from automata.plan.automaton import Accept, Action, Automaton, Crossing, build_automaton
from automata.plan.expression import Contiguity
from automata.plan.facts import Analysis, Check, analyse
from automata.plan.program import Demand, FoldValue, Program, Window
from automata.registers.iterated import ITERATED, crossings_of_tracks, references_of, register_of, tracked_variables
from automata.values import Ids

NONE = -1
"""What ends a list, and stands where there is nothing."""
UNBOUNDED = 1 << 60
"""AT_MOST of a repetition without an upper bound."""
_MARKERS_MAX = 62
"""Markers are bits of one register."""

STRICT, NEXT, ANY = 0, 1, 2
"""OPERATOR of an edge: `,` `;` `:`."""
_OUTSIDE: dict[type, str] = {
    nodes.Conjunction: "a conjunction takes several events in one step",
    nodes.AnyOrder: "the members of ALL( ) have no order",
    nodes.Optional: "an optional step stands for a negation as well",
    nodes.Negation: "a negation looks at events between the steps",
}
"""The constructs that the kernel does not have."""
_OPERATORS = {Contiguity.STRICT: STRICT, Contiguity.NEXT: NEXT, Contiguity.ANY: ANY}
ENTER, LOOP, LEAVE = 0, 1, 2
"""Crossings in ACTIONS."""
EVERY, FIRST_ONE, HAPPENED = 0, 1, 2
"""`Shape.wanted`: see `automata.plan.program.Wanted`."""
_WANTED = {Demand.EVERY: EVERY, Demand.FIRST: FIRST_ONE, Demand.HAPPENED: HAPPENED}
_CROSSINGS = {Crossing.ENTER: ENTER, Crossing.LOOP: LOOP, Crossing.LEAVE: LEAVE}


(
    EDGES, SCOPE, SOURCE_OF, TARGET, SLOT_OF, OPERATOR, KEYS, BLOCKERS, ACTIONS,
    OUTGOING, STRICT_ONLY, CHECKS, FINALS, ACCEPTS, MARKER_BITS,
    CONDITION, MARKER, WAITING, LEAVES, AT_LEAST, AT_MOST, LOCALS, REFERENCES, PARTITION_BY,
    LIVE_VARIABLES, AROUND, TRACKED, TRACK,
) = range(28)  # fmt: skip
"""The tables of a program, tables[NAME, item, place]; lists end with NONE, single numbers stand at place 0.

symbol      EDGES into the positions that take it; SCOPE: its variables, in the order of a letter's values
edge        SOURCE_OF, TARGET, SLOT_OF (its place among the edges of its source), OPERATOR; KEYS: the variables by which
            runs and events are joined; BLOCKERS: slots whose taking ends skip-till-next; ACTIONS: crossing,
            repetition, crossing, repetition, …
position    OUTGOING edges; STRICT_ONLY; CHECKS, FINALS: numbers of checks on arrival and at the end; ACCEPTS;
            MARKER_BITS; LIVE_VARIABLES: those that something after it may read; AROUND: the repetitions it lies in
check       CONDITION; MARKER (a bit; 0 at home); WAITING variables
accept      LEAVES: the repetitions that are left
repetition  AT_LEAST, AT_MOST; LOCALS: variables that an iteration binds afresh
            TRACK: for each tracked variable, whether the edge begins one of its iterations and leads into one
condition   REFERENCES: the registers it reads
tracked     TRACKED: the variable; its registers follow those of the variables, four for each
program     PARTITION_BY: one variable an item

One array, for a kernel pays for each that it is handed."""


class Shape(NamedTuple):
    """Numbers that the kernel needs throughout.

    variables       registers: those of the variables, then those of iterations
    tracked         variables whose iterations are looked at
    slots           the greatest number of edges that leave one position
    total           events are totally ordered: one stream
    wanted          EVERY, FIRST or HAPPENED: what is wanted of the matches of one event
    size, start, in_events, sliding, anchored   of the window
    """

    variables: int
    tracked: int
    repetitions: int
    slots: int
    streams: int
    keys: int
    total: bool
    wanted: int
    size: int
    start: int
    in_events: bool
    sliding: bool
    anchored: bool


def why_not(program: Program) -> str | None:
    """Why the register automaton's kernel does not take the program; None if it does."""
    for node in nodes.walk(program.expression):
        if type(node) in _OUTSIDE:
            return _OUTSIDE[type(node)]
    if any(isinstance(reference, FoldValue) for reference in references_of(program)):
        return "aggregates look at all iterations of a repetition"
    automaton = build_automaton(program.expression)
    used = {symbol for position in automaton.positions for symbol in position.symbols}
    for condition in program.conditions:
        if condition.symbol in used and condition.needs_event:
            return f"a condition of {program.symbols[condition.symbol].name} looks into its event's graph"
    analysis = analyse(program, automaton)
    checks = [check for row in (*analysis.checks, *analysis.final) for check in row]
    if any(check.iterated for check in checks):
        return "a condition inside a repetition waits for a step outside it"
    if any(check.lossy for check in checks):
        return "a condition depends on a variable that an iteration may leave unbound"
    if any(check.spent for check in checks):
        return "a condition waits for a further iteration of a repetition that has a bound"
    if len(analysis.markers) > _MARKERS_MAX:
        return f"more than {_MARKERS_MAX} conditions wait for later steps"
    return None


def build_tables(program: Program) -> tuple[Ids, Shape]:
    """The tables of a program for which `why_not` has nothing to say."""
    automaton = build_automaton(program.expression)
    analysis = analyse(program, automaton)
    checks = _Checks(analysis)
    positions, outgoing, edges = automaton.positions, automaton.outgoing, automaton.edges
    places = range(len(positions))
    into = [
        [n for n, edge in enumerate(edges) if symbol in positions[edge.target].symbols]
        for symbol in range(len(program.symbols))
    ]
    registers = register_of(program)
    tracked = tracked_variables(program)
    slots = [outgoing[edge.source].index(number) for number, edge in enumerate(edges)]
    rows: dict[int, Sequence[Sequence[int]]] = {
        EDGES: into,
        SCOPE: [sorted(symbol.scope) for symbol in program.symbols],
        SOURCE_OF: _single(edge.source for edge in edges),
        TARGET: _single(edge.target for edge in edges),
        SLOT_OF: _single(slots),
        OPERATOR: _single(_OPERATORS[edge.operator] for edge in edges),
        KEYS: [_key(program, automaton, analysis, number) for number in range(len(edges))],
        BLOCKERS: [[slots[n] for n in (number, *edge.rivals)] for number, edge in enumerate(edges)],
        ACTIONS: [_flat(edge.actions) for edge in edges],
        OUTGOING: outgoing,
        STRICT_ONLY: _single(
            int(p > 0 and all(edges[n].operator is Contiguity.STRICT for n in outgoing[p])) for p in places
        ),
        CHECKS: checks.arriving,
        FINALS: checks.final,
        ACCEPTS: [[n for n, a in enumerate(automaton.accepts) if a.position == p] for p in places],
        MARKER_BITS: _single(
            sum(1 << number for number, (_, home) in enumerate(analysis.markers) if home == p) for p in places
        ),
        CONDITION: _single(check.condition for check in checks.all),
        MARKER: _single(0 if check.at_home else 1 << check.marker for check in checks.all),
        WAITING: [sorted(check.waiting) for check in checks.all],
        LEAVES: [_left(accept) for accept in automaton.accepts],
        AT_LEAST: _single(repetition.at_least for repetition in automaton.repetitions),
        AT_MOST: _single(
            UNBOUNDED if repetition.at_most is None else repetition.at_most for repetition in automaton.repetitions
        ),
        LOCALS: [sorted(variables) for variables in analysis.locals],
        REFERENCES: [[registers[r] for r in c.references] for c in program.conditions],
        PARTITION_BY: _single(program.partition),
        LIVE_VARIABLES: [sorted(live) for live in _live(program, automaton, analysis)],
        AROUND: [position.repetitions for position in positions],
        TRACKED: _single(tracked),
        TRACK: [
            crossings_of_tracks(automaton, [analysis.tracked[variable] for variable in tracked], edge) for edge in edges
        ],
    }
    return _stacked([rows[name] for name in range(len(rows))]), _shape(program, automaton, program.window)


def _live(program: Program, automaton: Automaton, analysis: Analysis) -> list[frozenset[int]]:
    """For each position, the variables that an event taken later may meet: in a join, or in a condition."""
    read = [
        analysis.scope[number].union(
            *(program.conditions[check.condition].variables() for check in (*arriving, *analysis.final[number]))
        )
        for number, arriving in enumerate(analysis.checks)
    ]
    live = [frozenset[int]()] * len(automaton.positions)
    changed = True
    while changed:
        before = list(live)
        for edge in automaton.edges:
            live[edge.source] |= read[edge.target] | live[edge.target]
        changed = live != before
    iterated = frozenset(range(program.variables, program.variables + ITERATED * len(tracked_variables(program))))
    return [variables | iterated for variables in live]


def _shape(program: Program, automaton: Automaton, window: Window) -> Shape:
    tracked = len(tracked_variables(program))
    return Shape(
        program.variables + ITERATED * tracked,
        tracked,
        len(automaton.repetitions),
        max(len(numbers) for numbers in automaton.outgoing),
        program.streams,
        len(program.partition),
        program.streams == 1,
        _WANTED[program.wanted],
        window.size,
        window.start,
        window.in_events,
        window.sliding,
        window.anchored,
    )


class _Checks:
    """All checks with numbers, and which of them each position has on arrival and at the end of a match."""

    def __init__(self, analysis: Analysis) -> None:
        self.all: list[Check] = []
        self.arriving = [self._numbers(checks) for checks in analysis.checks]
        self.final = [self._numbers(checks) for checks in analysis.final]

    def _numbers(self, checks: Sequence[Check]) -> list[int]:
        first = len(self.all)
        self.all += checks
        return list(range(first, len(self.all)))


def _key(program: Program, automaton: Automaton, analysis: Analysis, number: int) -> list[int]:
    """The variables that a run on this edge and every event that can take it have certainly bound."""
    edge = automaton.edges[number]
    bound = analysis.certain[edge.source]
    for action in edge.actions:
        if action.crossing is Crossing.LOOP:
            bound -= analysis.locals[action.repetition]
    (symbol,) = automaton.positions[edge.target].symbols
    return sorted(bound & program.symbols[symbol].certain)


def _flat(actions: tuple[Action, ...]) -> list[int]:
    return [number for action in actions for number in (_CROSSINGS[action.crossing], action.repetition)]


def _left(accept: Accept) -> list[int]:
    return [action.repetition for action in accept.actions if action.crossing is Crossing.LEAVE]


def _single(numbers: Iterable[int]) -> list[list[int]]:
    return [[number] for number in numbers]


def _stacked(tables: Sequence[Sequence[Sequence[int]]]) -> NDArray[np.int64]:
    """int64[tables, items, places], at least one NONE behind the longest list."""
    items = max(len(table) for table in tables)
    places = 1 + max((len(row) for table in tables for row in table), default=0)
    stacked = np.full((len(tables), items, places), NONE, dtype=np.int64)
    for number, table in enumerate(tables):
        for item, row in enumerate(table):
            stacked[number, item, : len(row)] = row
    return stacked
