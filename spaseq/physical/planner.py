"""Which evaluator runs a query, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from automata.cea.applicability import why_not_cea
from automata.plan.program import Demand, Program
from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import InputError
from spaseq.physical.estimates import estimates
from spaseq.physical.lazy_applies import needs_known_rates, single_step, why_not_lazy, why_not_replanned
from spaseq.physical.program import Compiled, compile_program
from spaseq.physical.register_applies import why_no_registers
from spaseq.physical.replanning import SWITCHING, beginning


@dataclass(frozen=True, slots=True)
class _Kind:
    """An evaluator that this version has.

    title       what it is
    why_not     what keeps it from running a program, in words, or None
    why         why it is chosen where it can run
    unless      what speaks against choosing it without being asked, in words, or None
    """

    title: str
    why_not: Callable[[Program], str | None]
    why: str
    unless: Callable[[Program], str | None] = lambda program: None


_KINDS = {
    "cea": _Kind(
        "complex event automata with tECS",
        why_not_cea,
        "the steps are related by nothing but equality on a key: constant time an event",
    ),
    "adaptive": _Kind(
        "runs or lazy automata, as measured rates favour",
        why_not_replanned,
        "its steps can be looked for in any order: the rarest first makes the fewest partial matches, and which is the "
        "rarest is measured while it runs",
        lambda program: "it has one step only" if single_step(program) else None,
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
        lambda program: "whether rates shift within a window is not known before it runs",
    ),
    "nfa": _Kind("run-based NFA^scep", lambda program: None, "it evaluates every construct of the language"),
}
"""By the name that `--evaluator` takes, the most preferred first."""
EVALUATORS = {name: kind.title for name, kind in _KINDS.items()}
"""The evaluators of this version by the name that `--evaluator` takes."""


TOO_SHORT = "compiling its kernels, once for each installation, takes longer than a short input does"
"""Why compiled evaluators are left to long inputs."""
REGISTERS = "a register automaton, event by event with compiled guards, takes long input"
"""Why runs are kept where they are compiled."""


_RECOGNISED = {
    Demand.EVERY: "",
    Demand.FIRST: "; LIMIT 1: of the runs of one event that no later event can tell apart, the first goes on alone",
    Demand.HAPPENED: "; LIMIT 1, no variable shown: a recogniser, of the runs of one event that no later event can "
    "tell apart only one goes on",
}
"""What LIMIT 1 leaves of the runs of a register automaton."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The evaluator chosen; `others` are the names of those that were not, each with the reason.

    estimates   the expected cost of each that could run the query, in words
    replanning  what is measured while it runs, and what follows from it; "": nothing
    """

    name: str
    reason: str
    others: tuple[tuple[str, str], ...]
    estimates: tuple[str, ...] = ()
    replanning: str = ""


def choose_evaluator(query: TemporalQuery, requested: str = "auto", compiled_pays: bool = True) -> Choice:
    """The evaluator for a query; raises InputError for one that cannot run it.

    compiled_pays   the input is long enough for what must be compiled first
    """
    compiled = compile_program(query)
    program = compiled.program
    applying = {name: kind.why_not(program) for name, kind in _KINDS.items()}
    refusals = dict(applying)
    if requested == "auto":
        refusals = {name: refusal or _KINDS[name].unless(program) for name, refusal in refusals.items()}
        if not compiled_pays:
            refusals["cea"] = refusals["cea"] or TOO_SHORT
        elif why_no_registers(compiled) is None:
            refusals["adaptive"] = refusals["adaptive"] or REGISTERS
        chosen = next(name for name, refusal in refusals.items() if refusal is None)
        reason = _KINDS[chosen].why
    else:
        chosen, reason = _requested(query, requested, refusals), "asked for"
    if chosen == "adaptive":
        reason = f"{reason}; it begins with {_KINDS[beginning(program)].title}"
    if chosen == "nfa":
        reason = f"{reason}; {_how_runs_are_kept(compiled)}"
    replanned = chosen == "adaptive"
    if requested == "auto" and compiled_pays and (chosen == "cea" or why_no_registers(compiled) is None):
        replanned = applying["adaptive"] is None and not single_step(program)
        short = EVALUATORS["adaptive"] if replanned else "a set of runs at a time"
        reason = f"{reason}; where the input is short it is {short}: {TOO_SHORT}"
    passed_over = {name: refusal or _weaker(name, requested) for name, refusal in refusals.items() if name != chosen}
    able = [name for name, refusal in applying.items() if refusal is None]
    replanning = SWITCHING if replanned else ""
    return Choice(chosen, reason, tuple(passed_over.items()), estimates(program, able), replanning)


def _requested(query: TemporalQuery, requested: str, refusals: dict[str, str | None]) -> str:
    """The evaluator asked for, if it can run the query."""
    hint = "leave the option out, every evaluator gives the same rows"
    refused = f"query '{query.name}' cannot be run with --evaluator {requested}"
    if requested not in EVALUATORS:
        raise InputError(f"unknown evaluator '{requested}'", hint=f"one of: auto, {', '.join(EVALUATORS)}")
    if refusals[requested] is not None:
        raise InputError(f"{refused}: {refusals[requested]}", hint=hint)
    return requested


def _how_runs_are_kept(compiled: Compiled) -> str:
    """Which of the two implementations of runs takes the query, and why."""
    refusal = why_no_registers(compiled)
    if refusal is None:
        kept = "as a register automaton, event by event, its conditions guards over registers"
        return kept + _RECOGNISED[compiled.program.wanted]
    return f"a set of runs at a time, not as a register automaton: {refusal}"


def _weaker(name: str, requested: str) -> str:
    """Why an evaluator that could run the query does not."""
    if requested != "auto":
        return f"{requested} is asked for"
    return f"it could, at a cost that grows with the runs: {_KINDS[name].why}"
