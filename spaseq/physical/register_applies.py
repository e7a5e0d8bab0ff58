"""Whether the register automaton takes a query: an implementation of the run-based evaluator for a part of it."""

from __future__ import annotations

from automata.registers.iterated import register_of
from automata.registers.tables import why_not
from sparql_gpm.algebra.describe import expression_text
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.evaluator import column_name
from sparql_gpm.pattern import Aggregate, Iteration, Variable
from spaseq.physical.program import Compiled
from spaseq.physical.register_guard import guard_of


def why_no_registers(compiled: Compiled) -> str | None:
    """Why not, in words for `explain`; None if it does."""
    reason = why_not(compiled.program)
    if reason is not None:
        return reason
    dictionary, registers = Dictionary(), register_of(compiled.program)
    for condition, expression in zip(compiled.program.conditions, compiled.conditions, strict=True):
        names = {_name(compiled.nodes[r]): registers[r] for r in condition.references}
        if guard_of(expression, names, dictionary) is None:
            return f"the condition {expression_text(expression)} is more than comparisons of numbers"
    return None


def _name(node: Variable | Iteration | Aggregate) -> str:
    """What a guard calls a register."""
    return node.name if isinstance(node, Variable) else column_name(node)
