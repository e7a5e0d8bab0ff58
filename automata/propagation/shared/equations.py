"""The equations of a group: each quantity that is kept of a lane, and what an event adds to it.

A count, sum or extreme of a lane is one *quantity*. An event changes it by terms that are linear in the quantities
before it (for extremes: by the better one of them). So quantities with equal equations are equal for ever, whichever
queries they belong to: they are one. That unites equal prefixes, Kleene parts and whole patterns, and equal aggregates.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

from automata.plan.plan import Plan
from automata.propagation.kernel_arrays import ADD, KEEP, SET
from automata.propagation.kernel_rules import effect_of
from automata.propagation.layout import Extreme, Linear, layout_of
from automata.propagation.machine import Move, machine_of
from automata.propagation.measures import Measured
from automata.propagation.shared.members import Member


class Kind(IntEnum):
    """The array of a quantity: integers of which only counts are added, other integers, and the best numbers."""

    COUNT = 0
    SUM = 1
    BEST = 2


class Op(IntEnum):
    """The effect of a term on its target.

    COUNT   a count is added; COUNT_IF: if the solution binds the variable
    SUM     a sum is added; PRODUCT: a count, times the solution's number
    BEST    the better one; VALUE: the better one of the target and the solution's number, if a count is not 0
    """

    COUNT = 0
    COUNT_IF = 1
    SUM = 2
    PRODUCT = 3
    BEST = 4
    VALUE = 5


class Quantity(NamedTuple):
    """A number kept of a lane of a member; `measure`, by the group's variables: None is the count of its matches."""

    member: int
    lane: int
    measure: Linear | Extreme | None = None

    @property
    def kind(self) -> Kind:
        """Its array."""
        match self.measure:
            case None:
                return Kind.COUNT
            case Linear(counts=counts):
                return Kind.COUNT if counts else Kind.SUM
            case Extreme():
                return Kind.BEST


class Term(NamedTuple):
    """An event with a symbol changes a quantity by another one.

    column      of the solution's numbers, or None; all extremes of a variable read the column of one of them
    """

    symbol: int
    op: Op
    source: Quantity
    column: tuple[int, bool] | Extreme | None


@dataclass(frozen=True, slots=True)
class Equation:
    """All that becomes of a quantity.

    opening     its value when a window begins
    clears      symbols of the group that set it to nothing before terms are added
    strict      so does an event of which the cell was not told
    """

    opening: int
    clears: frozenset[int]
    strict: bool
    terms: tuple[Term, ...]


def equations_of(members: Mapping[int, Member], symbols: frozenset[int]) -> dict[Quantity, Equation]:
    """The equations of all quantities that some member's aggregates need; `symbols` are those of the group."""
    found: dict[Quantity, Equation] = {}
    for number, member in members.items():
        own = _Equations(number, member, symbols)
        waiting = list(outputs_of(number, member))
        while waiting:
            quantity = waiting.pop()
            if quantity not in found:
                found[quantity] = equation = own.of(quantity)
                waiting += [term.source for term in equation.terms]
    return found


def outputs_of(number: int, member: Member) -> Iterator[Quantity]:
    """The quantities that a member's aggregates are read from."""
    for lane in member.machine.ends:
        yield from quantities_of(number, member, lane)


def quantities_of(number: int, member: Member, lane: int) -> Iterator[Quantity]:
    """The quantities of one lane: its count, then those of the aggregates in the order of the member's layout."""
    yield Quantity(number, lane)
    measures: tuple[Linear | Extreme, ...] = (*member.layout.linear, *member.layout.extreme)
    for measure in measures:
        yield Quantity(number, lane, replace(measure, variable=member.variables[measure.variable]))


class _Equations:
    """The equations of one member."""

    def __init__(self, number: int, member: Member, symbols: frozenset[int]) -> None:
        self._number = number
        self._member = member
        self._machine = member.machine
        self._local = {there: here for here, there in member.variables.items()}
        partitioned = member.frame.partitioned
        self._all = frozenset(map(member.symbols.__getitem__, self._machine.symbols)) if partitioned else symbols
        self._gaps = not partitioned
        self._into: dict[int, list[tuple[int, Move]]] = defaultdict(list)
        for symbol, moves in self._machine.moves.items():
            for move in moves:
                for lane in self._machine.entered[move.target]:
                    self._into[lane].append((symbol, move))

    def of(self, quantity: Quantity) -> Equation:
        """The equation of one quantity."""
        lane = self._machine.lanes[quantity.lane]
        clears = frozenset(self._member.symbols[symbol] for symbol in lane.killers)
        opening = int(quantity.measure is None and quantity.lane in self._machine.opening)
        terms = [term for symbol, move in self._into[quantity.lane] for term in self._terms(quantity, symbol, move)]
        return Equation(opening, self._all if lane.strict else clears, lane.strict and self._gaps, tuple(terms))

    def _terms(self, quantity: Quantity, symbol: int, move: Move) -> Iterator[Term]:
        measure, shared = quantity.measure, self._member.symbols[symbol]
        count, same = Quantity(self._number, move.lane), Quantity(self._number, move.lane, measure)
        if measure is None:
            yield Term(shared, Op.COUNT, count, None)
            return
        known = self._member.plan.program.symbols[symbol]
        variable = self._local[measure.variable]
        effect = effect_of(known.scope, move, variable, measure.every)
        column: tuple[int, bool] | Extreme
        match measure:
            case Extreme():
                kept, taken, column = Op.BEST, Op.VALUE, Extreme(measure.variable, False, False)
            case Linear(counts=False):
                kept, taken, column = Op.SUM, Op.PRODUCT, (measure.variable, False)
            case Linear():
                certain = variable in known.certain
                kept, taken, column = Op.COUNT, Op.COUNT if certain else Op.COUNT_IF, (measure.variable, True)
        if effect in (KEEP, ADD):
            yield Term(shared, kept, same, None)
        if effect in (SET, ADD):
            yield Term(shared, taken, count, None if taken is Op.COUNT else column)


def merged(equations: Mapping[Quantity, Equation]) -> dict[Quantity, int]:
    """Quantity → the number of its class: the coarsest classes of which all have equal equations.

    Classes are told apart by what is known of them so far until none falls apart any more; the fewest events after
    which a quantity can be anything are known at once. `apart`: member → what its quantities have to have in common.
    """
    depths = _depths(equations)
    codes = _numbers((t.symbol, t.op, t.column) for e in equations.values() for t in e.terms)
    terms = {q: [(codes[t.symbol, t.op, t.column], t.source) for t in e.terms] for q, e in equations.items()}
    classes = _classes(
        {q: (depths.get(q), q.kind, _greatest(q.measure), e.opening, e.clears, e.strict) for q, e in equations.items()}
    )
    count, before = len(set(classes.values())), 0
    while count > before:
        told = {q: (classes[q], *sorted([(code, classes[s]) for code, s in some])) for q, some in terms.items()}
        classes = _classes(told)
        count, before = len(set(classes.values())), count
    return classes


def _depths(equations: Mapping[Quantity, Equation]) -> dict[Quantity, int]:
    """The fewest events that lead from the opening to each quantity; those that nothing leads to are missing."""
    after: dict[Quantity, list[Quantity]] = defaultdict(list)
    for quantity, equation in equations.items():
        for term in equation.terms:
            after[term.source].append(quantity)
    depths = {quantity: 0 for quantity, equation in equations.items() if equation.opening}
    waiting = deque(depths)
    while waiting:
        quantity = waiting.popleft()
        for each in after[quantity]:
            if each not in depths:
                depths[each] = depths[quantity] + 1
                waiting.append(each)
    return depths


def shapes_of(equations: Mapping[Quantity, Equation], classes: Mapping[Quantity, int]) -> dict[int, int]:
    """Class → the number of its shape: of one shape are those with like terms of whatever quantities, or of itself."""
    told: dict[int, Hashable] = {}
    for quantity, equation in equations.items():
        own = classes[quantity]
        if own not in told:
            told[own] = frozenset(
                Counter((t.symbol, t.op, t.column, classes[t.source] == own) for t in equation.terms).items()
            )
    numbers = _numbers(told.values())
    return {own: numbers[shape] for own, shape in told.items()}


def _greatest(measure: Linear | Extreme | None) -> bool:
    return isinstance(measure, Extreme) and measure.greatest


def _numbers(values: Iterable[Hashable]) -> dict[Hashable, int]:
    numbers: dict[Hashable, int] = {}
    for value in values:
        numbers.setdefault(value, len(numbers))
    return numbers


def _classes(told: Mapping[Quantity, Hashable]) -> dict[Quantity, int]:
    numbers = _numbers(told.values())
    return {quantity: numbers[one] for quantity, one in told.items()}


def size_of(plan: Plan, measured: Sequence[Measured]) -> int:
    """The quantities of a query for each open window, before any are united."""
    layout = layout_of(measured)
    assert layout is not None, measured
    return len(machine_of(plan).lanes) * (1 + len(layout.linear) + len(layout.extreme))
