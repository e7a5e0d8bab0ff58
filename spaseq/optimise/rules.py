"""Equivalences that bring a pattern over a knowledge base to the end of a graph pattern.

In the equations p and q are patterns, c is a condition, and k is `GRAPH <iri> { … }`. `new(k)` are the variables that
only k binds, `key(k)` those that it shares with p. Every rule requires that every solution of p binds key(k): then k
extends a solution by values that depend on p alone. What lifts k by one level, where q and c have no variable of new(k)
and c of BIND is pure:

    Filter(c, LeftJoin(p, k))       ->  LeftJoin(Filter(c, p), k)
    Join(LeftJoin(p, k), q)         ->  LeftJoin(Join(p, q), k), and its mirror image
    LeftJoin(LeftJoin(p, k), q, c)  ->  LeftJoin(LeftJoin(p, q, c), k)
    Minus(LeftJoin(p, k), q)        ->  LeftJoin(Minus(p, q), k)
    Extend(LeftJoin(p, k), v, c)    ->  LeftJoin(Extend(p, v, c), k)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sparql_gpm.algebra.analysis import is_volatile
from sparql_gpm.algebra.scope import certain, expression_variables, in_scope, labels
from sparql_gpm.algebra.traversal import exists_in
from sparql_gpm.pattern import (
    BGP,
    EMPTY,
    Expression,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Pattern,
    Triple,
)
from sparql_gpm.terms import IRI


def filter_enters(node: Pattern) -> Pattern:
    """LeftJoin(p, GRAPH g {q}, c) -> LeftJoin(p, GRAPH g {Filter(c, q)}), where c sees what q binds, and no graph."""
    match node:
        case LeftJoin(left, Graph(name, inner), condition) if condition is not None:
            used = expression_variables(condition)
            pure = not exists_in(condition) and not is_volatile(condition)
            if pure and used <= in_scope(inner) and used & in_scope(left) <= certain(inner):
                return LeftJoin(left, Graph(name, Filter(condition, inner)), None)
    return node


def operands(pattern: Pattern) -> tuple[Pattern, ...]:
    """The operands of nested joins, in order: p, q, r, s for Join(Join(p, q), Join(r, s)); none for the unit."""
    match pattern:
        case Join(left, right):
            return (*operands(left), *operands(right))
        case _:
            return () if pattern == EMPTY else (pattern,)


def joined(patterns: tuple[Pattern, ...]) -> Pattern:
    """The join of some patterns: join is associative and commutative, and its unit is the empty pattern."""
    result: Pattern = EMPTY
    for pattern in patterns:
        result = pattern if result == EMPTY else Join(result, pattern)
    return result


def splits(node: Pattern) -> Iterator[tuple[Graph, Graph]]:
    """GRAPH g {T ∪ {t}} -> Join(GRAPH g {T}, GRAPH g {t}), where t shares no blank node with the other triples T."""
    match node:
        case Graph(name, BGP(triples)) if len(triples) > 1:
            for place, triple in enumerate(triples):
                others = triples[:place] + triples[place + 1 :]
                if isinstance(triple, Triple) and not labels((triple,)) & labels(others):
                    yield Graph(name, BGP(others)), Graph(name, BGP((triple,)))


def keys_of(left: Pattern, last: Graph) -> tuple[str, ...]:
    """key(k), sorted."""
    return tuple(sorted(in_scope(left) & in_scope(last)))


def new_variables(left: Pattern, last: Graph) -> frozenset[str]:
    """new(k)."""
    return frozenset(in_scope(last) - in_scope(left))


def is_keyed(left: Pattern, last: Graph) -> bool:
    """True if every solution of p binds key(k)."""
    return frozenset(keys_of(left, last)) <= certain(left)


@dataclass(frozen=True, slots=True)
class Form:
    """The graph pattern as `LeftJoin(rest, last, condition)`.

    of          the node of the pattern that `last` is, or is a part of
    beside      the patterns that it was joined with, each of whose solutions must provably have one in `last`;
                None: it was optional
    """

    rest: Pattern
    last: Graph
    of: Graph
    beside: tuple[Pattern, ...] | None = None
    condition: bool = False


def forms(pattern: Pattern) -> Iterator[Form]:
    """Every form of the pattern, the outermost first."""
    match pattern:
        case LeftJoin(_, Graph(IRI()) as last, _):
            node = filter_enters(pattern)
            assert isinstance(node, LeftJoin) and isinstance(node.right, Graph), node
            yield Form(node.left, node.right, last, condition=node.condition is not None)
    match pattern:
        case Join() | Graph():
            yield from _inner_forms(operands(pattern))
        case LeftJoin(left, right, condition):
            for form in _lifted(left, right, condition):
                yield replace(form, rest=LeftJoin(form.rest, right, condition))
        case Minus(left, right):
            for form in _lifted(left, right):
                yield replace(form, rest=Minus(form.rest, right))
        case Filter(condition, inner):
            for form in _lifted(inner, of=condition):
                yield replace(form, rest=Filter(condition, form.rest))
        case Extend(inner, variable, expression) if not is_volatile(expression):
            for form in _lifted(inner, of=expression):
                yield replace(form, rest=Extend(form.rest, variable, expression))


def _inner_forms(joint: tuple[Pattern, ...]) -> Iterator[Form]:
    for place, part in enumerate(joint):
        others = joint[:place] + joint[place + 1 :]
        if not isinstance(part, Graph):
            for form in _lifted(part, joined(others)):
                yield replace(form, rest=Join(form.rest, joined(others)))
        elif isinstance(part.name, IRI):
            yield Form(joined(others), part, part, others)
            for kept, last in splits(part):
                rest = (*joint[:place], kept, *joint[place + 1 :])
                yield Form(joined(rest), last, part, rest)


def _lifted(operand: Pattern, other: Pattern = EMPTY, of: Expression | None = None) -> Iterator[Form]:
    """The forms of an operand whose k can be lifted over the node around it, which has q and c beside the operand."""
    used = in_scope(other) | (frozenset() if of is None else expression_variables(of))
    for form in forms(operand):
        left, last = form.rest, form.last
        if not form.condition and is_keyed(left, last) and not used & new_variables(left, last):
            yield form
