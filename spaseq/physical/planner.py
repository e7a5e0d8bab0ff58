"""Which evaluator runs a query, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from automata.applicability import why_not_cea
from automata.program import Program
from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import InputError
from spaseq.physical.program import Compiled, compile_program
from spaseq.physical.register_applies import why_no_registers


@dataclass(frozen=True, slots=True)
class _Kind:
    """An evaluator that this version has.

    title       what it is
    why_not     what keeps it from running a program, in words, or None
    why         why it is chosen where it can run
    """

    title: str
    why_not: Callable[[Program], str | None]
    why: str


_KINDS = {
    "cea": _Kind(
        "complex event automata with tECS",
        why_not_cea,
        "the steps are related by nothing but equality on a key: constant time an event",
    ),
    "nfa": _Kind("run-based NFA^scep", lambda program: None, "it evaluates every construct of the language"),
}
"""By the name that `--evaluator` takes, the most preferred first."""
EVALUATORS = {name: kind.title for name, kind in _KINDS.items()}
"""The evaluators of this version by the name that `--evaluator` takes."""
_NAMED_ELSEWHERE = {"lazy": "lazy chain automata", "tree": "lazy tree automata"}


@dataclass(frozen=True, slots=True)
class Choice:
    """The evaluator chosen; `others` are the names of those that were not, each with the reason."""

    name: str
    reason: str
    others: tuple[tuple[str, str], ...]


def choose_evaluator(query: TemporalQuery, requested: str = "auto") -> Choice:
    """The evaluator for a query; raises InputError for one that cannot run it, or that this version does not have."""
    compiled = compile_program(query)
    program = compiled.program
    refusals = {name: kind.why_not(program) for name, kind in _KINDS.items()}
    if requested == "auto":
        chosen = next(name for name, refusal in refusals.items() if refusal is None)
        reason = _KINDS[chosen].why
    else:
        chosen, reason = _requested(query, requested, refusals), "asked for"
    if chosen == "nfa":
        reason = f"{reason}; {_how_runs_are_kept(compiled)}"
    passed_over = {name: refusal or _weaker(name, requested) for name, refusal in refusals.items() if name != chosen}
    missing = {name: f"this version has no {title}" for name, title in _NAMED_ELSEWHERE.items()}
    return Choice(chosen, reason, tuple((passed_over | missing).items()))


def _requested(query: TemporalQuery, requested: str, refusals: dict[str, str | None]) -> str:
    """The evaluator asked for, if it can run the query."""
    hint = "leave the option out, every evaluator gives the same rows"
    refused = f"query '{query.name}' cannot be run with --evaluator {requested}"
    if requested in _NAMED_ELSEWHERE:
        known = ", ".join(EVALUATORS)
        raise InputError(
            f"{refused}: this version has no {_NAMED_ELSEWHERE[requested]}", hint=f"this version has: {known}; {hint}"
        )
    if requested not in EVALUATORS:
        raise InputError(f"unknown evaluator '{requested}'", hint=f"one of: auto, {', '.join(EVALUATORS)}")
    if refusals[requested] is not None:
        raise InputError(f"{refused}: {refusals[requested]}", hint=hint)
    return requested


def _how_runs_are_kept(compiled: Compiled) -> str:
    """Which of the two implementations of runs takes the query, and why."""
    refusal = why_no_registers(compiled)
    if refusal is None:
        return "as a register automaton, event by event, its conditions guards over registers"
    return f"a set of runs at a time, not as a register automaton: {refusal}"


def _weaker(name: str, requested: str) -> str:
    """Why an evaluator that could run the query does not."""
    if requested != "auto":
        return f"{requested} is asked for"
    return f"it could, at a cost that grows with the runs: {_KINDS[name].why}"
