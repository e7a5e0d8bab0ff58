"""The members of a group: queries over the same events whose keys are the same columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from automata.plan.keys import key_of
from automata.plan.plan import Plan
from automata.plan.program import Window
from automata.propagation.layout import Layout, layout_of, why_not_compiled
from automata.propagation.machine import Machine, machine_of
from automata.propagation.measures import Measured


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A query of a group, which numbers symbols and variables in its own way.

    groups      the variables of GROUP BY
    symbols     the query's symbols, at least those that make a difference → those of the group
    variables   the query's variables that are measured → those of the group
    machine     the lanes of its pattern
    layout      the columns of its aggregates, by its own variables
    """

    plan: Plan
    groups: tuple[int, ...]
    measured: tuple[Measured, ...]
    symbols: Mapping[int, int]
    variables: Mapping[int, int]
    machine: Machine = field(init=False)
    layout: Layout = field(init=False)

    def __post_init__(self) -> None:
        layout = layout_of(self.measured)
        assert layout is not None, self.measured
        object.__setattr__(self, "machine", machine_of(self.plan))
        object.__setattr__(self, "layout", layout)

    @property
    def frame(self) -> Frame:
        """The windows of its cells."""
        program = self.plan.program
        return Frame(program.window, bool(program.partition))

    @property
    def key_places(self) -> list[int]:
        """The places of the variables of GROUP BY in the key."""
        key = key_of(self.plan)
        return [key.index(variable) for variable in self.groups]


@dataclass(frozen=True, slots=True)
class Frame:
    """Windows, and whether strict contiguity goes by the events of a partition."""

    window: Window
    partitioned: bool

    @property
    def open_max(self) -> int:
        """The most windows that are open at once."""
        return -(-self.window.size // self.window.period)


def why_not_shared(plan: Plan, measured: tuple[Measured, ...]) -> str | None:
    """The reason why a query that can be propagated has lanes of its own, in words, or None."""
    reason = why_not_compiled(plan, measured)
    if reason is not None:
        return reason
    if plan.program.window.sliding:
        return "sliding windows have a queue of events for each key"
    if plan.program.window.in_events:
        return "windows of events tell the times of first and last events, which belong to one query"
    return None
