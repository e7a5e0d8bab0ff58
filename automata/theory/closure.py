"""Register match automata from expressions: every construction of RMA Theorem 5.1, and closure (RMA Theorem 5.5).

Each construction is a function from automata to an automaton. A register has the name of the variable whose event it
holds, so that a filter over variables is a formula over registers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from automata.theory.formulas import NOW, TRUE, Formula, both, read_by, renamed
from automata.theory.symbolic import SymbolicAutomaton, Transition, certainly_written


def event_as(variable: str, formula: Formula = TRUE, skips: bool = True) -> SymbolicAutomaton:
    """`R AS x FILTER f(x)`: one event for which the unary formula holds, written to the variable's register.

    skips   any events may come before it, which are not marked: a loop on the start state
    """
    taken = Transition(0, formula, 1, frozenset({variable}), marks=True)
    loop = (Transition(0, TRUE, 0),) if skips else ()
    return SymbolicAutomaton(2, 0, frozenset({1}), (*loop, taken))


def filtered(automaton: SymbolicAutomaton, formula: Formula) -> SymbolicAutomaton:
    """`phi FILTER f(x1, …, xn)`: the formula where the last of its variables is bound (RMA Algorithms 1 and 3).

    A variable is bound where its register is written. Raises ValueError if some variable is never bound, or none of
    the transitions that bind one comes after those of all others: the expression is not bounded (RMA Definition 3.2).
    """
    variables = frozenset(read_by(formula)) - {NOW}
    certain = certainly_written(automaton)
    transitions, placed = [], False
    for transition in automaton.transitions:
        bound = transition.writes & variables
        if bound and transition.formula is not None and variables <= certain[transition.source] | bound:
            own = renamed(formula, dict.fromkeys(bound, NOW))
            transition = replace(transition, formula=both(transition.formula, own))
            placed = True
        transitions.append(transition)
    if not placed:
        raise ValueError(f"no transition binds the last of {', '.join(sorted(variables))}: not a bounded expression")
    return replace(automaton, transitions=tuple(transitions))


def union(left: SymbolicAutomaton, right: SymbolicAutomaton) -> SymbolicAutomaton:
    """`phi1 OR phi2`: the matches of both."""
    first, second = _moved(left, 1), _moved(right, 1 + left.states)
    entries = (Transition(0, None, first.start), Transition(0, None, second.start))
    return without_epsilon(
        SymbolicAutomaton(
            1 + left.states + right.states,
            0,
            first.finals | second.finals,
            (*entries, *first.transitions, *second.transitions),
        )
    )


def concatenation(left: SymbolicAutomaton, right: SymbolicAutomaton) -> SymbolicAutomaton:
    """`phi1 ; phi2`: a match of the first, then one of the second over the events that follow."""
    second = _moved(right, left.states)
    bridges = tuple(Transition(final, None, second.start) for final in sorted(left.finals))
    return without_epsilon(
        SymbolicAutomaton(
            left.states + right.states, left.start, second.finals, (*left.transitions, *bridges, *second.transitions)
        )
    )


def iteration(automaton: SymbolicAutomaton) -> SymbolicAutomaton:
    """`phi +`: one match or several in succession, each with registers of its own."""
    back = tuple(Transition(final, None, automaton.start) for final in sorted(automaton.finals))
    return without_epsilon(replace(automaton, transitions=(*automaton.transitions, *back)))


def intersection(left: SymbolicAutomaton, right: SymbolicAutomaton) -> SymbolicAutomaton:
    """The matches that both have: the product, whose transitions mark together or not at all.

    Both have registers at the same time, so that those of the second are renamed.
    """
    left, right = without_epsilon(left), without_epsilon(right)
    names = {name: _fresh(name, left.registers | right.registers) for name in right.registers & left.registers}
    leaving_left, leaving_right = left.leaving(), right.leaving()
    numbers = {(left.start, right.start): 0}
    waiting, transitions = [(left.start, right.start)], []
    while waiting:
        pair = waiting.pop()
        for one in leaving_left[pair[0]]:
            for other in leaving_right[pair[1]]:
                if one.marks is not other.marks or one.formula is None or other.formula is None:
                    continue
                target = (one.target, other.target)
                if target not in numbers:
                    numbers[target] = len(numbers)
                    waiting.append(target)
                formula = both(one.formula, renamed(other.formula, names))
                writes = one.writes | {names.get(name, name) for name in other.writes}
                transitions.append(Transition(numbers[pair], formula, numbers[target], writes, one.marks))
    finals = frozenset(n for (p, q), n in numbers.items() if p in left.finals and q in right.finals)
    return SymbolicAutomaton(len(numbers), 0, finals, tuple(transitions))


def without_epsilon(automaton: SymbolicAutomaton) -> SymbolicAutomaton:
    """The same matches without epsilon transitions, and without states that nothing leads to.

    Epsilon transitions leave registers alone, so that what they lead to can be done at once.
    """
    leaving = automaton.leaving()
    closures = [_reached(state, leaving, epsilon=True) for state in range(automaton.states)]
    transitions = tuple(
        replace(taken, source=state)
        for state in range(automaton.states)
        for taken in dict.fromkeys(t for inner in sorted(closures[state]) for t in leaving[inner])
        if taken.formula is not None
    )
    finals = frozenset(state for state in range(automaton.states) if closures[state] & automaton.finals)
    return trimmed(replace(automaton, finals=finals, transitions=transitions))


def trimmed(automaton: SymbolicAutomaton) -> SymbolicAutomaton:
    """Without the states that the start state does not lead to."""
    kept = sorted(_reached(automaton.start, automaton.leaving(), epsilon=False))
    numbers = {state: number for number, state in enumerate(kept)}
    transitions = tuple(
        replace(t, source=numbers[t.source], target=numbers[t.target])
        for t in dict.fromkeys(automaton.transitions)
        if t.source in numbers
    )
    finals = frozenset(numbers[state] for state in automaton.finals if state in numbers)
    return SymbolicAutomaton(len(kept), numbers[automaton.start], finals, transitions)


def _reached(state: int, leaving: list[list[Transition]], epsilon: bool) -> frozenset[int]:
    """The state and all that it leads to, by epsilon transitions alone or by all."""
    waiting, reached = [state], {state}
    while waiting:
        for transition in leaving[waiting.pop()]:
            if (transition.formula is None or not epsilon) and transition.target not in reached:
                reached.add(transition.target)
                waiting.append(transition.target)
    return frozenset(reached)


def _moved(automaton: SymbolicAutomaton, by: int) -> SymbolicAutomaton:
    """The same automaton with the numbers of its states shifted."""
    transitions = tuple(replace(t, source=t.source + by, target=t.target + by) for t in automaton.transitions)
    finals = frozenset(state + by for state in automaton.finals)
    return SymbolicAutomaton(automaton.states + by, automaton.start + by, finals, transitions)


def _fresh(name: str, taken: Iterable[str]) -> str:
    """A name that no register has."""
    known = set(taken)
    while name in known:
        name += "'"
    return name
