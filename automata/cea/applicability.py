"""Whether complex event automata can evaluate a program: its steps are related by nothing but equality on a key."""

from __future__ import annotations

from automata.plan import expression as nodes
from automata.plan.automaton import START, Action, Automaton, Crossing, build_automaton
from automata.plan.expression import Expression
from automata.plan.facts import analyse
from automata.plan.program import Program

SYMBOLS_MAX = 60
"""A bit vector is one int64."""
COUNTS_MAX = 1 << 10
"""Iteration counts that the automaton may have to tell apart."""


def key_of(program: Program) -> tuple[int, ...]:
    """The variables that every run and every event that extends it share: PARTITION BY's, then those of each step."""
    joined = _in_every_step(program) - set(program.partition)
    return program.partition + tuple(sorted(joined))


def why_not_cea(program: Program) -> str | None:
    """What keeps complex event automata from evaluating the program, in words; None if nothing does."""
    kinds = {type(node) for node in nodes.walk(program.expression)}
    if program.streams > 1:
        return "events of several streams are not totally ordered"
    if program.conditions:
        return "a condition compares the steps by more than equality"
    if program.outputs:
        return "PREV, FIRST, LAST or an aggregate looks into the iterations"
    if nodes.Negation in kinds:
        return "it has a negation"
    if nodes.Optional in kinds:
        return "it has an optional step"
    if nodes.AnyOrder in kinds:
        return "it has an ALL( )"
    if nodes.Conjunction in kinds:
        return "a conjunction takes several events at one time"
    if program.partition and program.window.in_events:
        return "each partition counts the events of its window by itself"
    if len(program.symbols) > SYMBOLS_MAX or _counts(program.expression) > COUNTS_MAX:
        return "it has too many steps or too large a number of iterations"
    related = _related(program, build_automaton(program.expression))
    if related - set(key_of(program)):
        return "some steps but not all share a variable, so that it is not one key"
    return None


def _counts(node: Expression) -> int:
    """An upper bound of the iteration counts told apart at once."""
    match node:
        case nodes.Repetition(inner, at_least, at_most):
            return (at_most or at_least) * _counts(inner)
        case nodes.Step():
            return 1
    return sum(map(_counts, nodes.children(node)))


def _in_every_step(program: Program) -> set[int]:
    """Variables that every solution of every step binds, and that no new iteration forgets."""
    automaton = build_automaton(program.expression)
    used = {symbol for position in automaton.positions for symbol in position.symbols}
    common = set(range(program.variables)).intersection(*(program.symbols[symbol].certain for symbol in used))
    opening = {
        action.repetition
        for edge in automaton.edges
        if edge.source == START
        for action in edge.actions
        if action.crossing is Crossing.ENTER
    }
    looped = {
        action.repetition for edge in automaton.edges for action in edge.actions if action.crossing is Crossing.LOOP
    }
    return set() if opening & looped else common


def _related(program: Program, automaton: Automaton) -> set[int]:
    """The variables, PARTITION BY's apart, that a step may find bound when it is taken."""
    fixed = frozenset(program.partition)
    analysis = analyse(program, automaton)
    bound: list[frozenset[int]] = [frozenset()] * len(automaton.positions)
    entry: list[frozenset[int]] = [frozenset()] * len(automaton.repetitions)
    related: set[int] = set()
    changed = True
    while changed:
        changed = False
        for edge in automaton.edges:
            before = _crossed(bound[edge.source], edge.actions, entry, analysis.locals)
            scope = analysis.scope[edge.target] - fixed
            related |= before & scope
            changed |= not before | scope <= bound[edge.target]
            bound[edge.target] |= before | scope
    return related


def _crossed(
    bound: frozenset[int], actions: tuple[Action, ...], entry: list[frozenset[int]], local: tuple[frozenset[int], ...]
) -> frozenset[int]:
    """The variables still bound after an edge's actions; notes what is bound where a repetition is entered."""
    for action in actions:
        if action.crossing is Crossing.LOOP:
            bound -= local[action.repetition] - entry[action.repetition]
        elif action.crossing is Crossing.ENTER:
            entry[action.repetition] |= bound
    return bound
