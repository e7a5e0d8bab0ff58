"""Whether the register automaton takes a query: an implementation of the run-based evaluator for a part of it."""

from __future__ import annotations

from automata.registers.tables import why_not
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.matcher_describe import expression_text
from spaseq.physical.program import Compiled
from spaseq.physical.register_guard import guard_of


def why_no_registers(compiled: Compiled) -> str | None:
    """Why not, in words for `explain`; None if it does."""
    reason = why_not(compiled.program)
    if reason is not None:
        return reason
    dictionary = Dictionary()
    for condition, expression in zip(compiled.program.conditions, compiled.conditions, strict=True):
        names = {getattr(compiled.nodes[r], "name", ""): r for r in condition.references if isinstance(r, int)}
        if guard_of(expression, names, dictionary) is None:
            return f"the condition {expression_text(expression)} is more than comparisons of numbers"
    return None
