"""A pattern as stages that are evaluated one after the other, so that what each leaves over can be counted.

The order is fixed: it depends on the pattern alone, not on data, so that the counts of several batches add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.analysis import is_volatile
from sparql_gpm.algebra.rewrite import conjuncts, decided_by
from sparql_gpm.algebra.traversal import nodes
from sparql_gpm.algebra.triple_terms import statements
from sparql_gpm.pattern import BGP, EMPTY, Expression, Extend, Filter, Join, LeftJoin, Member, Minus, Pattern, Variable


class Kind(Enum):
    """A kind of stage."""

    TRIPLE = auto()
    JOINED = auto()
    KNOWLEDGE = auto()
    OVER = auto()


@dataclass(frozen=True, slots=True)
class Stage:
    """A triple pattern, a pattern that is joined, GRAPH or SERVICE; or an operator over all stages before.

    node    of a triple pattern it is a BGP, with the triple terms in it; of an operator (OPTIONAL, MINUS, BIND, FILTER)
            EMPTY stands in place of what it is over
    """

    kind: Kind
    node: Pattern


def stages(pattern: Pattern, filters: Sequence[Expression] = ()) -> tuple[Stage, ...]:
    """The stages of a pattern: triple patterns, other patterns, filters, background knowledge.

    OPTIONAL, MINUS and BIND stay behind what is written before them, and a filter on variables of background knowledge
    behind that.

    filters     those of its conditions that are one stage each, in this order; every other one is a stage, too
    """
    conditions: list[Expression] = []
    while isinstance(pattern, Filter):
        conditions += conjuncts(pattern.condition)
        pattern = pattern.inner
    whole = [each for each in filters if set(conjuncts(each)) <= set(conditions)]
    inside = {conjunct for each in whole for conjunct in conjuncts(each)}
    whole += dict.fromkeys(each for each in conditions if each not in inside)
    *before, last = _segments(pattern)
    knowledge = [stage for stage in last if stage.kind is Kind.KNOWLEDGE]
    first = [stage for segment in before for stage in _ordered(segment)]
    first += _ordered([stage for stage in last if stage.kind is not Kind.KNOWLEDGE])
    side, other = together(first), together(knowledge)
    early = [each for each in whole if not is_volatile(each) and decided_by(each, side, other)]
    late = [each for each in whole if each not in early]
    return (*first, *map(_filter, early), *knowledge, *map(_filter, late))


def together(some: Sequence[Stage]) -> Pattern:
    """The pattern of some stages."""
    result: Pattern = EMPTY
    for stage in some:
        result = _grown(result, stage)
    return result


def _grown(pattern: Pattern, stage: Stage) -> Pattern:
    match stage.node:
        case BGP(triples) if stage.kind is Kind.TRIPLE and isinstance(pattern, BGP):
            return BGP((*pattern.triples, *triples))
        case LeftJoin(_, right, condition) if stage.kind is Kind.OVER:
            return LeftJoin(pattern, right, condition)
        case Minus(_, right) if stage.kind is Kind.OVER:
            return Minus(pattern, right)
        case Extend(_, variable, expression) if stage.kind is Kind.OVER:
            return Extend(pattern, variable, expression)
        case Filter(condition, _) if stage.kind is Kind.OVER:
            return Filter(condition, pattern)
        case joined:
            return joined if pattern == EMPTY else Join(pattern, joined)


def _filter(condition: Expression) -> Stage:
    return Stage(Kind.OVER, Filter(condition, EMPTY))


def _segments(pattern: Pattern) -> list[list[Stage]]:
    """The stages up to each OPTIONAL, MINUS and BIND, which is a segment of its own."""
    match pattern:
        case LeftJoin(left, right, condition):
            return [*_segments(left), [Stage(Kind.OVER, LeftJoin(EMPTY, right, condition))], []]
        case Minus(left, right):
            return [*_segments(left), [Stage(Kind.OVER, Minus(EMPTY, right))], []]
        case Extend(inner, variable, expression):
            return [*_segments(inner), [Stage(Kind.OVER, Extend(EMPTY, variable, expression))], []]
    first, *others = _operands(pattern)
    segments = _segments(first) if isinstance(first, LeftJoin | Minus | Extend) else [list(_joined(first))]
    for part in others:
        segments[-1] += _joined(part)
    return segments


def _operands(pattern: Pattern) -> list[Pattern]:
    match pattern:
        case Join(left, right):
            return [*_operands(left), *_operands(right)]
    return [pattern]


def _joined(pattern: Pattern) -> Iterator[Stage]:
    match pattern:
        case BGP(triples):
            yield from (Stage(Kind.TRIPLE, BGP((triple, *terms))) for triple, terms in statements(triples))
        case algebra.Graph() | algebra.Service():
            yield Stage(Kind.KNOWLEDGE, pattern)
        case _:
            yield Stage(Kind.JOINED, pattern)


def _ordered(segment: Sequence[Stage]) -> Iterator[Stage]:
    """The stages of a segment: triple patterns, of which those that share a variable with one before come first."""
    known: set[str] = set()
    waiting = [stage for stage in segment if stage.kind is Kind.TRIPLE]
    while waiting:
        following = min(waiting, key=lambda stage: _cost(stage, known))
        waiting.remove(following)
        known |= _variables(following)
        yield following
    for kind in (Kind.JOINED, Kind.KNOWLEDGE, Kind.OVER):
        yield from (stage for stage in segment if stage.kind is kind)


def _cost(stage: Stage, known: set[str]) -> tuple[bool, bool]:
    """The cost of a triple pattern next: (a path without a given end, a product with those before)."""
    triple, own = _members(stage)[0], _variables(stage)
    given = own & known or not all(isinstance(end, Variable) for end in (triple.subject, triple.object))
    return isinstance(triple, algebra.PathTriple) and not given, bool(known) and not own & known


def _variables(stage: Stage) -> set[str]:
    return {node.name for member in _members(stage) for node in nodes(member) if isinstance(node, Variable)}


def _members(stage: Stage) -> Sequence[Member]:
    assert isinstance(stage.node, BGP), stage
    return stage.node.triples
