"""Estimated run operations: the partial matches that each order of evaluation makes in a window (K Section 3.3).

The expected number of partial matches over some units is the product of the counts of their events, of the
selectivities between them, and of the probability that events of a given set are in the required order. Runs
make those over every prefix of the sequence, a lazy chain those over every prefix of its own order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from automata.adaptive.rates import Rates
from automata.lazy.path import paths
from automata.lazy.units import Units, units_of
from automata.plan.plan import Plan

_EVENT = 0.25
"""The cost of a buffered event, in run operations."""
_HUGE = 1e30


@dataclass(frozen=True, slots=True)
class Estimate:
    """Run operations in a window, `eager` and `lazy`, and the lazy order of each path, as symbols."""

    eager: float
    lazy: float
    orders: tuple[tuple[int, ...], ...]


class CostModel:
    """Estimates for one program that `automata.lazy` covers."""

    def __init__(self, plan: Plan) -> None:
        self._candidates = [units_of(path) for path in paths(plan)]
        self.symbols = frozenset(unit.symbol for units in self._candidates for unit in units.units)

    def estimate(self, rates: Rates) -> Estimate:
        """The run operations in a window at these rates."""
        eager = lazy = sum(rates.counts.get(symbol, 0) for symbol in self.symbols) * _EVENT
        orders = []
        for units in self._candidates:
            written = range(len(units))
            order = _rarest_first(units, rates)
            eager += sum(_sizes(units, written, rates, every_iteration=True))
            *before, whole = _sizes(units, order, rates, every_iteration=False)
            # A complete set of events is walked through the automaton once more, and its iterations are filled in.
            replayed = whole * (len(units) + _iterations(units, rates))
            lazy += sum(before) + whole + replayed
            orders.append(tuple(units.units[unit].symbol for unit in order))
        return Estimate(min(eager, _HUGE), min(lazy, _HUGE), tuple(orders))


def _sizes(units: Units, order: Sequence[int], rates: Rates, every_iteration: bool) -> list[float]:
    """The expected number of partial matches over each prefix of the order."""
    sizes, size = [], 1.0
    for number, unit in enumerate(order):
        size = min(_HUGE, size * _joined(units, order[:number], unit, rates))
        if every_iteration and units.units[unit].repeated:
            size *= 1 + _growth(units, unit, rates)
        sizes.append(size)
    return sizes


def _joined(units: Units, bound: Sequence[int], unit: int, rates: Rates) -> float:
    """The events of the unit that a partial match over `bound` is expected to be joined with."""
    symbol = units.units[unit].symbol
    count, share = rates.counts.get(symbol, 0), 1.0
    if any(units.together[other, unit] for other in bound):
        count = min(count, 1.0)
    for other in bound:
        share *= rates.selectivity(units.units[other].symbol, symbol)
    ordered = sum(bool(units.before[unit, other] or units.before[other, unit]) for other in bound)
    ordered -= sum(bool(units.apart[unit, other]) for other in bound)
    return count * share / (1 + max(0, ordered))


def _growth(units: Units, unit: int, rates: Rates) -> float:
    """Iterations before the last one: those of two are counted, longer ones left out."""
    return rates.counts.get(units.units[unit].symbol, 0) / 2


def _iterations(units: Units, rates: Rates) -> float:
    return sum(_growth(units, number, rates) for number, unit in enumerate(units.units) if unit.repeated)


def _rarest_first(units: Units, rates: Rates) -> list[int]:
    order: list[int] = []
    while len(order) < len(units):
        left = [unit for unit in range(len(units)) if unit not in order]
        order.append(min(left, key=lambda unit: (_joined(units, order, unit, rates), unit)))
    return order
