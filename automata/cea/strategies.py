"""Selection strategies as automata: the states of the determinised CEA (B Theorems 4 and 6).

A run is one marking of the events since its start. Its state, the *cell*, determines its futures: for ALL the
configurations reached by these labels on these events (an I/O-deterministic CEA by the subset construction), for
the others also the configurations that other markings with the same first event have reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import NamedTuple, Protocol

from automata.cea.configurations import FINAL, Configurations, States
from automata.plan.plan import Plan
from automata.plan.program import Selector

FIRST_MAX = 64
"""A greater LIMIT makes too many cells: all matches are enumerated."""
NOTHING: States = frozenset()
"""No state."""
Steps = tuple[Hashable | None, dict[int, Hashable]]
"""The cell after skipping an event (None: no run survives), and symbol → the cell after marking it so."""


class Strategy(Protocol):
    """One selection strategy over one automaton; `bits` are the symbols that an event has solutions for."""

    def begin(self, bits: int) -> dict[int, Hashable]:
        """symbol → the cell of a run whose first event is marked so."""

    def step(self, cell: Hashable, bits: int) -> Steps:
        """The cells of a run after an event."""

    def states(self, cell: Hashable) -> States:
        """The configurations of a run in the cell."""


def strategy_for(plan: Plan, configurations: Configurations) -> Strategy:
    """The construction of a plan's selector, or of what LIMIT or AFTER MATCH leaves (`automata.plan.pruning`)."""
    selector = plan.program.selector
    match selector:
        case Selector.ALL:
            first = first_of_start(plan)
            return Unselected(configurations) if first is None else Ranked(configurations, last=False, most=first)
        case Selector.STRICT:
            return Gapless(configurations)
        case Selector.NEXT | Selector.LAST:
            return Ranked(configurations, last=selector is Selector.LAST)
        case Selector.MAX:
            return Maximal(configurations)


def first_of_start(plan: Plan) -> int | None:
    """The markings with one start and end that are enumerated, without a selector; None: all of them."""
    first = plan.program.first
    return None if first is None or first > FIRST_MAX or plan.program.first_of_values else first


def _symbols(bits: int) -> Iterable[int]:
    return (symbol for symbol in range(bits.bit_length()) if bits >> symbol & 1)


class Unselected(Strategy):
    """ALL: the subset construction, a cell is a set of configurations."""

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations

    def begin(self, bits: int) -> dict[int, Hashable]:
        return self._taken(self._configurations.start, bits)

    def step(self, cell: Hashable, bits: int) -> Steps:
        states = self.states(cell)
        return self._configurations.keep(states, bits) or None, self._taken(states, bits)

    def states(self, cell: Hashable) -> States:
        assert isinstance(cell, frozenset)
        return cell

    def _taken(self, states: States, bits: int) -> dict[int, Hashable]:
        taken = {symbol: self._configurations.take(states, symbol) for symbol in _symbols(bits)}
        return {symbol: reached for symbol, reached in taken.items() if reached}


class Gapless(Unselected):
    """STRICT: once begun, a run may leave no event out (B Appendix C.3.1, the second copy of the automaton)."""

    def step(self, cell: Hashable, bits: int) -> Steps:
        return None, self._taken(self.states(cell), bits)


class _Place(NamedTuple):
    """A run of NEXT or LAST.

    order   the markings from one start, best first: for each the sets of configurations that its label words reach,
            without those that enough better markings have reached
    marking, own    the run's marking and configurations among them
    """

    order: tuple[tuple[States, ...], ...]
    marking: int
    own: States


class Ranked(Strategy):
    """NEXT and LAST: a marking keeps only configurations that no better one has reached (B Appendix C.3.2, C.3.3).

    Two markings in one configuration have the same futures, so the worse one is dropped. LIMIT n: NEXT's order is that
    of output, and a configuration is dropped that `most` = n better ones have reached.
    """

    def __init__(self, configurations: Configurations, last: bool, most: int = 1) -> None:
        self._configurations = configurations
        self._last = last
        self._most = most

    def begin(self, bits: int) -> dict[int, Hashable]:
        start = self._configurations.start
        reached = {symbol: self._configurations.take(start, symbol) for symbol in _symbols(bits)}
        order = (_distinct(reached.values()),)
        return {symbol: _Place(order, 0, own) for symbol, own in reached.items() if own}

    def step(self, cell: Hashable, bits: int) -> Steps:
        assert isinstance(cell, _Place)
        order: list[tuple[States, ...]] = []
        claimed: set[int] = set()
        reached_by: Counter[int] = Counter()
        skipped: tuple[int, States] | None = None
        marked: dict[int, tuple[int, States]] = {}
        for number, marks in self._by_rank(len(cell.order)):
            taken = self._moved(cell.order[number], bits, marks, claimed)
            reached = _distinct(taken.values())
            if not reached:
                continue
            if number == cell.marking and marks:
                marked = {s: (len(order), own) for (old, s), own in taken.items() if old == cell.own and own}
            elif number == cell.marking and taken[cell.own, -1]:
                skipped = (len(order), taken[cell.own, -1])
            order.append(reached)
            reached_by.update(NOTHING.union(*reached))
            claimed = {state for state, markings in reached_by.items() if markings >= self._most}
        whole = tuple(order)
        return (
            None if skipped is None else _Place(whole, *skipped),
            {symbol: _Place(whole, *place) for symbol, place in marked.items()},
        )

    def states(self, cell: Hashable) -> States:
        assert isinstance(cell, _Place)
        return cell.own

    def _by_rank(self, markings: int) -> list[tuple[int, bool]]:
        """The successors of each marking, best first: number of the marking, and whether it takes the event.

        NEXT compares the smallest position in which two markings differ, LAST the largest.
        """
        if self._last:
            return [(number, marks) for marks in (True, False) for number in range(markings)]
        return [(number, marks) for number in range(markings) for marks in (True, False)]

    def _moved(
        self, marking: tuple[States, ...], bits: int, marks: bool, claimed: set[int]
    ) -> dict[tuple[States, int], States]:
        if not marks:
            return {(states, -1): self._configurations.keep(states, bits) - claimed for states in marking}
        return {
            (states, symbol): self._configurations.take(states, symbol) - claimed
            for states in marking
            for symbol in _symbols(bits)
        }


class _Rivalled(NamedTuple):
    """A run of MAX: configurations reached by its labels, by its marking under any labels, and by larger markings."""

    own: States
    marking: States
    larger: States


class Maximal(Strategy):
    """MAX: a run keeps only configurations that no marking with more events has reached (B Appendix C.3.4)."""

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations

    def begin(self, bits: int) -> dict[int, Hashable]:
        start = self._configurations.start
        marking = self._take_any(start, bits)
        reached = {symbol: self._configurations.take(start, symbol) for symbol in _symbols(bits)}
        return {symbol: _Rivalled(own, marking, NOTHING) for symbol, own in reached.items() if own}

    def step(self, cell: Hashable, bits: int) -> Steps:
        assert isinstance(cell, _Rivalled)
        keep = self._configurations.keep
        larger = self._take_any(cell.larger, bits)
        marking = self._take_any(cell.marking, bits)
        marked = {symbol: self._configurations.take(cell.own, symbol) - larger for symbol in _symbols(bits)}
        passed = (keep(cell.larger, bits) | larger | marking) - {FINAL}
        own = keep(cell.own, bits) - passed
        return (
            _Rivalled(own, keep(cell.marking, bits) - passed, passed) if own else None,
            {s: _Rivalled(reached, marking - larger, larger - {FINAL}) for s, reached in marked.items() if reached},
        )

    def states(self, cell: Hashable) -> States:
        assert isinstance(cell, _Rivalled)
        return cell.own

    def _take_any(self, states: States, bits: int) -> States:
        return NOTHING.union(*(self._configurations.take(states, symbol) for symbol in _symbols(bits)))


def _distinct(reached: Iterable[States]) -> tuple[States, ...]:
    return tuple(sorted({states for states in reached if states}, key=sorted))
