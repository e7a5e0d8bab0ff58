"""Random programs that lazy evaluation covers, with streams for them, below the level of RDF.

Every symbol binds the key (variable 0), some only at times, and a small number of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from automata.plan import expression as nodes
from automata.plan.expression import (
    AnyOrder,
    Choice,
    Conjunction,
    Contiguity,
    Expression,
    Negation,
    Optional,
    Repetition,
    Step,
)
from automata.plan.program import (
    Condition,
    FoldValue,
    IterationValue,
    Program,
    Reference,
    Selector,
    Skip,
    Symbol,
    Window,
)
from automata.runs.rows.conditions import Test
from automata.slices.events import Events, SymbolSolutions
from automata.values import UNBOUND, Ids, Mask, Match

KEY = 0
WINDOWS = (
    Window(6, False, True),
    Window(8, False, False),
    Window(8, False, False, start=2, anchored=True),
    Window(5, True, True),
    Window(7, True, False),
    Window(100, False, False),
)
_ANY = Contiguity.ANY


@dataclass(frozen=True, slots=True)
class AtMost:
    """The host: a condition holds where its references are bound and ascend. Aggregates count."""

    conditions: tuple[Condition, ...]

    def holds(self, condition: int, columns: Mapping[Reference, Ids], rows: int) -> Mask:
        """See `automata.plan.program.Host`."""
        values = [columns[reference] for reference in self.conditions[condition].references]
        held = np.ones(rows, dtype=np.bool_)
        for column in values:
            held &= column != UNBOUND
        for low, high in pairwise(values):
            held &= low <= high
        return held

    def fold(self, value: FoldValue, offsets: Ids, ids: Ids) -> Ids:
        """How many values there are, and one: 0 would be unbound."""
        return np.diff(offsets) + 1

    def test(self, condition: int) -> Test:
        """See `automata.runs.rows.conditions.TestHost`."""
        references = self.conditions[condition].references
        iterated = [reference for reference in references if not isinstance(reference, int)]

        def holds(values: Sequence[int]) -> bool:
            plain = values[: len(values) - len(iterated)]
            more = dict(zip(iterated, values[len(plain) :], strict=True))
            read = [plain[r] if isinstance(r, int) else more[r] for r in references]
            return UNBOUND not in read and all(low <= high for low, high in pairwise(read))

        return holds

    def fold_one(self, value: FoldValue, ids: tuple[int, ...]) -> int:
        """See `fold`."""
        return len(ids) + 1

    def estimate(self, condition: int, value: FoldValue) -> None:
        """Nothing can be told from an estimate."""

    def fold_number(self, value: FoldValue, ids: Sequence[int]) -> float:
        """Nothing is estimated."""
        return float("nan")

    def texts(self, matches: Sequence[Match]) -> Sequence[tuple[str, ...]]:
        """What tells matches of the same events apart."""
        return [tuple(map(str, match.registers)) for match in matches]


@dataclass(frozen=True, slots=True)
class _Sequences:
    """Draws expressions; every symbol is used once at most."""

    draw: DrawFn
    symbols: list[int]

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def chain(self, size: int, depth: int) -> Expression:
        anchor = self.draw(st.integers(0, size - 1))
        items = [self.item(depth, fixed=index == anchor) for index in range(size)]
        return nodes.Sequence(tuple(items), (_ANY,) * (size - 1)) if size > 1 else items[0]

    def item(self, depth: int, fixed: bool) -> Expression:
        if not fixed and self.chance(45):
            return Negation(self.take()) if self.chance(50) else Optional(self.item(1, fixed=True))
        kind = self.draw(st.sampled_from(["take"] * 6 + ["repeat"] * 2 + ["both", "either", "all"]))
        match kind if depth == 0 else "take":
            case "repeat":
                least = self.draw(st.integers(1, 2))
                return Repetition(self.take(), least, self.draw(st.sampled_from([least, least + 1, 3, None])), _ANY)
            case "both":
                return Conjunction((self.take(), self.take()))
            case "either":
                return Choice((self.take(), self.chain(2, 1) if self.chance(30) else self.take()))
            case "all":
                pair = nodes.Sequence((self.take(), self.take()), (_ANY,))
                return AnyOrder((self.take(), pair if self.chance(40) else self.take()))
        return self.take()

    def take(self) -> Step[int]:
        self.symbols.append(len(self.symbols))
        return Step(self.symbols[-1])


@st.composite
def lazy_programs(draw: DrawFn) -> tuple[Program, AtMost]:
    """A program and its host."""
    drawn = _Sequences(draw, [])
    expression = drawn.chain(draw(st.integers(1, 3)), 0)
    count, streams = len(drawn.symbols), 2 if drawn.chance(30) else 1
    partition = (KEY,) if drawn.chance(30) else ()
    symbols = tuple(
        Symbol(
            f"P{number}",
            frozenset({KEY, number + 1}),
            frozenset({number + 1} if not partition and drawn.chance(30) else {KEY, number + 1}),
            frozenset(range(streams)),
        )
        for number in range(count)
    )
    negated = _negated(expression)
    positive = [number for number in range(count) if number not in negated]
    conditions = tuple(_condition(draw, number, positive) for number in range(count) if drawn.chance(40))
    selector = draw(st.sampled_from([Selector.ALL] * 6 + list(Selector)))
    skip = draw(st.sampled_from([Skip.NO_SKIP] * 4 + list(Skip)))
    window = draw(st.sampled_from(WINDOWS))
    program = Program(expression, symbols, count + 1, conditions, window, partition, selector, skip, (), streams)
    return program, AtMost(conditions)


def _condition(draw: DrawFn, symbol: int, positive: Sequence[int]) -> Condition:
    """The symbol's own value beside another step's, an earlier iteration's, or a count."""
    own: Reference = symbol + 1
    kinds: list[Reference] = [*(number + 1 for number in positive if number != symbol)] * 2
    if symbol in positive:
        kinds += [IterationValue("PREV", symbol + 1), IterationValue("FIRST", symbol + 1), FoldValue(0, symbol + 1)]
    other = draw(st.sampled_from(kinds)) if kinds else own
    return Condition(symbol, (own, other) if draw(st.booleans()) else (other, own))


def _negated(expression: Expression) -> frozenset[int]:
    found = nodes.steps(expression)
    return frozenset(step.symbol for step, around in found if any(isinstance(node, Negation) for node in around))


@st.composite
def lazy_streams(draw: DrawFn, program: Program) -> list[tuple[Events, dict[int, SymbolSolutions]]]:
    """Up to 9 events in slices that do not end within a time."""
    count = draw(st.integers(3, 9))
    gaps = draw(st.lists(st.sampled_from([1, 1, 1, 0, 2, 5]), min_size=count, max_size=count))
    times = np.cumsum(gaps).astype(np.int64)
    streams = np.array(draw(st.lists(st.integers(0, program.streams - 1), min_size=count, max_size=count)))
    order = np.lexsort((streams, times))
    streams = streams[order].astype(np.int64)
    solved = [_solutions(draw, number, program, count) for number in range(len(program.symbols))]
    borders = [b for b in range(1, count) if times[b] != times[b - 1] and draw(st.booleans())]
    return [
        (Events(times[begin:end], streams[begin:end]), {s: _part(table, begin, end) for s, table in enumerate(solved)})
        for begin, end in pairwise([0, *borders, count])
    ]


def _solutions(draw: DrawFn, number: int, program: Program, count: int) -> SymbolSolutions:
    which = draw(st.lists(st.sampled_from([0, 0, 1, 1, 1, 2]), min_size=count, max_size=count))
    events = np.repeat(np.arange(count, dtype=np.int64), which)
    sure = KEY in program.symbols[number].certain
    keys = draw(
        st.lists(st.sampled_from([1, 1, 2] if sure else [1, 2, UNBOUND]), min_size=len(events), max_size=len(events))
    )
    values = draw(st.lists(st.integers(1, 4), min_size=len(events), max_size=len(events)))
    return SymbolSolutions(events, {KEY: np.array(keys, dtype=np.int64), number + 1: np.array(values, dtype=np.int64)})


def _part(table: SymbolSolutions, begin: int, end: int) -> SymbolSolutions:
    inside = (table.events >= begin) & (table.events < end)
    return SymbolSolutions(table.events[inside] - begin, {v: column[inside] for v, column in table.values.items()})
