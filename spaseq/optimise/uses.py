"""The uses of a step's variables before and in the output, and the places of the step in the sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from automata.plan import expression as nodes
from automata.plan.expression import Expression
from sparql_gpm.algebra.scope import expression_variables, mentioned
from sparql_gpm.pattern import Aggregate, Iteration, Variable
from spaseq.algebra.build import plain_nodes
from spaseq.algebra.nodes import TemporalQuery


def needed_before_output(query: TemporalQuery, step: int) -> Mapping[str, str]:
    """Variable → what reads its value before a match is complete, or more than its last value."""
    partition = query.partition if query.using is None else query.using.variables
    needed = dict.fromkeys(partition, "by PARTITION BY")
    for number, pattern in enumerate(query.patterns):
        if number != step and (query.using is None or number != query.using.symbol):
            needed |= dict.fromkeys(mentioned(pattern.pattern), f"by the pattern of {pattern.name}")
        for condition in pattern.conditions:
            needed |= dict.fromkeys(expression_variables(condition), f"by a condition of {pattern.name}")
    for each in query.filters:
        needed |= dict.fromkeys(expression_variables(each.expression), "by a FILTER beside the DEFINEs")
    for expression in query.output_expressions():
        for node in plain_nodes(expression):
            if isinstance(node, Iteration | Aggregate):
                needed |= dict.fromkeys(expression_variables(node), "in every iteration, for the output")
    return needed


def read_by_output(query: TemporalQuery) -> frozenset[str]:
    """The variables of the projection or the template."""
    expressions = (*query.output_expressions(), *query.shown_expressions())
    found = {name for expression in expressions for name in expression_variables(expression)}
    for triple in query.template or ():
        terms = (triple.pattern.subject, triple.pattern.predicate, triple.pattern.object)
        found |= {node.name for node in terms if isinstance(node, Variable)}
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a step: inside `!`; inside `?` or `|`, so that it may be absent; and that inside a repetition."""

    negated: bool
    skippable: bool
    sometimes: bool


def places(expression: Expression, symbol: int) -> tuple[Place, ...]:
    """Every place of a step in a sequence."""
    return tuple(_place(around) for step, around in nodes.steps(expression) if step.symbol == symbol)


def _place(around: Sequence[Expression]) -> Place:
    negated = any(isinstance(node, nodes.Negation) for node in around)
    skippable = [isinstance(node, nodes.Optional | nodes.Choice) for node in around]
    repeated = [isinstance(node, nodes.Repetition) for node in around]
    sometimes = True in repeated and any(skippable[repeated.index(True) :])
    return Place(negated, any(skippable), sometimes)
