"""PARTITION BY … USING { P }: the variables that a partition binds before the first step (specification 3.4).

P is one more GPM, on every stream, that no step takes. Where it has a solution, an event is in the substream of its
values, and each solution of a step in that event belongs to one of them. The value is kept apart from what steps bind:
a step may leave the variable unbound, and iterations range over what steps bind alone. So `?u` of PARTITION BY is one
variable and `?u` of a GPM another one, which has the same value wherever it is bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sparql_gpm.algebra.canonical import renamed
from sparql_gpm.algebra.scope import mentioned
from sparql_gpm.algebra.traversal import map_operands
from sparql_gpm.pattern import Adding, Aggregate, Exists, Expression, Iteration, Node, Variable
from spaseq.lang.ast import TemplateTriple

USING = "USING"
"""The name of the GPM; steps come before it, one of that name, too."""
_MARK = "#"
"""No variable of a query has it in its name; it sorts before whatever may follow in a longer name."""


def partition_variable(name: str) -> str:
    """The variable of the partition, for `?name` of PARTITION BY."""
    return name + _MARK


def as_written(name: str) -> str:
    """A variable as the query writes it."""
    return name.removesuffix(_MARK)


def in_writing(expression: Expression) -> Expression:
    """The expression with variables as the query writes them."""
    match expression:
        case Variable(name):
            return Variable(as_written(name))
        case Exists(pattern):
            hidden = {name: as_written(name) for name in mentioned(pattern) if as_written(name) != name}
            return replace(expression, pattern=renamed(pattern, hidden))
    return map_operands(expression, in_writing)


def of_match(expression: Expression, given: Mapping[str, str], over: bool = False) -> Expression:
    """The expression with the partition's variables in place of plain ones; values of iterations are those of steps.

    over    its outermost aggregates range over matches
    """
    match expression:
        case Variable(name):
            return Variable(given.get(name, name))
        case Aggregate(argument=argument) if over and argument is not None:
            return replace(expression, argument=_added(expression, of_match(argument, given)))
        case Aggregate() | Iteration():
            return expression
        case Exists(pattern):
            return replace(expression, pattern=renamed(pattern, given)) if given else expression
    return map_operands(expression, lambda operand: of_match(operand, given, over))


def _added(outer: Aggregate, argument: Expression) -> Expression:
    """The argument of an aggregate over matches: a SUM adds the numbers of iterations exactly (specification 3.4.5)."""
    if not isinstance(argument, Aggregate) or argument.name != "SUM" or argument.distinct:
        return argument
    whole = outer.name in ("SUM", "AVG") and not outer.distinct
    return replace(argument, adding=Adding.EXACTLY if whole else Adding.ONCE)


def in_template(triple: TemplateTriple, given: Mapping[str, str], over: bool) -> TemplateTriple:
    """The same for a triple of a template."""
    own = triple.pattern
    pattern = replace(
        own,
        subject=_node(own.subject, given),
        predicate=_node(own.predicate, given),
        object=_node(own.object, given),
    )
    return TemplateTriple(pattern, None if triple.object is None else of_match(triple.object, given, over))


def _node(node: Node, given: Mapping[str, str]) -> Node:
    return Variable(given.get(node.name, node.name)) if isinstance(node, Variable) else node
