"""The variables whose values are read before a match is complete, and those that the output reads."""

from __future__ import annotations

from collections.abc import Mapping

from sparql_gpm.algebra.scope import expression_variables, mentioned
from sparql_gpm.pattern import Aggregate, Iteration, Variable
from spaseq.algebra.build import plain_nodes
from spaseq.algebra.nodes import TemporalQuery


def needed_before_output(query: TemporalQuery, step: int) -> Mapping[str, str]:
    """Variable → what reads its value before a match is complete, or more than its last value."""
    needed: dict[str, str] = {}
    for name in query.partition:
        needed[name] = "by PARTITION BY"
    for number, pattern in enumerate(query.patterns):
        if number != step:
            needed |= dict.fromkeys(mentioned(pattern.pattern), f"by the pattern of {pattern.name}")
        for condition in pattern.conditions:
            needed |= dict.fromkeys(expression_variables(condition), f"by a condition of {pattern.name}")
    for expression in query.output_expressions():
        for node in plain_nodes(expression):
            if isinstance(node, Iteration | Aggregate):
                needed |= dict.fromkeys(expression_variables(node), "in every iteration, for the output")
    return needed


def read_by_output(query: TemporalQuery) -> frozenset[str]:
    """The variables of the projection or the template."""
    found = {name for expression in query.output_expressions() for name in expression_variables(expression)}
    for triple in query.template or ():
        nodes = (triple.pattern.subject, triple.pattern.predicate, triple.pattern.object)
        found |= {node.name for node in nodes if isinstance(node, Variable)}
    return frozenset(found)
