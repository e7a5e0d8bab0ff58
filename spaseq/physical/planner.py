"""The planner: from a compiled query to its physical plan, with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from automata import protocol
from automata.adaptive.adaptive_evaluator import why_not_adaptive
from automata.cea.applicability import why_not_cea
from automata.plan.expression import Conjunction, Expression, steps, symbols
from automata.plan.plan import Plan
from automata.plan.products import all_products
from automata.plan.program import Demand, Program
from automata.propagation.layout import why_not_compiled
from automata.propagation.overlapping.panes import why_no_panes
from automata.propagation.shared.members import why_not_shared
from spaseq.errors import InputError
from spaseq.physical.applicability import (
    builds_subsets,
    leaves_runs_out,
    needs_known_rates,
    single_step,
    why_no_registers,
    why_not_lazy,
    why_not_replanned,
)
from spaseq.physical.hopping import why_by_window
from spaseq.physical.plan import PROPAGATION, Form, PhysicalPlan
from spaseq.physical.program import Compiled
from spaseq.physical.propagation import propagation_of, why_not_propagation
from spaseq.physical.replanning import initial


@dataclass(frozen=True, slots=True)
class _Kind:
    """An evaluator: its title, why it cannot run a program, why to choose it, and an argument against choosing it."""

    title: str
    why_not: Callable[[Plan], str | None]
    why: str
    unless: Callable[[Plan], str | None] = lambda plan: None


_FEW_REPORTED = (
    "few of the subsets of events that a repetition takes are reported: runs leave out the others the soonest"
)
"""The reason why rates are not measured where runs are left out."""
_PRODUCTS = (
    "nothing but keys relates its steps, all under ':': runs keep one row an event and put partial matches together "
    "for the events that end them, so that no order of evaluation makes fewer"
)
"""The reason why rates are not measured where partial matches are products."""
_KINDS = {
    "cea": _Kind(
        "complex event automata with tECS",
        why_not_cea,
        "the steps are related by nothing but equality on a key: constant time an event",
        builds_subsets,
    ),
    "adaptive": _Kind(
        "runs or lazy automata, as measured rates favour",
        why_not_replanned,
        "its steps can be looked for in any order: the rarest first makes the fewest partial matches, and which is the "
        "rarest is measured while it runs",
        lambda plan: _unmeasured(plan),
    ),
    "lazy": _Kind(
        "lazy chain automata",
        why_not_lazy,
        "members of an ALL( ) come in any order: looking for the rarest first makes the fewest partial matches",
        needs_known_rates,
    ),
    "tree": _Kind(
        "lazy tree automata",
        why_not_lazy,
        "the rates shift within a window",
        lambda plan: "whether rates shift within a window is not known before it runs",
    ),
    "nfa": _Kind("run-based NFA^scep", lambda plan: None, "it evaluates every construct of the language"),
}
"""By the name that `--evaluator` takes, the most preferred first."""
EVALUATORS = {name: kind.title for name, kind in _KINDS.items()}
"""The titles of the evaluators, by the name that `--evaluator` takes."""
TITLES = {**EVALUATORS, PROPAGATION: "aggregates propagated along the automaton, without matches"}
"""The titles of all evaluators."""

TOO_SHORT = "compiling its kernels, once for each installation, takes longer than a short input does"
"""The reason why compiled kernels are left to long inputs."""
RECOGNISER = "LIMIT 1: a register automaton keeps one of the runs that no later event can tell apart"
"""The reason why rates are not measured for the first match alone."""
_RECOGNISED = {
    Demand.EVERY: "",
    Demand.FIRST: "; LIMIT 1: of the runs of one event that no later event can tell apart, the first goes on alone",
    Demand.HAPPENED: "; LIMIT 1, no variable shown: a recogniser, of the runs of one event that no later event can "
    "tell apart only one goes on",
}
"""The effect of LIMIT 1 on the runs of a register automaton."""


def plan_query(compiled: Compiled, requested: str = "auto", kernels: bool | None = True) -> PhysicalPlan:
    """The physical plan; InputError if the evaluator cannot run the query.

    kernels     the input is worth compiling; None: that is not known before the query runs
    """
    if kernels is None:
        planned = plan_query(compiled, requested, kernels=False)
        exchanged = requested == "auto" and planned.evaluator in ("adaptive", "nfa")
        return replace(planned, later=_later(compiled)) if exchanged else planned
    plan = compiled.plan
    unpropagated = None if compiled.query.over is None else why_not_propagation(compiled)
    if requested == "auto" and compiled.query.over is not None and unpropagated is None:
        return _propagated(compiled, kernels)
    refusals = {name: kind.why_not(plan) for name, kind in _KINDS.items()}
    able = tuple(name for name, refusal in refusals.items() if refusal is None)
    registers = why_no_registers(compiled) if kernels else TOO_SHORT
    if requested == "auto":
        refusals = {name: refusal or _KINDS[name].unless(plan) for name, refusal in refusals.items()}
        if not kernels and not leaves_runs_out(plan):
            refusals["cea"] = refusals["cea"] or TOO_SHORT
        elif registers is None and plan.program.demand is not Demand.EVERY:
            refusals["adaptive"] = refusals["adaptive"] or RECOGNISER
        if all_products(plan) and plan.program.demand is Demand.EVERY:
            registers = registers or "it would make a run of every partial match, of which columns keep the events"
        evaluator = next(name for name, refusal in refusals.items() if refusal is None)
        reason = _KINDS[evaluator].why
        if evaluator == "cea" and leaves_runs_out(plan):
            reason = f"{reason}, and runs are not built of which no match is reported"
    else:
        evaluator, reason = _requested(compiled, requested, refusals), "asked for"
    if evaluator == "adaptive":
        reason = f"{reason}; it begins with {_KINDS[initial(plan)].title}"
    others = {name: refusal or _weaker(name, requested) for name, refusal in refusals.items() if name != evaluator}
    if compiled.query.over is not None:
        others = {PROPAGATION: unpropagated or f"{requested} is asked for", **others}
    form, form_reason = _form(evaluator, plan, registers)
    if evaluator == "nfa" and form is not Form.KERNELS and all_products(plan):
        reason = f"{reason}; {_PRODUCTS}"
    if compiled.lanes:
        turns = f"{len(compiled.lanes)} of them take turns at the windows, which overlap"
        reason = f"{reason}; {turns}: {why_by_window(plan)}"
        if form is Form.ROWS:
            form, form_reason = Form.COLUMNS, "each slice is given to several evaluators"
    row_events_max = protocol.FEW_EVENTS_MAX if form is Form.ROWS else 0
    together = conjunctions(plan.program)
    return PhysicalPlan(
        compiled, evaluator, form, reason, form_reason, tuple(others.items()), able, row_events_max, together,
        asked=requested != "auto",
    )  # fmt: skip


def _later(compiled: Compiled) -> str | None:
    """The evaluator in kernels that takes over once they pay, or None."""
    plan, planned = compiled.plan, plan_query(compiled)
    if planned.form is not Form.KERNELS or compiled.lanes or why_not_adaptive(plan) is not None:
        return None
    if planned.evaluator == "cea":
        return "cea"
    # registers count the events of a window from the first one that they see, and simultaneous ones one by one
    counts = plan.program.window.in_events or plan.whole_slots
    return "registers" if planned.evaluator == "nfa" and not counts else None


def _propagated(compiled: Compiled, kernels: bool) -> PhysicalPlan:
    """The plan of a query OVER MATCHES whose matches are not built."""
    planned = propagation_of(compiled)
    reason = why_not_compiled(planned.plan, planned.measured) if kernels else TOO_SHORT
    shares = False
    if reason is None:
        held = _held(planned.plan)
        form, form_reason, few = Form.KERNELS, f"integers of any size, a few of them for each {held}", 0
        alone = why_not_shared(planned.plan, planned.measured)
        shares = alone is None
        form_reason += f"; {alone or 'those that other queries over the same events have too are kept once'}"
    else:
        form, form_reason, few = Form.VALUES, reason, protocol.FEW_EVENTS_MAX
    others = tuple((name, "it builds every match") for name in _KINDS)
    why = "only a key relates the steps: counts, sums, minima and maxima are kept of matches that are not built"
    together = conjunctions(compiled.program)
    return PhysicalPlan(compiled, PROPAGATION, form, why, form_reason, others, (), few, together, shares=shares)


def _held(plan: Plan) -> str:
    """The things of which kernels keep integers."""
    if plan.program.window.sliding:
        return "event in the window, as products of its events"
    return "key and window" if why_no_panes(plan) is not None else "key and pane, as windows are products of panes"


def _requested(compiled: Compiled, requested: str, refusals: Mapping[str, str | None]) -> str:
    if requested not in EVALUATORS:
        raise InputError(f"unknown evaluator '{requested}'", hint=f"one of: auto, {', '.join(EVALUATORS)}")
    if refusals[requested] is not None:
        raise InputError(
            f"query '{compiled.query.name}' cannot be run with --evaluator {requested}: {refusals[requested]}",
            hint="leave the option out, every evaluator gives the same rows",
        )
    return requested


def _form(evaluator: str, plan: Plan, registers: str | None) -> tuple[Form, str]:
    """The form of an evaluator, and the reason; `registers` is the reason against a register automaton, or None."""
    if evaluator == "cea":
        return Form.KERNELS, "constant time an event needs compiled code"
    if evaluator in ("lazy", "tree"):
        return Form.COLUMNS, "events are buffered as columns"
    if evaluator == "nfa" and registers is None:
        recognised = _RECOGNISED[plan.program.demand]
        return Form.KERNELS, f"a register automaton, its conditions guards over registers{recognised}"
    from automata.plan.pruning import skips_later_starts
    from automata.runs.rows.live_evaluator import has_row_form

    if evaluator == "nfa":
        reason = f"not a register automaton, because {registers}"
    else:
        reason = "the evaluators that replace each other hold columns"
    if has_row_form(plan):
        return Form.ROWS, reason
    if plan.substreams:
        return Form.COLUMNS, f"{reason}; a negation looks at the events of a partition, which are columns"
    if skips_later_starts(plan):
        return Form.COLUMNS, f"{reason}; partial matches that begin later in an episode are dropped from columns"
    return Form.COLUMNS, f"{reason}; the end of a match's window is told by the events of its partition, as columns"


def _weaker(name: str, requested: str) -> str:
    """The reason why an evaluator that could run the query does not."""
    if requested != "auto":
        return f"{requested} is asked for"
    return f"it could, at a cost that grows with the runs: {_KINDS[name].why}"


def _unmeasured(plan: Plan) -> str | None:
    """The argument against measuring rates, or None."""
    if leaves_runs_out(plan):
        return _FEW_REPORTED
    if all_products(plan):
        return _PRODUCTS
    return "it has one step only" if single_step(plan) else None


def conjunctions(program: Program) -> tuple[tuple[int, ...], ...]:
    """The sets of symbols whose every use is in one conjunction of just them; none with PARTITION BY.

    There an event that only one of them matches still counts: it is in its partition's substream (specification 3.4.2).
    """
    if program.partition:
        return ()
    taken = {frozenset(symbols(_whole(step, around))) for step, around in steps(program.expression)}
    together = [one for one in taken if len(one) > 1 and not any(one & other for other in taken if other != one)]
    return tuple(sorted(tuple(sorted(one)) for one in together))


def _whole(step: Expression, around: tuple[Expression, ...]) -> Expression:
    """The conjunction that a step is a member of, else the step."""
    return around[-1] if around and isinstance(around[-1], Conjunction) else step
