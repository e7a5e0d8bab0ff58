"""The sharding of a query: the variables by whose values its events may be divided, or why there is one shard.

A shard that is given the events of some values of the key finds the matches with these values, and no others. That is
exact where every event that a match, or the rules about it, can see has the match's own value of the key:

- PARTITION BY says so itself: contiguity, selection and AFTER MATCH stay within a partition.
- OVER MATCHES groups the matches of all shards. If GROUP BY has the whole key, each group is in one shard. Otherwise,
  and for LIMIT and DISTINCT, which are about the groups of a window together, the groups of all shards are merged when
  a window of time has passed. Windows that slide or count events, of which each shard knows the end by its own events,
  and aggregates of values in order require one shard.
- Otherwise the key consists of the variables that every positive step binds in each of its solutions, and that are
  joined and not bound afresh: none is first bound inside a repetition. Whatever sees other events (`,`, a selector,
  AFTER MATCH, a window of events, LIMIT, DISTINCT over other values) then requires one shard.

A negated step need not bind the key: its solutions that leave it unbound go to every shard.
"""

from __future__ import annotations

from dataclasses import dataclass

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression
from automata.plan.program import Selector, Skip
from sparql_gpm.pattern import Variable
from spaseq.algebra.nodes import TemporalQuery
from spaseq.algebra.partitions import as_written


@dataclass(frozen=True, slots=True)
class Distribution:
    """The variables by whose values events are divided (none: one shard), why so, and True if events are counted.

    merged  the groups of OVER MATCHES are merged from those of all shards
    """

    key: tuple[str, ...]
    reason: str
    whole_order: bool
    merged: bool = False


def distribution(query: TemporalQuery) -> Distribution:
    """The sharding of a query."""
    whole_order = not query.partition and _counts_events(query)
    if query.template is not None:
        return Distribution((), "CONSTRUCT numbers its graphs one after the other", whole_order)
    key = query.partition or joined_by_every_step(query)
    merged = bool(key) and _spreads_groups(query, key)
    obstacle = _needs_groups_together(query) if merged else None
    obstacle = obstacle or (None if query.partition else _sees_other_events(query))
    if obstacle is not None:
        return Distribution((), obstacle, whole_order)
    if query.partition:
        return Distribution(key, "PARTITION BY", False, merged)
    if not key:
        return Distribution((), "no variable is joined by every step, and there is no PARTITION BY", whole_order)
    projected = {column.expression.name for column in query.columns if isinstance(column.expression, Variable)}
    if query.distinct and not set(key) <= projected and query.over is None:
        return Distribution((), "DISTINCT compares matches of different keys", whole_order)
    return Distribution(key, "every step joins it" if len(key) == 1 else "every step joins them", False, merged)


def sharding_in_words(decision: Distribution) -> str:
    """The decision and its reason."""
    if not decision.key:
        return f"one shard: {decision.reason}"
    key = ", ".join(f"?{as_written(name)}" for name in decision.key)
    merged = "; the groups of all shards are merged when their window has passed" if decision.merged else ""
    return f"sharded by {key}: {decision.reason}{merged}"


def joined_by_every_step(query: TemporalQuery) -> tuple[str, ...]:
    """The variables that have one value throughout a match, bound by each of its events."""
    if not _bound_before_repetitions(query.sequence, False):
        return ()
    positive = nodes.symbols(query.sequence, negated=False)
    common = frozenset.intersection(*(query.patterns[n].certain for n in positive))
    return tuple(name for name in query.variables if name in common)


def negated_symbols(expression: Expression) -> frozenset[int]:
    """The symbols of steps inside `!` and `?`, whose absence makes a match."""
    found = nodes.steps(expression)
    return frozenset(
        s.symbol for s, around in found if any(isinstance(n, nodes.Negation | nodes.Optional) for n in around)
    )


def _sees_other_events(query: TemporalQuery) -> str | None:
    """The part of the query that depends on events or matches of other keys, in words."""
    if query.window.in_events:
        return "WITHIN n EVENTS counts the events of every key"
    if any(map(_strict, nodes.walk(query.sequence))):
        return "`,` needs the very next event, of any key"
    if query.selector is not Selector.ALL:
        return f"the selector {query.selector.value} compares matches of different keys"
    if query.skip is not Skip.NO_SKIP:
        to = f" {query.skip_to}" if query.skip_to else ""
        return f"AFTER MATCH {query.skip.value}{to} drops matches of other keys"
    if query.limit is not None and query.over is None:
        return "LIMIT counts rows of different keys"
    return None


def _spreads_groups(query: TemporalQuery, key: tuple[str, ...]) -> bool:
    """True if the groups of a window, of which LIMIT and DISTINCT see several, or one group, are in several shards."""
    if query.over is None:
        return False
    return not set(key) <= set(query.over.keys) or query.limit is not None or query.distinct


def _needs_groups_together(query: TemporalQuery) -> str | None:
    """The part of a query OVER MATCHES that keeps groups of several shards from being merged, in words."""
    assert query.over is not None, query.name
    together = "OVER MATCHES groups matches of different keys"
    if query.window.sliding:
        return f"{together}, by triggering event: windows that slide are not merged"
    if query.window.in_events:
        return f"{together}, in windows of events, which are not merged"
    if query.over.needs_order:
        return f"{together}, and SAMPLE and GROUP_CONCAT take them in order"
    return None


def _counts_events(query: TemporalQuery) -> bool:
    strict = any(map(_strict, nodes.walk(query.sequence)))
    return strict or query.window.in_events or query.selector is Selector.STRICT


def _strict(node: Expression) -> bool:
    match node:
        case nodes.Sequence(_, operators):
            return Contiguity.STRICT in operators
        case nodes.Repetition(at_most=at_most, contiguity=contiguity):
            return contiguity is Contiguity.STRICT and at_most != 1
    return False


def _bound_before_repetitions(expression: Expression, bound: bool) -> bool:
    """True if a positive step precedes every repetition in every match: no variable is first bound inside one."""
    match expression:
        case nodes.Repetition(inner):
            return bound and _bound_before_repetitions(inner, bound)
        case nodes.Sequence(items):
            for item in items:
                if not _bound_before_repetitions(item, bound):
                    return False
                bound = bound or not isinstance(item, nodes.Optional | nodes.Negation)
            return True
        case nodes.Choice(parts) | nodes.AnyOrder(parts):
            return all(_bound_before_repetitions(part, bound) for part in parts)
        case nodes.Optional(inner) | nodes.Limited(inner):
            return _bound_before_repetitions(inner, bound)
    return True
