"""Which evaluator runs a query, and why."""

from __future__ import annotations

from dataclasses import dataclass

from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import InputError

EVALUATORS = {"nfa": "run-based NFA^scep"}
"""The evaluators of this version by the name that `--evaluator` takes."""
_NAMED_ELSEWHERE = {
    "cea": "complex event automata",
    "lazy": "lazy chain automata",
    "tree": "lazy tree automata",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """The evaluator chosen; `others` are the names of those that were not, each with the reason."""

    name: str
    reason: str
    others: tuple[tuple[str, str], ...]


def choose_evaluator(query: TemporalQuery, requested: str = "auto") -> Choice:
    """The evaluator for a query; raises InputError for one that this version does not have."""
    others = tuple((name, f"this version has no {title}") for name, title in _NAMED_ELSEWHERE.items())
    if requested in _NAMED_ELSEWHERE:
        raise InputError(
            f"query '{query.name}' cannot be run with --evaluator {requested}: this version has no "
            f"{_NAMED_ELSEWHERE[requested]}",
            hint=f"this version has: {', '.join(EVALUATORS)}; every evaluator gives the same rows",
        )
    if requested not in ("auto", *EVALUATORS):
        raise InputError(f"unknown evaluator '{requested}'", hint=f"one of: auto, {', '.join(EVALUATORS)}")
    reason = "asked for" if requested != "auto" else "it evaluates every construct of the language"
    return Choice("nfa", reason, others)
