"""Variants of a query that leave a constraint out, or ask for the beginning of its sequence only.

The rows of a variant are never reported, so selectors, AFTER MATCH, LIMIT and values are left out of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression, limits_of, map_children, symbols, walk
from automata.plan.program import ENDLESS, Selector, Skip
from sparql_gpm.algebra.scope import expression_variables
from sparql_gpm.algebra.traversal import exists_in, map_operands
from sparql_gpm.pattern import Expression as Condition
from sparql_gpm.pattern import Iteration, Variable
from spaseq.algebra.nodes import TemporalQuery


@dataclass(frozen=True, slots=True)
class Variant:
    """A query over the solutions that another one has seen.

    origins     by symbol, that of the query that saw the solutions
    renamed     by symbol, variable → its name there
    """

    query: TemporalQuery
    origins: tuple[int, ...]
    renamed: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    def where(self, **changes: Any) -> Variant:
        """The same with changes of the query."""
        return replace(self, query=replace(self.query, **changes))


def plain(query: TemporalQuery) -> Variant:
    """The query up to its complete matches, without conditions that look into graphs of events (EXISTS)."""
    patterns = tuple(
        replace(pattern, conditions=tuple(each for each in pattern.conditions if not exists_in(each)))
        for pattern in query.patterns
    )
    bare = replace(
        query, patterns=patterns, selector=Selector.ALL, skip=Skip.NO_SKIP, skip_to=None, distinct=False, limit=None,
        binds=(), columns=(), template=None, register=None, enrichments=(), over=None,
    )  # fmt: skip
    return Variant(bare, tuple(range(len(patterns))))


def items(expression: Expression) -> list[Expression]:
    """The elements of the sequence."""
    return list(expression.items) if isinstance(expression, nodes.Sequence) else [expression]


def beginning(variant: Variant, count: int) -> Variant:
    """The query for its first elements, without conditions that wait for a later one."""
    whole = variant.query.sequence
    if not isinstance(whole, nodes.Sequence) or count == len(whole.items):
        return variant
    first = whole.items[0] if count == 1 else part_of(whole, 0, count)
    used, later = (_bound(variant.query, each) for each in (first, part_of(whole, count, len(whole.items))))
    steps = symbols(first)
    patterns = tuple(
        replace(
            pattern,
            conditions=tuple(
                each for each in pattern.conditions if symbol in steps and not (_read(each) & later - used)
            ),
        )
        for symbol, pattern in enumerate(variant.query.patterns)
    )
    filters = tuple(f for f in variant.query.filters if not f.at_end and not (_read(f.expression) & later - used))
    return variant.where(sequence=first, patterns=patterns, filters=filters)


def part_of(sequence: nodes.Sequence[int], begin: int, end: int) -> nodes.Sequence[int]:
    """Some consecutive elements of a sequence."""
    inside = slice(begin, max(end - 1, begin))
    limits = limits_of(sequence)[inside]
    return nodes.Sequence(sequence.items[begin:end], sequence.operators[inside], limits=limits)


def without_item(sequence: nodes.Sequence[int], index: int) -> Expression:
    """The sequence without a negated element; an operator, and its limit, belong to the element behind it."""
    rest, gone = sequence.items[:index] + sequence.items[index + 1 :], max(index - 1, 0)
    if len(rest) == 1:
        return rest[0]
    operators = sequence.operators[:gone] + sequence.operators[gone + 1 :]
    limits = limits_of(sequence)
    return nodes.Sequence(rest, operators, limits=limits[:gone] + limits[gone + 1 :])


def without_negations(node: Expression, gone: Callable[[nodes.Negation[int]], bool]) -> Expression:
    """The expression without some of its `!`, those inside groups included, but none inside `!` and `?`."""
    if isinstance(node, nodes.Negation | nodes.Optional):
        return node
    if isinstance(node, nodes.Sequence):
        for index, part in enumerate(node.items):
            if isinstance(part, nodes.Negation) and gone(part):
                return without_negations(without_item(node, index), gone)
    return map_children(node, lambda child: without_negations(child, gone))


def negations(node: Expression) -> list[nodes.Negation[int]]:
    """Every `!` that is not inside another one, nor inside `?`."""
    if isinstance(node, nodes.Negation):
        return [node]
    inside = () if isinstance(node, nodes.Optional) else nodes.children(node)
    return [found for child in inside for found in negations(child)]


def without_window(variant: Variant) -> Variant:
    """The query in a window without an end."""
    return variant.where(window=ENDLESS)


def without_contiguity(variant: Variant) -> Variant:
    """The query with `:` before its last element and inside of it."""

    def loose(node: Expression) -> Expression:
        node = node if isinstance(node, nodes.Negation) else map_children(node, loose)
        match node:
            case nodes.Sequence(_, operators):
                return replace(node, operators=(Contiguity.ANY,) * len(operators))
            case nodes.Repetition():
                return replace(node, contiguity=Contiguity.ANY)
        return node

    changed = _with_last(variant, loose)
    whole = changed.query.sequence
    if not isinstance(whole, nodes.Sequence):
        return changed
    return changed.where(sequence=replace(whole, operators=(*whole.operators[:-1], Contiguity.ANY)))


def without_counts(variant: Variant) -> Variant:
    """The query in which one iteration is enough for the repetitions of the last element."""

    def once(node: Expression) -> Expression:
        node = map_children(node, once)
        return replace(node, at_least=1) if isinstance(node, nodes.Repetition) else node

    return _with_last(variant, once)


def counted(node: Expression) -> list[nodes.Repetition[int]]:
    """The repetitions that ask for more than one iteration."""
    return [each for each in walk(node) if isinstance(each, nodes.Repetition) and each.at_least > 1]


def without_limits(variant: Variant) -> Variant:
    """The query without the limits before its last element and inside of it."""

    def free(node: Expression) -> Expression:
        node = node if isinstance(node, nodes.Negation) else map_children(node, free)
        match node:
            case nodes.Limited(inner):
                return inner
            case nodes.Sequence():
                return replace(node, limits=())
        return node

    changed = _with_last(variant, free)
    whole = changed.query.sequence
    if not isinstance(whole, nodes.Sequence) or not whole.limits:
        return changed
    return changed.where(sequence=replace(whole, limits=(*whole.limits[:-1], None)))


def limits(variant: Variant) -> list[nodes.Limit]:
    """The limits before the last element and inside of it."""
    whole = variant.query.sequence
    last = items(whole)[-1]
    found = [*limits_of(whole)[-1:]] if isinstance(whole, nodes.Sequence) else []
    for node in walk(last):
        if isinstance(node, nodes.Limited):
            found.append(node.limit)
        elif isinstance(node, nodes.Sequence):
            found += limits_of(node)
    return [each for each in found if each is not None]


def _with_last(variant: Variant, change: Callable[[Expression], Expression]) -> Variant:
    """The query with a change of its last element."""
    whole = variant.query.sequence
    if not isinstance(whole, nodes.Sequence):
        return variant.where(sequence=change(whole))
    return variant.where(sequence=replace(whole, items=(*whole.items[:-1], change(whole.items[-1]))))


def without_condition(variant: Variant, condition: Condition) -> Variant:
    """The query without a condition."""
    patterns = tuple(
        replace(pattern, conditions=tuple(each for each in pattern.conditions if each is not condition))
        for pattern in variant.query.patterns
    )
    filters = tuple(each for each in variant.query.filters if each.expression is not condition)
    return variant.where(patterns=patterns, filters=filters)


def conditions(variant: Variant) -> list[Condition]:
    """The conditions of the steps that are used, and of the match."""
    used = symbols(variant.query.sequence)
    owned = [each for symbol in used for each in variant.query.patterns[symbol].conditions]
    return [*owned, *(each.expression for each in variant.query.filters)]


def joins(variant: Variant) -> list[str]:
    """The variables by which the last element joins those before it, or its own steps each other.

    Those that USING binds are not among them.
    """
    elements = items(variant.query.sequence)
    before, last = elements[:-1], elements[-1]
    patterns, hidden = variant.query.patterns, variant.query.partition if variant.query.using else ()
    own = [name for symbol in symbols(last) for name in patterns[symbol].variables]
    earlier = {name for each in before for symbol in symbols(each) for name in patterns[symbol].variables}
    shared = (name for name in own if name not in hidden and (name in earlier or own.count(name) > 1))
    return list(dict.fromkeys(shared))


def without_join(variant: Variant, variable: str) -> Variant:
    """The query in which each step of the last element may have another value of a variable."""
    elements = items(variant.query.sequence)
    query, renamed, origins = variant.query, dict(variant.renamed), list(variant.origins)
    patterns, copies = list(query.patterns), {}
    for symbol in symbols(elements[-1]):
        if variable not in patterns[symbol].variables:
            continue
        number, own = len(patterns), f"{variable} of {patterns[symbol].name}"
        copies[symbol] = number
        pattern = patterns[symbol]
        origins.append(origins[symbol])
        renamed[number] = {**renamed.get(symbol, {}), own: variable}
        patterns.append(
            replace(
                pattern,
                name=f"{pattern.name} {number}",
                variables=tuple(own if name == variable else name for name in pattern.variables),
                certain=frozenset(own if name == variable else name for name in pattern.certain),
                conditions=tuple(_renamed(each, variable, own) for each in pattern.conditions),
            )
        )
    sequence = _with_last(variant, lambda last: _replaced(last, copies)).query.sequence
    names = tuple(dict.fromkeys(name for pattern in patterns for name in pattern.variables))
    partition = () if variable in query.partition else query.partition
    changed = replace(query, sequence=sequence, patterns=tuple(patterns), variables=names, partition=partition)
    return Variant(changed, tuple(origins), renamed)


def _replaced(node: Expression, copies: Mapping[int, int]) -> Expression:
    """The expression with other symbols."""
    if isinstance(node, nodes.Step):
        return replace(node, symbol=copies.get(node.symbol, node.symbol))
    return map_children(node, lambda child: _replaced(child, copies))


def _renamed(expression: Condition, variable: str, name: str) -> Condition:
    match expression:
        case Variable(old) if old == variable:
            return Variable(name)
        case Iteration(kind, old) if old == variable:
            return Iteration(kind, name)
    return map_operands(expression, lambda operand: _renamed(operand, variable, name))


def _bound(query: TemporalQuery, node: Expression) -> frozenset[str]:
    return frozenset(name for symbol in symbols(node, negated=False) for name in query.patterns[symbol].variables)


def _read(expression: Condition) -> frozenset[str]:
    return expression_variables(expression)
