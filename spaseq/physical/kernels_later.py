"""Compiled kernels once they pay: a query begins without them, and takes them between two slices.

Loading kept code takes half a second of processor time, compiling it, in the background, a quarter of a minute or
more. Run operations and slices say what a query has cost so far: once that is as much, as much again is to be
expected, most of which kernels save. Code that another query of the process has loaded costs nothing: a long slice
takes it at once, the first one, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from automata import layouts
from automata.adaptive.policy import Policy
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids

_SLICE = 500
"""Run operations that take as long as what columns cost a slice, whatever its length."""
LOAD_MIN = 200_000
"""Run operations worth loading kernels …"""
COMPILE_MIN = 5_000_000
"""… and compiling them: a run operation takes about a microsecond."""
LONG_MIN = 1_000
"""Events of a slice that shows a long input: one of hundreds costs runs and kernels as much."""
LATER = (
    "Kernels take over between two slices once the query has cost as much as it takes to load them, or to compile them "
    f"in the background, and where another query has loaded them, with a slice of {LONG_MIN:,} events; where events "
    "come one by one they do not"
)
"""The policy in words."""
TAKEN = "kernels are there, and save more than it takes to load them"
"""The reason for kernels."""
ALONE = "events come one by one, each in less time than kernels take for a slice"
"""The reason against them."""


class Kernels(Protocol):
    """Compiled code on disk and in the process, by evaluator."""

    def loaded(self, evaluator: str) -> bool:
        """True if the process has it already, and any query may take it."""

    def kept(self, evaluator: str) -> bool:
        """True if all of it is there."""

    def compile(self, evaluator: str) -> None:
        """Begin to compile it in the background, unless that has been tried."""


class KernelsLater(Policy):
    """Another policy's choice until an evaluator in kernels pays, and where events come one by one.

    other       None: run-based evaluation alone
    evaluator   the name of the one in kernels
    """

    def __init__(self, other: Policy | None, evaluator: str, kernels: Kernels) -> None:
        self._other = other
        self._evaluator = evaluator
        self._kernels = kernels
        self._slices = 0
        self._runs = self._long = False

    @property
    def observes(self) -> bool:
        return self._other is not None

    def observe(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> None:
        self._slices += 1
        self._long = len(events) >= LONG_MIN
        if self._other is not None and not self._runs:
            self._other.observe(events, solutions)

    def skip(self, gap: Gap) -> None:
        if self._other is not None:
            self._other.skip(gap)

    def wanted(self, current: str, alone: bool, operations: int) -> tuple[str, str]:
        self._runs = current == self._evaluator
        if not alone and (current == self._evaluator or self._pays(operations + _SLICE * self._slices)):
            return self._evaluator, TAKEN
        if current == self._evaluator:
            return "nfa", ALONE
        return ("nfa", "") if self._other is None else self._other.wanted(current, alone, operations)

    def live_ids(self) -> list[Ids]:
        return [] if self._other is None else self._other.live_ids()

    def snapshot(self) -> dict[str, Any]:
        other = None if self._other is None else self._other.snapshot()
        return layouts.KERNELS_LATER.written(slices=self._slices, other=other)

    def restore(self, state: Mapping[str, Any]) -> None:
        state = layouts.KERNELS_LATER.read(state)
        self._slices = state["slices"]
        if self._other is not None and state["other"] is not None:
            self._other.restore(state["other"])

    def _pays(self, cost: int) -> bool:
        """True if kernels are loaded, and slices are long, or if they can be loaded, and it is worth it."""
        if cost < LOAD_MIN:
            return self._long and self._kernels.loaded(self._evaluator)
        if not self._kernels.kept(self._evaluator):
            if cost >= COMPILE_MIN:
                self._kernels.compile(self._evaluator)
            return False
        return True
