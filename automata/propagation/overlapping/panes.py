"""The hopping windows that are products of panes."""

from __future__ import annotations

from automata.plan.plan import Plan
from automata.propagation.machine import machine_of

WINDOWS_MIN = 20
"""Windows open at once from which on panes take less time than cells of each window."""


def why_no_panes(plan: Plan) -> str | None:
    """The reason why hopping windows have cells of their own, in words, or None."""
    window = plan.program.window
    if window.sliding or -(-window.size // window.period) < WINDOWS_MIN:
        return f"fewer than {WINDOWS_MIN} windows are open at once"
    machine = machine_of(plan)
    if machine.strict or any(machine.lanes[lane].killers for lane in machine.opening):
        return "strict contiguity, or a negation before the first step, looks beyond a pane"
    return None
