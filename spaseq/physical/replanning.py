"""The exchange of an evaluator for another while a query runs: the policy that `auto` follows.

In the first batch, and at the end of every window's length, the rates of the steps are measured; where they have moved,
so are the selectivities between them, and the run operations that runs and a lazy chain would make in a window are
estimated from both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automata import layouts
from automata.adaptive.costs import CostModel, Estimate
from automata.adaptive.policy import Policy, Switch
from automata.adaptive.rates import Meter, Rates
from automata.plan.plan import Plan
from automata.plan.program import ConditionEvaluator
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids
from sparql_gpm.times import format_time

_GAIN_MIN = 2.0
"""Runs must make so many times more run operations before they are given up for lazy evaluation …"""
_LOSS_MAX = 0.7
"""… which is given up again once they make fewer than this share of its own: below it measured times turn, too."""
_OPERATIONS_MIN = 50.0
"""Where runs make fewer in a window there is nothing to gain."""
_ALONE_MIN = 200.0
"""Where events come one by one, so many a solution: in the time that lazy automata take for it, runs make so many."""
SWITCHING = (
    "measured in the first batch and for the length of every window: solutions of each step, the share of pairs of "
    "steps that join, and from both the partial matches to expect. "
    f"Where runs make {_OPERATIONS_MIN:,.0f} or more in a window and lazy chains {_GAIN_MIN:g} times fewer, chains "
    "begin, or take over at the window's end (a tree while the order by rarity changes); runs do again once they "
    f"make less than {_LOSS_MAX:.0%} of what chains make"
)
"""The policy in words."""


NAMES = ("nfa", "lazy", "tree")
"""The evaluators that measured rates decide between."""


def initial(plan: Plan) -> str:
    """The evaluator that runs until rates are measured."""
    return "lazy" if plan.unordered else "nfa"


def switch_in_words(switch: Switch) -> str:
    """One exchange of evaluators, with its time and the measured rates."""
    return f"{format_time(switch.time)}: {switch.old} → {switch.new} ({switch.reason})"


class RatesDecide(Policy):
    """The choice among "nfa", "lazy" and "tree"."""

    observes = True

    def __init__(self, plan: Plan, condition_evaluator: ConditionEvaluator) -> None:
        self._program = plan.program
        self._model = CostModel(plan)
        self._meter = Meter(plan.program, condition_evaluator, self._model.symbols)
        self._orders: tuple[tuple[int, ...], ...] | None = None
        self._shifting = False
        self._wish = initial(plan)
        self.rates: Rates | None = None
        self.estimate: Estimate | None = None

    def observe(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> None:
        rates = self._meter.observe(events, solutions)
        if rates is self.rates:
            self._shifting = False
        elif rates is not None:
            self.rates, self.estimate = rates, self._model.estimate(rates)
            self._shifting = self._orders is not None and self._orders != self.estimate.orders
            self._orders = self.estimate.orders

    def skip(self, gap: Gap) -> None:
        self._meter.skip(gap)

    def wanted(self, current: str, alone: bool, operations: int) -> tuple[str, str]:
        if self.estimate is None or self.rates is None:
            return current, "nothing is measured yet"
        eager, lazy = self.estimate.eager, self.estimate.lazy
        each = _ALONE_MIN * sum(self.rates.counts.values()) if alone else 0.0
        if current == "nfa":
            pays = eager >= max(_OPERATIONS_MIN, each) and eager >= _GAIN_MIN * lazy
        else:
            pays = eager >= max(each / 2, _LOSS_MAX * lazy)
        if not pays:
            self._wish = "nfa"
        elif self._wish == "nfa" or (self._shifting and current == self._wish):
            self._wish = "tree" if self._shifting or current == "tree" else "lazy"
        return self._wish, self._measured() if self._wish != current else ""

    def live_ids(self) -> list[Ids]:
        return self._meter.live_ids()

    def snapshot(self) -> dict[str, Any]:
        return layouts.RATES_DECIDE.written(shifting=self._shifting, wish=self._wish, meter=self._meter.snapshot())

    def restore(self, state: Mapping[str, Any]) -> None:
        state = layouts.RATES_DECIDE.read(state)
        self._meter.restore(state["meter"])
        self._shifting, self._wish = state["shifting"], state["wish"]
        self.rates = self._meter.rates
        if self.rates is not None:
            self.estimate = self._model.estimate(self.rates)
            self._orders = self.estimate.orders

    def _measured(self) -> str:
        assert self.rates is not None and self.estimate is not None
        counts = ", ".join(
            f"{self._program.symbols[symbol].name} {count:,.0f}" for symbol, count in sorted(self.rates.counts.items())
        )
        return (
            f"solutions a window: {counts}; partial matches a window: runs {self.estimate.eager:,.0f}, "
            f"lazily {self.estimate.lazy:,.0f}"
        )
