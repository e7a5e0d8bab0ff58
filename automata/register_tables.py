"""The register automaton of a program as arrays that a kernel walks, or the reason why there is none.

Tables are int64 matrices, one row an item, short rows filled up with NONE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from automata.analysis import Analysis, Check, analyse
from automata.expression import Absent, AnyOrder, Chain, Contiguity, Either, Expression, Iterate, Maybe, Take
from automata.nfa import Accept, Action, Automaton, Crossing, build_automaton
from automata.program import Ids, Program, Window

NONE = -1
_UNBOUNDED = 1 << 60
_MARKERS_MAX = 62
"""Markers are bits of one register."""

STRICT, NEXT, ANY = 0, 1, 2
_OPERATORS = {Contiguity.STRICT: STRICT, Contiguity.NEXT: NEXT, Contiguity.ANY: ANY}
ENTER, LOOP, LEAVE = 0, 1, 2
_CROSSINGS = {Crossing.ENTER: ENTER, Crossing.LOOP: LOOP, Crossing.LEAVE: LEAVE}


class Tables(NamedTuple):
    """One program.

    by symbol       `edges` into the positions that take it; `scope`: its variables, in the order of a letter's values
    by edge         source, target, slot among the edges of its source, operator; `keys`: the variables by which runs
                    and events are joined; `blockers`: slots whose taking ends skip-till-next; `actions`: crossing,
                    repetition, crossing, repetition, …
    by position     `outgoing` edges, `strict_only`, `checks`, `finals` (numbers of checks), `accepts`, `marker_bits`
    by check        `condition`, `marker` (a bit; 0 at home), `waiting` variables
    by accept       `leaves`: the repetitions that are left
    by repetition   at_least, at_most; `locals`: variables that an iteration binds afresh
    by condition    `references`: the variables it reads
    partition       the variables of PARTITION BY
    """

    edges: Ids
    scope: Ids
    source: Ids
    target: Ids
    slot: Ids
    operator: Ids
    keys: Ids
    blockers: Ids
    actions: Ids
    outgoing: Ids
    strict_only: Ids
    checks: Ids
    finals: Ids
    accepts: Ids
    marker_bits: Ids
    condition: Ids
    marker: Ids
    waiting: Ids
    leaves: Ids
    at_least: Ids
    at_most: Ids
    locals: Ids
    references: Ids
    partition: Ids


class Shape(NamedTuple):
    """Numbers that the kernel needs throughout.

    slots           the greatest number of edges that leave one position
    total           events are totally ordered: one stream
    size, start, in_events, sliding, anchored   of the window
    """

    variables: int
    repetitions: int
    slots: int
    streams: int
    keys: int
    total: bool
    size: int
    start: int
    in_events: bool
    sliding: bool
    anchored: bool


def why_not(program: Program) -> str | None:
    """Why the register automaton's kernel does not take the program; None if it does."""
    outside = _outside(program.expression)
    if outside is not None:
        return outside
    if program.outputs or any(not isinstance(r, int) for c in program.conditions for r in c.references):
        return "PREV, FIRST, LAST and aggregates look at all iterations of a repetition"
    automaton = build_automaton(program.expression)
    used = {symbol for position in automaton.positions for symbol in position.symbols}
    for condition in program.conditions:
        if condition.symbol in used and condition.needs_event:
            return f"a condition of {program.symbols[condition.symbol].name} looks into its event's graph"
    analysis = analyse(program, automaton)
    checks = [check for row in (*analysis.checks, *analysis.final) for check in row]
    if any(check.iterated for check in checks):
        return "a condition inside a repetition waits for a step outside it"
    if len(analysis.markers) > _MARKERS_MAX:
        return f"more than {_MARKERS_MAX} conditions wait for later steps"
    return None


def _outside(expression: Expression) -> str | None:
    """The first construct that the kernel does not have."""
    match expression:
        case Take(symbols):
            return "a conjunction takes several events in one step" if len(symbols) > 1 else None
        case Chain(items, _) | Either(items) | AnyOrder(items):
            if isinstance(expression, AnyOrder):
                return "the members of ALL( ) have no order"
            return next((reason for item in items if (reason := _outside(item))), None)
        case Iterate(inner):
            return _outside(inner)
        case Maybe():
            return "an optional step stands for a negation as well"
        case Absent():
            return "a negation looks at events between the steps"


def build_tables(program: Program) -> tuple[Tables, Shape]:
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
    slots = [outgoing[edge.source].index(number) for number, edge in enumerate(edges)]
    tables = Tables(
        edges=_padded(into),
        scope=_padded([sorted(symbol.scope) for symbol in program.symbols]),
        source=_column(edge.source for edge in edges),
        target=_column(edge.target for edge in edges),
        slot=_column(slots),
        operator=_column(_OPERATORS[edge.operator] for edge in edges),
        keys=_padded([_key(program, automaton, analysis, number) for number in range(len(edges))]),
        blockers=_padded([[slots[n] for n in (number, *edge.rivals)] for number, edge in enumerate(edges)]),
        actions=_padded([_flat(edge.actions) for edge in edges]),
        outgoing=_padded(outgoing),
        strict_only=_column(
            int(p > 0 and all(edges[n].operator is Contiguity.STRICT for n in outgoing[p])) for p in places
        ),
        checks=_padded(checks.arriving),
        finals=_padded(checks.final),
        accepts=_padded([[n for n, a in enumerate(automaton.accepts) if a.position == p] for p in places]),
        marker_bits=_column(
            sum(1 << number for number, (_, home) in enumerate(analysis.markers) if home == p) for p in places
        ),
        condition=_column(check.condition for check in checks.all),
        marker=_column(0 if check.at_home else 1 << check.marker for check in checks.all),
        waiting=_padded([sorted(check.waiting) for check in checks.all]),
        leaves=_padded([_left(accept) for accept in automaton.accepts]),
        at_least=_column(repetition.at_least for repetition in automaton.repetitions),
        at_most=_column(
            _UNBOUNDED if repetition.at_most is None else repetition.at_most for repetition in automaton.repetitions
        ),
        locals=_padded([sorted(variables) for variables in analysis.locals]),
        references=_padded([[r for r in c.references if isinstance(r, int)] for c in program.conditions]),
        partition=_column(program.partition),
    )
    return tables, _shape(program, automaton, program.window)


def _shape(program: Program, automaton: Automaton, window: Window) -> Shape:
    return Shape(
        program.variables,
        len(automaton.repetitions),
        max(len(numbers) for numbers in automaton.outgoing),
        program.streams,
        len(program.partition),
        program.streams == 1,
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


def _column(numbers: Iterable[int]) -> Ids:
    return np.array(list(numbers), dtype=np.int64)


def _padded(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """One row each, and at least one NONE behind the longest."""
    table = np.full((max(1, len(rows)), 1 + max((len(row) for row in rows), default=0)), NONE, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table
