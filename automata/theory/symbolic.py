"""Symbolic register match automata as immutable values, and what they mean (RMA Section 4).

Here automata are put together and taken apart (`closure.py`, `windowed.py`); a program's automaton runs in the
kernels as tables (`tables.py`). Both read one event a transition and write it to registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from automata.theory.formulas import NOW, Event, Formula, evaluate, read_by

Contents = tuple[tuple[str, Event], ...]
"""The registers that have been written, by name, and their events: gamma of RMA Definition 4.3."""


@dataclass(frozen=True, slots=True)
class Transition:
    """RMA Definition 4.2: (source, formula with its register selection) -> (target, writes, output).

    formula     None: an epsilon transition, which reads no event and writes nothing
    marks       the output: whether the event is part of the match
    """

    source: int
    formula: Formula | None
    target: int
    writes: frozenset[str] = frozenset()
    marks: bool = False


@dataclass(frozen=True, slots=True)
class SymbolicAutomaton:
    """RMA Definition 4.1; states are 0 … states - 1, registers are names."""

    states: int
    start: int
    finals: frozenset[int]
    transitions: tuple[Transition, ...]

    @property
    def registers(self) -> frozenset[str]:
        """All registers that a transition writes."""
        return frozenset(name for transition in self.transitions for name in transition.writes)

    def leaving(self) -> list[list[Transition]]:
        """The transitions from each state."""
        found: list[list[Transition]] = [[] for _ in range(self.states)]
        for transition in self.transitions:
            found[transition.source].append(transition)
        return found


@dataclass(frozen=True, slots=True)
class Configuration:
    """RMA Definition 4.3, with the events marked so far; the index of the next event is kept by who steps."""

    state: int
    contents: Contents
    marked: frozenset[int]


def matches(automaton: SymbolicAutomaton, stream: Sequence[Event]) -> list[frozenset[frozenset[int]]]:
    """For each event, the matches of the runs that accept once it has been read (RMA Definitions 4.4 and 4.5).

    Every run is followed: meant for small streams. A run accepts in a final state if its last event was marked.
    """
    return [
        frozenset(c.marked for c in now if c.state in automaton.finals and index in c.marked)
        for index, now in enumerate(_configurations(automaton, stream, marks=True))
    ]


def recognised(automaton: SymbolicAutomaton, stream: Sequence[Event]) -> list[bool]:
    """For each event, whether some run is in a final state once it has been read: outputs are not looked at.

    Configurations that differ in nothing but what they marked are one; those of an output-agnostic deterministic
    automaton are never more than one.
    """
    configurations = _configurations(automaton, stream, marks=False)
    return [any(c.state in automaton.finals for c in now) for now in configurations]


def _configurations(automaton: SymbolicAutomaton, stream: Sequence[Event], marks: bool) -> Iterator[set[Configuration]]:
    """Those of all runs once each event has been read, with or without what they marked."""
    leaving = automaton.leaving()
    now = _closed(leaving, {Configuration(automaton.start, (), frozenset())})
    for index, event in enumerate(stream):
        now = _successors(leaving, now, index, event)
        if not marks:
            now = {Configuration(c.state, c.contents, frozenset()) for c in now}
        now = _closed(leaving, now)
        yield now


def _successors(
    leaving: list[list[Transition]], now: Iterable[Configuration], index: int, event: Event
) -> set[Configuration]:
    reached = set()
    for configuration in now:
        registers = dict(configuration.contents)
        for transition in leaving[configuration.state]:
            if transition.formula is None or not evaluate(transition.formula, registers, event):
                continue
            contents = tuple(sorted({**registers, **dict.fromkeys(transition.writes, event)}.items()))
            marked = configuration.marked | {index} if transition.marks else configuration.marked
            reached.add(Configuration(transition.target, contents, marked))
    return reached


def _closed(leaving: list[list[Transition]], configurations: set[Configuration]) -> set[Configuration]:
    """With all that epsilon transitions lead to."""
    waiting, closed = list(configurations), set(configurations)
    while waiting:
        configuration = waiting.pop()
        for transition in leaving[configuration.state]:
            after = Configuration(transition.target, configuration.contents, configuration.marked)
            if transition.formula is None and after not in closed:
                closed.add(after)
                waiting.append(after)
    return closed


def certainly_written(automaton: SymbolicAutomaton) -> list[frozenset[str]]:
    """For each state, the registers that every trail to it has written (RMA Section 4)."""
    every = automaton.registers
    certain = [every] * automaton.states
    certain[automaton.start] = frozenset()
    changed = True
    while changed:
        changed = False
        for transition in automaton.transitions:
            arriving = certain[transition.target] & (certain[transition.source] | transition.writes)
            if arriving != certain[transition.target]:
                certain[transition.target] = arriving
                changed = True
    return certain


def reads_only_written(automaton: SymbolicAutomaton) -> bool:
    """The structural property of RMA Section 4: no formula can ever meet an empty register."""
    certain = certainly_written(automaton)
    return all(
        name in certain[transition.source]
        for transition in automaton.transitions
        if transition.formula is not None
        for name in read_by(transition.formula)
        if name != NOW
    )
