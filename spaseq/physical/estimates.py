"""The expected cost of each evaluator, before anything is measured: with assumed rates, in words for `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from automata.adaptive.costs import CostModel
from automata.adaptive.rates import Rates, related_symbols
from automata.plan.plan import Plan
from automata.plan.program import Program

_COUNT = 100
"""Solutions of each step that are assumed in a window …"""
_RARE = 1
"""… and of the last step, where it is assumed to be rare."""
_RELATED = 0.1
"""The share assumed of pairs of solutions that join, where a variable or a condition relates two steps."""


def estimates(plan: Plan, able: Sequence[str]) -> tuple[str, ...]:
    """One line for each evaluator of those that are able to run the program, as far as it can be said."""
    lines = ["cea: a constant number of nodes for each solution of a step"] if "cea" in able else []
    if "lazy" in able:
        model = CostModel(plan)
        assumed = f"{_COUNT} solutions of each step in a window and {_RELATED:.0%} of related pairs joining"
        even, rare = (model.estimate(rates) for rates in _assumed(plan.program, model.symbols))
        lines += [
            f"with {assumed}: runs make {even.eager:,.0f} partial matches in a window, lazy chains {even.lazy:,.0f}",
            f"with the last step {_COUNT // _RARE} times rarer: runs {rare.eager:,.0f}, lazy chains {rare.lazy:,.0f}",
        ]
    return tuple(lines)


def _assumed(program: Program, symbols: frozenset[int]) -> tuple[Rates, Rates]:
    shares = {pair: _RELATED for pair in combinations(sorted(symbols), 2) if any(related_symbols(program, *pair))}
    even = dict.fromkeys(sorted(symbols), float(_COUNT))
    return Rates(even, shares), Rates({**even, max(symbols): float(_RARE)}, shares)
