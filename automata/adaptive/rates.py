"""Rates measured while a query runs: the solutions of each symbol in a window, and the share of pairs that join.

A *period* is the first slices that together span a window; at its end the counts become rates, and selectivities
are estimated from the latest solutions. The first period may be shorter. Rates that have
not moved stay the same object.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from arrays.columns import compatible
from automata import layouts
from automata.plan.program import MATCH, Condition, ConditionEvaluator, Program, Reference
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.state import Values
from automata.values import Ids

_SAMPLE_MAX = 64
"""Latest solutions kept of each symbol; selectivities are estimated from all their pairs."""
_FIRST_SHARE = 8
"""The first period may end after this part of a window …"""
_FIRST_EVENTS_MIN = 128
"""… if it has had so many events."""
_UNMOVED_MAX = 16
"""Periods for which rates may be kept; then selectivities are estimated again, whatever the counts."""
Pair = tuple[int, int]
"""Two symbols, the lower number first."""


@dataclass(frozen=True, slots=True)
class Rates:
    """counts          symbol → its solutions in one window
    selectivities   pair of symbols → the share of pairs of their solutions that may be in one match; left out: all
    """

    counts: Mapping[int, float]
    selectivities: Mapping[Pair, float]

    def selectivity(self, one: int, other: int) -> float:
        """The selectivity of a pair of symbols, in any order."""
        return self.selectivities.get((min(one, other), max(one, other)), 1.0)


class Meter:
    """Counts the solutions of each symbol, and keeps samples of them."""

    def __init__(self, program: Program, condition_evaluator: ConditionEvaluator, symbols: frozenset[int]) -> None:
        self._program = program
        self._condition_evaluator = condition_evaluator
        self._symbols = sorted(symbols)
        self._related = {pair: related_symbols(program, *pair) for pair in combinations(self._symbols, 2)}
        self._samples: dict[int, deque[Mapping[int, Ids]]] = {symbol: deque() for symbol in self._symbols}
        self._sampled = dict.fromkeys(self._symbols, 0)
        self._counts = dict.fromkeys(self._symbols, 0)
        self._events = 0
        self._since: int | None = None
        self.rates: Rates | None = None
        self._unmoved = 0

    def observe(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Rates | None:
        """Counts a slice; the rates, if a period ends with it: the same object where they have not moved."""
        if self._since is None:
            self._since = int(events.times[0])
        self._events += len(events)
        for symbol in self._symbols:
            table = solutions.get(symbol)
            if table is not None and len(table.events):
                self._counts[symbol] += len(table.events)
                self._sample(symbol, table)
        passed = self._events if self._program.window.in_events else int(events.times[-1]) - self._since
        if passed < self._period():
            return None
        scale = self._program.window.size / passed
        counts = {s: count * scale for s, count in self._counts.items()}
        self._counts = dict.fromkeys(self._symbols, 0)
        self._events, self._since = 0, int(events.times[-1])
        return self._latest(counts)

    def skip(self, gap: Gap) -> None:
        """Counts events without solutions; a period that they end ends with the next slice."""
        self._events += gap.events

    def _period(self) -> float:
        """The length of the period, by the window's axis."""
        size = self._program.window.size
        first = self.rates is None and self._events >= _FIRST_EVENTS_MIN
        return max(1, size / _FIRST_SHARE) if first else size

    def _latest(self, counts: Mapping[int, float]) -> Rates:
        self._unmoved += 1
        known = self.rates
        if known is None or self._unmoved > _UNMOVED_MAX or any(_moved(known.counts[s], counts[s]) for s in counts):
            known = self.rates = Rates(counts, self._selectivities())
            self._unmoved = 0
        return known

    def live_ids(self) -> list[Ids]:
        """The ids in the samples."""
        return [column for latest in self._samples.values() for sample in latest for column in sample.values()]

    def snapshot(self) -> dict[str, Any]:
        """The counts of this period, and the samples, as `automata.state.State`."""
        samples = [
            [symbol, [[[variable, Values(column)] for variable, column in sample.items()] for sample in latest]]
            for symbol, latest in self._samples.items()
        ]
        counts = [[symbol, self._counts[symbol], self._sampled[symbol]] for symbol in self._symbols]
        rates = self.rates and [list(self.rates.counts.items()), list(self.rates.selectivities.items())]
        period = [self._events, self._since, self._unmoved]
        return layouts.RATES.written(samples=samples, counts=counts, period=period, rates=rates)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a snapshot."""
        state = layouts.RATES.read(state)
        for symbol, latest in state["samples"]:
            self._samples[symbol] = deque({variable: column.ids for variable, column in sample} for sample in latest)
        for symbol, count, sampled in state["counts"]:
            self._counts[symbol], self._sampled[symbol] = count, sampled
        self._events, self._since, self._unmoved = state["period"]
        if state["rates"] is not None:
            counts, selectivities = state["rates"]
            self.rates = Rates(dict(counts), {(one, other): share for (one, other), share in selectivities})

    def _sample(self, symbol: int, table: SymbolSolutions) -> None:
        latest = self._samples[symbol]
        if len(table.events) >= _SAMPLE_MAX:
            latest.clear()
            self._sampled[symbol] = 0
        latest.append({variable: column[-_SAMPLE_MAX:].copy() for variable, column in table.values.items()})
        self._sampled[symbol] += min(len(table.events), _SAMPLE_MAX)
        while self._sampled[symbol] - _size(latest[0]) >= _SAMPLE_MAX:
            self._sampled[symbol] -= _size(latest.popleft())

    def _joined_sample(self, symbol: int) -> dict[int, Ids]:
        latest = self._samples[symbol]
        return {v: np.concatenate([sample[v] for sample in latest])[-_SAMPLE_MAX:] for v in latest[0]}

    def _selectivities(self) -> dict[Pair, float]:
        return {
            (one, other): self._selectivity(one, other, *related)
            for (one, other), related in self._related.items()
            if any(related) and self._samples[one] and self._samples[other]
        }

    def _selectivity(self, one: int, other: int, shared: tuple[int, ...], conditions: tuple[int, ...]) -> float:
        """The share of pairs in the samples that agree in the shared variables and satisfy the conditions."""
        left, right = self._joined_sample(one), self._joined_sample(other)
        a, b = (grid.ravel() for grid in np.indices((_size(left), _size(right))))
        fits = np.ones(len(a), dtype=np.bool_)
        for variable in shared:
            x, y = left[variable][a], right[variable][b]
            fits &= compatible(x, y)
        for number in conditions:
            which = np.flatnonzero(fits)
            references = self._program.conditions[number].references
            columns: dict[Reference, Ids] = {
                r: left[r][a[which]] if r in left else right[r][b[which]] for r in references if isinstance(r, int)
            }
            fits[which] = self._condition_evaluator.holds(number, columns, len(which))
        return (int(fits.sum()) + 1) / (len(fits) + 2)


def _moved(known: float, now: float) -> bool:
    """True if two counts differ by more than a third and by more than chance explains."""
    most = max(known, now)
    return abs(known - now) > most / 3 + 3 * math.sqrt(most)


def _size(sample: Mapping[int, Ids]) -> int:
    return len(next(iter(sample.values()), ()))


def related_symbols(program: Program, one: int, other: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The variables that both bind, and the conditions that need nothing but the two."""
    a, b = program.symbols[one], program.symbols[other]
    conditions = tuple(
        number
        for number, condition in enumerate(program.conditions)
        if condition.symbol in (one, other, MATCH)
        and not condition.at_end
        and _between(condition, a.certain, b.certain)
    )
    return tuple(sorted(a.scope & b.scope)), conditions


def _between(condition: Condition, one: frozenset[int], other: frozenset[int]) -> bool:
    """True if it relates variables that the two symbols always bind, and not those of one of them alone."""
    variables = frozenset(r for r in condition.references if isinstance(r, int))
    if condition.needs_event or len(variables) < len(condition.references):
        return False
    return variables <= one | other and not variables <= one and not variables <= other
