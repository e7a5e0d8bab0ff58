"""From the parsed SEQ( ) to the normal form of `automata.plan.expression`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, product

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression, Span, flattened
from spaseq.lang.ast import Expr


def normal_form(node: Expr, numbers: Mapping[str, int], opens: bool = True) -> Expression:
    """The normal form of an expression; its symbols are the numbers of the step names.

    opens   no positive step precedes: a repetition without a contiguity is then skip-till-next, else strict
            (G Definitions 13-14)
    """

    def inner(child: Expr) -> Expression:
        return normal_form(child, numbers, opens)

    match node:
        case nodes.Step(name):
            return nodes.Step(numbers[name], span=node.span)
        case nodes.Sequence():
            return _sequence(node, numbers, opens)
        case nodes.Choice(branches):
            return _choice(map(inner, branches), node.span)
        case nodes.Conjunction():
            return _choice(map(nodes.Conjunction, _alternatives(node, numbers)), node.span)
        case nodes.AnyOrder(members):
            return nodes.AnyOrder(tuple(map(inner, members)), span=node.span)
        case nodes.Repetition(body, at_least, at_most, written, possessive):
            contiguity = written or (Contiguity.NEXT if opens else Contiguity.STRICT)
            return nodes.Repetition(inner(body), at_least, at_most, contiguity, possessive, span=node.span)
        case nodes.Optional(body):
            return nodes.Optional(inner(body), span=node.span)
        case nodes.Negation(body, limit=limit):
            return nodes.Negation(inner(body), limit=limit, span=node.span)
        case nodes.Limited(body, limit):
            return nodes.Limited(inner(body), limit, span=node.span)


def _sequence(node: nodes.Sequence[str], numbers: Mapping[str, int], opens: bool) -> Expression:
    items: list[Expression] = []
    for item in node.items:
        items.append(normal_form(item, numbers, opens))
        opens = opens and not nodes.symbols(item, negated=False)
    if len(items) == 1:
        return items[0]
    return flattened(
        nodes.Sequence(
            tuple(items), node.operators, limits=node.limits, span=node.span, operator_spans=node.operator_spans
        )
    )


def _choice(branches: Iterable[Expression], span: Span) -> Expression:
    flat = chain.from_iterable(b.branches if isinstance(b, nodes.Choice) else (b,) for b in branches)
    distinct = tuple(dict.fromkeys(flat))
    return distinct[0] if len(distinct) == 1 else nodes.Choice(distinct, span=span)


def _alternatives(node: Expr, numbers: Mapping[str, int]) -> list[tuple[nodes.Step[int], ...]]:
    """The steps at one time of each alternative of a conjunction: A & C and B & C for `(A | B) & C`."""
    match node:
        case nodes.Choice(branches):
            return [steps for branch in branches for steps in _alternatives(branch, numbers)]
        case nodes.Conjunction(members):
            combinations = product(*(_alternatives(member, numbers) for member in members))
            return [tuple(chain.from_iterable(combination)) for combination in combinations]
    assert isinstance(node, nodes.Step), f"not a member of a conjunction: {node}"
    return [(nodes.Step(numbers[node.symbol], span=node.span),)]
