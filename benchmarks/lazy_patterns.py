"""Streams with skewed and shifting rates, and the patterns that K evaluates lazily over them.

An event has a type, A to D, and one value; a condition between two steps compares their values. One event a
second. The first steps of each pattern are the frequent ones: the case that lazy evaluation is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from automata.plan import expression as nodes
from automata.plan.expression import AnyOrder, Choice, Contiguity, Expression, Negation, Repetition, Step
from automata.plan.plan import Plan, compile_plan
from automata.plan.program import Condition, FoldValue, Program, Reference, Selector, Skip, Symbol, Window
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids, Mask, Match

VALUES = 1000
MARGIN = 800
"""A later step's value must be greater by this much: 2 % of all pairs are."""
A, B, C, D = range(4)
_ANY = Contiguity.ANY


@dataclass(frozen=True, slots=True)
class Stream:
    """types and values of one event a second."""

    types: Ids
    values: Ids

    def __len__(self) -> int:
        return len(self.types)

    def first(self, events: int) -> Stream:
        """Its first events."""
        return Stream(self.types[:events], self.values[:events])

    def batch(self, begin: int, end: int) -> tuple[Events, dict[int, SymbolSolutions]]:
        """Events begin … end - 1 and the solutions of the four types."""
        types, values = self.types[begin:end], self.values[begin:end]
        times = np.arange(begin, begin + len(types), dtype=np.int64)
        solutions = {}
        for symbol in (A, B, C, D):
            which = np.flatnonzero(types == symbol)
            solutions[symbol] = SymbolSolutions(which, {symbol: values[which]})
        return Events(times, np.zeros(len(types), dtype=np.int64)), solutions


def stream(rates: Sequence[Sequence[int]], events: int, seed: int) -> Stream:
    """Events of random types and values; the rates of the types hold for equal parts of the stream in turn."""
    rng = np.random.default_rng(seed)
    parts = []
    for some in rates:
        share = np.array(some) / sum(some)
        parts.append(rng.choice(len(some), events // len(rates), p=share))
    types = np.concatenate(parts).astype(np.int64)
    return Stream(types, rng.integers(1, VALUES + 1, len(types)))


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The host: condition i holds where pairs[i] = (low, high) have values MARGIN apart."""

    pairs: tuple[tuple[int, int], ...]

    def holds(self, condition: int, columns: Mapping[Reference, Ids], rows: int) -> Mask:
        """See `automata.plan.program.Host`."""
        low, high = self.pairs[condition]
        result: Mask = columns[low] + MARGIN < columns[high]
        return result

    def fold(self, value: FoldValue, offsets: Ids, ids: Ids) -> Ids:
        """No pattern here has an aggregate."""
        raise AssertionError(value)

    def texts(self, matches: Sequence[Match]) -> Sequence[tuple[str, ...]]:
        """Every match is reported: nothing is projected."""
        return [()] * len(matches)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A program with its host."""

    name: str
    program: Program
    condition_evaluator: Comparisons

    @property
    def plan(self) -> Plan:
        """The plan of its program."""
        return compile_plan(self.program)


def pattern(name: str, expression: Expression, pairs: Sequence[tuple[int, int]], window: int) -> Pattern:
    """A pattern whose steps low and high, for each pair, must have values MARGIN apart."""
    symbols = tuple(Symbol("ABCD"[s], frozenset({s}), frozenset({s}), frozenset({0})) for s in (A, B, C, D))
    conditions = tuple(Condition(high, (low, high)) for low, high in pairs)
    program = Program(
        expression, symbols, 4, conditions, Window(window, False, True), (), Selector.ALL, Skip.NO_SKIP, (), 1
    )
    return Pattern(name, program, Comparisons(tuple(pairs)))


def patterns(window: int) -> tuple[Pattern, ...]:
    """K's five kinds; C is the rare type."""
    a, b, c, d = (Step(symbol) for symbol in (A, B, C, D))
    pairs = ((A, C), (B, C))
    sequence = nodes.Sequence((a, b, c), (_ANY, _ANY))
    twice = Repetition(b, 1, 2, _ANY)
    either = Choice((sequence, nodes.Sequence((b, a, d), (_ANY, _ANY))))
    return (
        pattern("SEQ", sequence, pairs, window),
        pattern("AND", AnyOrder((a, b, c)), pairs, window),
        pattern("NEG", nodes.Sequence((a, Negation(d), b, c), (_ANY,) * 3), pairs, window),
        pattern("ITER", nodes.Sequence((a, twice, c), (_ANY, _ANY)), pairs, window),
        pattern("OR", either, (*pairs, (A, D), (B, D)), window),
    )
