"""Windowed register match automata: unrolled, made deterministic, complemented (RMA Section 6, Algorithms 5-8).

Without a window no automaton with one run can do (RMA Theorem 6.2): it would have to remember every event. Within a
count window the walks are finite, each with registers of its own, and a power-set construction has room for all.

One thing is done otherwise than in the paper: it adds a loop to the start state of the unrolled automaton, whose
first register a second event then overwrites while a walk over the first one still reads it. Here walks that begin
at events `size` apart, and no others, share registers: the start state is a ring of that many states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from automata.theory.closure import trimmed, without_epsilon
from automata.theory.formulas import TRUE, Every, Formula, Not, both, renamed
from automata.theory.symbolic import SymbolicAutomaton, Transition


@dataclass(frozen=True, slots=True)
class _Walk:
    """A node of the unrolled automaton: a copy of `state`, and for each register the copy that was written last."""

    number: int
    state: int
    copies: dict[str, str]


def unrolled(automaton: SymbolicAutomaton, size: int) -> SymbolicAutomaton:
    """The walks of at most `size` events that begin with a marked one, as a tree (RMA Algorithms 7 and 8).

    Every transition of the tree writes registers that no other writes.
    """
    plain = without_epsilon(automaton)
    leaving, useful = plain.leaving(), _distances(plain)
    front, transitions, finals, states = [_Walk(0, plain.start, {})], [], set[int](), 1
    for length in range(1, size + 1):
        grown = []
        for walk in front:
            for taken in leaving[walk.state]:
                beyond = useful[taken.target] > size - length
                if taken.formula is None or beyond or (length == 1 and not taken.marks):
                    continue
                copies = {name: f"{name}.{states}" for name in taken.writes}
                formula = renamed(taken.formula, walk.copies)
                writes = frozenset(copies.values())
                transitions.append(Transition(walk.number, formula, states, writes, taken.marks))
                if taken.target in plain.finals and taken.marks:
                    finals.add(states)
                grown.append(_Walk(states, taken.target, {**walk.copies, **copies}))
                states += 1
        front = grown
    return SymbolicAutomaton(states, 0, frozenset(finals), tuple(transitions))


def over_streams(automaton: SymbolicAutomaton, size: int) -> SymbolicAutomaton:
    """The matches, anywhere in a stream, whose last and first events are less than `size` apart (RMA Lemma 6.5)."""
    tree = unrolled(automaton, size)
    ring = [Transition(place, TRUE, (place + 1) % size) for place in range(size)]
    branches: list[Transition] = []
    finals: set[int] = set()
    for place in range(size):
        first = size + place * (tree.states - 1) - 1
        names = {name: f"{name}@{place}" for name in tree.registers}
        for taken in tree.transitions:
            assert taken.formula is not None
            source = place if taken.source == tree.start else first + taken.source
            writes = frozenset(names[name] for name in taken.writes)
            formula = renamed(taken.formula, names)
            branches.append(Transition(source, formula, first + taken.target, writes, taken.marks))
        finals |= {first + state for state in tree.finals}
    return trimmed(SymbolicAutomaton(size + size * (tree.states - 1), 0, frozenset(finals), (*ring, *branches)))


def determinised(automaton: SymbolicAutomaton, by_output: bool = False) -> SymbolicAutomaton:
    """At most one transition applies, of each output or at all (RMA Algorithm 5; Definitions 5.3 and 6.1).

    automaton   of `unrolled` or `over_streams`: no two runs may write one register at different events
    by_output   keep the matches (Definition 5.3); else only whether there is one is kept (Definition 6.1), and
                exactly one transition applies

    A state is a set of states; its transitions have min-terms for formulas: each formula or its negation.
    """
    assert _disjoint(automaton), "two transitions write one register"
    leaving = automaton.leaving()
    start = frozenset({automaton.start})
    numbers, waiting, transitions = {start: 0}, [start], []
    while waiting:
        states = waiting.pop()
        possible = [transition for state in sorted(states) for transition in leaving[state]]
        for output in (True, False) if by_output else (None,):
            chosen = [t for t in possible if output is None or t.marks is output]
            for minterm, taken in _min_terms(chosen):
                if by_output and not taken:
                    continue
                target = frozenset(t.target for t in taken)
                if target not in numbers:
                    numbers[target] = len(numbers)
                    waiting.append(target)
                writes = frozenset(name for t in taken for name in t.writes)
                marks = any(t.marks for t in taken)
                transitions.append(Transition(numbers[states], minterm, numbers[target], writes, marks))
    finals = frozenset(number for states, number in numbers.items() if states & automaton.finals)
    return SymbolicAutomaton(len(numbers), 0, finals, tuple(transitions))


def complement(deterministic: SymbolicAutomaton) -> SymbolicAutomaton:
    """A recogniser of what an output-agnostic deterministic automaton does not recognise.

    Every event has a transition there, so that states change sides; without a window there is no such automaton
    (RMA Theorem 5.5).
    """
    return replace(deterministic, finals=frozenset(range(deterministic.states)) - deterministic.finals)


def _min_terms(transitions: list[Transition]) -> list[tuple[Formula, list[Transition]]]:
    """Mutually exclusive formulas, one of which always holds, each with the transitions that then apply."""
    formulas = list(dict.fromkeys(t.formula for t in transitions if t.formula is not None and t.formula != TRUE))
    found = []
    for signs in product((True, False), repeat=len(formulas)):
        minterm: Formula = Every()
        for formula, holds in zip(formulas, signs, strict=True):
            minterm = both(minterm, formula if holds else Not(formula))
        true = {formula for formula, holds in zip(formulas, signs, strict=True) if holds} | {TRUE}
        found.append((minterm, [t for t in transitions if t.formula in true]))
    return found


def _distances(automaton: SymbolicAutomaton) -> list[float]:
    """For each state, how many events it takes at least to a final state."""
    far = [0.0 if state in automaton.finals else float("inf") for state in range(automaton.states)]
    for _ in range(automaton.states):
        for transition in automaton.transitions:
            far[transition.source] = min(far[transition.source], far[transition.target] + 1)
    return far


def _disjoint(automaton: SymbolicAutomaton) -> bool:
    """No register is written by two transitions, so that runs in one state of sets cannot be at odds about it."""
    written = [name for transition in automaton.transitions for name in transition.writes]
    return len(written) == len(set(written))
