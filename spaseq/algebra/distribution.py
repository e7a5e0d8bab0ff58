"""How the matches of a query fall apart: by which values events may be divided among shards, and why not.

A shard that is given the events of some values of the key finds the matches with these values, and no others. That is
exact where every event that a match, or the rules about it, can see has the match's own value of the key:

- PARTITION BY says so itself: contiguity, selection and AFTER MATCH stay within a partition.
- Otherwise the key is made of the variables that every positive step binds in each of its solutions, and that are
  joined and not bound afresh: none is first bound inside a repetition. What sees other events, `,`, a selector, AFTER
  MATCH, a window of events, LIMIT, DISTINCT over other values, then makes one shard.

A negated step need not bind the key: its solutions that leave it unbound go to every shard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from automata.plan.expression import Absent, AnyOrder, Chain, Contiguity, Either, Expression, Iterate, Maybe, Take
from automata.plan.program import Selector, Skip
from sparql_gpm.pattern import Variable
from spaseq.algebra.nodes import TemporalQuery


@dataclass(frozen=True, slots=True)
class Distribution:
    """The decision for one query.

    key             the variables by whose values its events are divided; none: one shard
    reason          in words
    whole_order     also events that no pattern matches are needed: something counts them
    """

    key: tuple[str, ...]
    reason: str
    whole_order: bool


def distribution(query: TemporalQuery) -> Distribution:
    """How the events of a query are divided among shards."""
    whole_order = not query.partition and _counts_events(query)
    if query.template is not None:
        return Distribution((), "CONSTRUCT numbers its graphs one after the other", whole_order)
    if query.partition:
        return Distribution(query.partition, "PARTITION BY", False)
    obstacle = _sees_other_events(query)
    if obstacle is not None:
        return Distribution((), obstacle, whole_order)
    key = joined_by_every_step(query)
    if not key:
        return Distribution((), "no variable is joined by every step, and there is no PARTITION BY", whole_order)
    if query.distinct and not set(key) <= _projected(query):
        return Distribution((), "DISTINCT compares matches of different keys", whole_order)
    return Distribution(key, "every step joins it" if len(key) == 1 else "every step joins them", False)


def sharding_in_words(decision: Distribution) -> str:
    """The decision and its reason."""
    if not decision.key:
        return f"one shard: {decision.reason}"
    return f"sharded by {', '.join(f'?{name}' for name in decision.key)}: {decision.reason}"


def joined_by_every_step(query: TemporalQuery) -> tuple[str, ...]:
    """The variables that have one value throughout a match, bound by each of its events."""
    positive = sorted(positive_symbols(query.sequence))
    if not _bound_before_repetitions(query.sequence, False):
        return ()
    common = frozenset.intersection(*(query.patterns[symbol].certain for symbol in positive))
    return tuple(name for name in query.variables if name in common)


def positive_symbols(expression: Expression) -> frozenset[int]:
    """The symbols of steps that a match may take."""
    taken = [node.symbols for node in _nodes(expression, negated=False) if isinstance(node, Take)]
    return frozenset(symbol for symbols in taken for symbol in symbols)


def negated_symbols(expression: Expression) -> frozenset[int]:
    """The symbols of steps inside `!`."""
    absent = [node.inner for node in _nodes(expression, negated=True) if isinstance(node, Absent)]
    maybe = [node.inner for node in _nodes(expression, negated=True) if isinstance(node, Maybe)]
    inner = [node for part in (*absent, *maybe) for node in _nodes(part, negated=True)]
    return frozenset(symbol for node in inner if isinstance(node, Take) for symbol in node.symbols)


def _sees_other_events(query: TemporalQuery) -> str | None:
    """What looks at events or matches of other keys, in words."""
    if query.window.in_events:
        return "WITHIN n EVENTS counts the events of every key"
    if any(_strict(node) for node in _nodes(query.sequence, negated=True)):
        return "`,` looks at the very next event, of whatever key"
    if query.selector is not Selector.ALL:
        return f"the selector {query.selector.value} compares matches of different keys"
    if query.skip is not Skip.NO_SKIP:
        return f"AFTER MATCH {query.skip.value} drops matches of other keys"
    if query.limit is not None:
        return "LIMIT counts rows of different keys"
    return None


def _counts_events(query: TemporalQuery) -> bool:
    strict = any(_strict(node) for node in _nodes(query.sequence, negated=True))
    return strict or query.window.in_events or query.selector is Selector.STRICT


def _strict(node: Expression) -> bool:
    match node:
        case Chain(_, operators):
            return Contiguity.STRICT in operators
        case Iterate(_, _, at_most, contiguity):
            return contiguity is Contiguity.STRICT and at_most != 1
    return False


def _bound_before_repetitions(expression: Expression, bound: bool) -> bool:
    """Whether a step has certainly been taken before every repetition, so that nothing is first bound inside one."""
    match expression:
        case Iterate(inner):
            return bound and _bound_before_repetitions(inner, bound)
        case Chain(items):
            for item in items:
                if not _bound_before_repetitions(item, bound):
                    return False
                bound = bound or not isinstance(item, Maybe | Absent)
            return True
        case Either(parts) | AnyOrder(parts):
            return all(_bound_before_repetitions(part, bound) for part in parts)
        case Maybe(inner):
            return _bound_before_repetitions(inner, bound)
    return True


def _nodes(expression: Expression, negated: bool) -> Iterator[Expression]:
    """Every node; inside `!` only if `negated`."""
    yield expression
    match expression:
        case Chain(parts) | Either(parts) | AnyOrder(parts):
            for part in parts:
                yield from _nodes(part, negated)
        case Iterate(inner) | Maybe(inner):
            yield from _nodes(inner, negated)
        case Absent(inner) if negated:
            yield from _nodes(inner, negated)


def _projected(query: TemporalQuery) -> set[str]:
    return {column.expression.name for column in query.columns if isinstance(column.expression, Variable)}
