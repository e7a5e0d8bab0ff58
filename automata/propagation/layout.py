"""The sums and extremes that the kernel keeps of each lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from automata.plan.plan import Plan
from automata.propagation.measures import Kind, Measured

OPEN_MAX = 1 << 12
"""Windows that may be open at once; with more of them every event is in too many cells."""


def why_not_compiled(plan: Plan, measured: Sequence[Measured]) -> str | None:
    """The reason why the kernel does not run what can be propagated, in words, or None."""
    window = plan.program.window
    if not window.sliding and -(-window.size // window.period) > OPEN_MAX:
        return f"more than {OPEN_MAX:,} windows are open at once"
    if layout_of(measured) is None:
        return "an aggregate over iterations is compared by another one"
    return None


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum over matches: of 1 or of the value of a variable, of the last one bound or of all."""

    variable: int
    counts: bool
    every: bool


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or greatest number over matches: of the last one bound or of all."""

    variable: int
    greatest: bool
    every: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns that measured aggregates need.

    linear, extreme     the sums and the extremes
    addends             linear sums that differ in what is added, without whether the last or all are
    """

    linear: tuple[Linear, ...]
    extreme: tuple[Extreme, ...]
    addends: tuple[tuple[int, bool], ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """Variables whose values are added."""
        return tuple(variable for variable, counts in self.addends if not counts)


def layout_of(measured: Sequence[Measured]) -> Layout | None:
    """The columns; None if the kernel does not know an aggregate."""
    linear: dict[Linear, None] = {}
    extreme: dict[Extreme, None] = {}
    for each in measured:
        match each.kind, each.inner:
            case Kind.COUNT, None:
                linear[Linear(each.variable, True, False)] = None
            case Kind.SUM, None:
                linear[Linear(each.variable, True, False)] = None
                linear[Linear(each.variable, False, False)] = None
            case Kind.SUM, (Kind.COUNT | Kind.SUM) as inner:
                linear[Linear(each.variable, True, True)] = None
                if inner is Kind.SUM:
                    linear[Linear(each.variable, False, True)] = None
            case (Kind.MIN | Kind.MAX) as kind, inner if inner in (None, kind):
                extreme[Extreme(each.variable, kind is Kind.MAX, inner is not None)] = None
            case _:
                return None
    addends = dict.fromkeys((one.variable, one.counts) for one in linear)
    return Layout(tuple(linear), tuple(extreme), tuple(addends))
