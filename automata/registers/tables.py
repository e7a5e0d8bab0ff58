"""The register automaton of a program as arrays, or the reason why there is none.

All tables are one int64 array, short lists filled up with NONE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from automata.plan.expression import Contiguity
from automata.plan.plan import Plan, PlannedEdge, references_of, walks
from automata.plan.program import MATCH, Demand, FoldValue
from automata.plan.refusals import Refusal, first_refusal
from automata.plan.waiting import EvaluationPoint
from automata.registers.iterated import ITERATED, register_of, tracked_variables
from automata.values import Ids

NONE = -1
"""The end of a list, and the absence of a value."""
UNBOUNDED = 1 << 60
"""AT_MOST of a repetition without an upper bound."""
_MARKERS_MAX = 62
"""Markers are bits of one register."""

STRICT, NEXT, ANY = 0, 1, 2
"""OPERATOR of an edge: `,` `;` `:`."""
_REFUSALS = (
    Refusal.LIMITS,
    Refusal.HOP,
    Refusal.CONJUNCTION,
    Refusal.ANY_ORDER,
    Refusal.OPTIONAL,
    Refusal.NEGATION,
    Refusal.POSSESSIVE,
)
"""The constructs that the kernel does not have."""
_OPERATORS = {Contiguity.STRICT: STRICT, Contiguity.NEXT: NEXT, Contiguity.ANY: ANY}
ENTER, LOOP, LEAVE = 0, 1, 2
"""Crossings in ACTIONS."""
EVERY, FIRST_ONE, HAPPENED = 0, 1, 2
"""`Shape.demand`: see `automata.plan.program.Demand`."""
_DEMANDS = {Demand.EVERY: EVERY, Demand.FIRST: FIRST_ONE, Demand.HAPPENED: HAPPENED}


(
    EDGES, SCOPE, SOURCE_OF, TARGET, SLOT_OF, OPERATOR, KEYS, BLOCKERS, ACTIONS,
    OUTGOING, STRICT_ONLY, CHECKS, FINALS, ACCEPTS, MARKER_BITS,
    CONDITION, MARKER, WAITING, LEAVES, AT_LEAST, AT_MOST, LOCALS, REFERENCES, PARTITION_BY,
    LIVE_VARIABLES, AROUND, TRACKED, TRACK,
) = range(28)  # fmt: skip
"""The tables of a program, tables[NAME, item, place]; lists end with NONE, single numbers stand at place 0.

symbol      EDGES into the positions that take it; SCOPE: its variables, in the order of a solution's values
edge        SOURCE_OF, TARGET, SLOT_OF (its place among the edges of its source), OPERATOR; KEYS: the variables by which
            runs and events are joined; BLOCKERS: slots whose taking ends skip-till-next; ACTIONS: crossing,
            repetition, crossing, repetition, …; TRACK: for each tracked variable, 1 if the edge begins one of its
            iterations, 1 if it leads into one
position    OUTGOING edges; STRICT_ONLY; CHECKS, FINALS: the checks on arrival and at the end of a match; ACCEPTS;
            MARKER_BITS; LIVE_VARIABLES: those that a later event may read; AROUND: the repetitions it lies in
check       CONDITION; MARKER (a bit; 0 at home); WAITING variables
accept      LEAVES: the repetitions that are left
repetition  AT_LEAST, AT_MOST; LOCALS: variables that an iteration binds afresh
condition   REFERENCES: the registers it reads
tracked     TRACKED: the variable; its registers follow those of the variables, four for each
program     PARTITION_BY: one variable an item

One array: every array makes the call of a kernel slower."""


class Shape(NamedTuple):
    """Numbers that the kernel needs throughout.

    variables       registers: those of the variables, then those of iterations
    tracked         variables of PREV, FIRST and LAST
    slots           the greatest number of edges that leave one position
    total           events are totally ordered: one stream
    demand          EVERY, FIRST_ONE or HAPPENED: the matches of one event that are needed
    size, in_events, sliding, anchored  of the window
    periods, into   its start: so many sizes, and so much more
    """

    variables: int
    tracked: int
    repetitions: int
    slots: int
    streams: int
    keys: int
    total: bool
    demand: int
    size: int
    periods: int
    into: int
    in_events: bool
    sliding: bool
    anchored: bool


def why_not(plan: Plan) -> str | None:
    """The reason why the register automaton's kernel cannot run the plan's program, or None."""
    program = plan.program
    refusal = first_refusal(plan, *_REFUSALS)
    if refusal is not None:
        return refusal
    if any(isinstance(reference, FoldValue) for reference in references_of(program)):
        return "aggregates look at all iterations of a repetition"
    if walks(plan, references_of(program)):
        return "PREV, FIRST or LAST is of a variable that other steps may bind too: whole runs are read"
    for condition in program.conditions:
        if condition.symbol == MATCH:
            return "a FILTER beside the DEFINEs belongs to no step"
        if condition.symbol in plan.used and condition.needs_event:
            return f"a condition of {program.symbols[condition.symbol].name} looks into its event's graph"
    points = _points(plan)
    if any(point.iterated for point in points):
        return "a condition inside a repetition waits for a step outside it"
    if any(point.lossy for point in points):
        return "a condition depends on a variable that an iteration may leave unbound"
    if any(point.spent for point in points):
        return "a condition waits for a further iteration of a repetition that has a bound"
    if len(plan.markers) > _MARKERS_MAX:
        return f"more than {_MARKERS_MAX} conditions wait for later steps"
    return None


def build_tables(plan: Plan) -> tuple[Ids, Shape]:
    """The tables of a plan for which `why_not` is None."""
    program, positions, edges = plan.program, plan.positions, plan.edges
    points, registers, tracked = _points(plan), register_of(program), tracked_variables(program)
    number_of = {id(point): number for number, point in enumerate(points)}
    iterated = range(program.variables, program.variables + ITERATED * len(tracked))
    rows: dict[int, Sequence[Sequence[int]]] = {
        EDGES: [
            [n for n, edge in enumerate(edges) if symbol in positions[edge.target].symbols]
            for symbol in range(len(program.symbols))
        ],
        SCOPE: [sorted(symbol.scope) for symbol in program.symbols],
        SOURCE_OF: _single(edge.source for edge in edges),
        TARGET: _single(edge.target for edge in edges),
        SLOT_OF: _single(edge.place for edge in edges),
        OPERATOR: _single(_OPERATORS[edge.operator] for edge in edges),
        KEYS: [edge.key for edge in edges],
        BLOCKERS: [[edges[n].place for n in (number, *edges[number].rivals)] for number in range(len(edges))],
        ACTIONS: [_actions(edge) for edge in edges],
        OUTGOING: [position.outgoing for position in positions],
        STRICT_ONLY: _single(int(position.only_strict) for position in positions),
        CHECKS: [[number_of[id(point)] for point in position.arriving] for position in positions],
        FINALS: [[number_of[id(point)] for point in position.final] for position in positions],
        ACCEPTS: [position.accepts for position in positions],
        MARKER_BITS: _single(sum(1 << marker for marker in position.markers) for position in positions),
        CONDITION: _single(point.condition for point in points),
        MARKER: _single(0 if point.at_owner else 1 << point.marker for point in points),
        WAITING: [sorted(point.waiting) for point in points],
        LEAVES: [accept.leaves for accept in plan.accepts],
        AT_LEAST: _single(loop.at_least for loop in plan.repetitions),
        AT_MOST: _single(UNBOUNDED if loop.at_most is None else loop.at_most for loop in plan.repetitions),
        LOCALS: [sorted(local - entered) for local, entered in zip(plan.local, plan.entered, strict=True)],
        REFERENCES: [[registers[r] for r in c.references] for c in program.conditions],
        PARTITION_BY: _single(program.partition),
        LIVE_VARIABLES: [[*sorted(position.live), *iterated] for position in positions],
        AROUND: [position.repetitions for position in positions],
        TRACKED: _single(tracked),
        TRACK: [_track(plan, edge, tracked) for edge in edges],
    }
    return _stacked([rows[name] for name in range(len(rows))]), _shape(plan)


def _points(plan: Plan) -> list[EvaluationPoint]:
    return [point for position in plan.positions for point in (*position.arriving, *position.final)]


def _shape(plan: Plan) -> Shape:
    program, window, tracked = plan.program, plan.program.window, len(tracked_variables(plan.program))
    return Shape(
        program.variables + ITERATED * tracked,
        tracked,
        len(plan.repetitions),
        max(len(position.outgoing) for position in plan.positions),
        program.streams,
        len(program.partition),
        program.streams == 1,
        _DEMANDS[program.demand],
        window.size,
        *divmod(window.start, window.size),
        window.in_events,
        window.sliding,
        window.anchored,
    )


def _actions(edge: PlannedEdge) -> list[int]:
    loops = [edge.loop] if edge.loop != NONE else []
    crossed = ((LEAVE, edge.leaves), (LOOP, loops), (ENTER, edge.enters))
    return [
        number for crossing, repetitions in crossed for repetition in repetitions for number in (crossing, repetition)
    ]


def _track(plan: Plan, edge: PlannedEdge, tracked: Sequence[int]) -> list[int]:
    domains = [plan.domain_of[variable] for variable in tracked]
    inside = plan.positions[edge.target].inside
    return [int(flag) for domain in domains for flag in (domain in edge.begun, domain in inside)]


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
