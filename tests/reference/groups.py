"""OVER MATCHES: a row for each group of matches (specification 3.4, and 3.3 for windows that hop)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cmp_to_key
from hashlib import sha256

import numpy as np

from automata.plan.program import Window
from sparql_gpm.algebra.traversal import map_operands, operands
from sparql_gpm.pattern import Aggregate, Constant, Expression, Variable
from sparql_gpm.terms import Term, to_ntriples
from spaseq.lang import ast
from tests.reference.aggregate import fold
from tests.reference.expression import Scope, holds, value_or_none
from tests.reference.functions import function
from tests.reference.names import digest_of_query
from tests.reference.output import Row, construct
from tests.reference.shape import names
from tests.reference.stream import Event, Events, Triples
from tests.reference.values import DECIMAL, FLOAT, INTEGER, ExpressionError, effective, literal, number
from tests.reference.view import scope_of, with_binds
from tests.reference.whole import Match, matches, select, skip
from tests.reference.world import World, partitions, whole_world

Reported = tuple[int, Row]
"""(number of the reporting unit, row)."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A match of a group: its place in output order, its events, and what an expression over it sees."""

    order: tuple[object, ...]
    events: tuple[Event, ...]
    scope: Scope


def grouped_rows(query: ast.Query, events: Events, named: Mapping[str, Triples]) -> list[Reported]:
    """The rows in order of the reporting units."""
    reported = []
    for number_of_unit, span, members in _units(query, events, named):
        last = max(members[-1].events[-1].time, *(each.events[-1].time for each in members))
        groups: dict[tuple[Term | None, ...], list[_Member]] = defaultdict(list)
        for member in sorted(members, key=lambda each: each.order):
            groups[tuple(member.scope.bindings.get(name) for name in query.group)].append(member)
        made = (_row(query, key, own, span, last) for key, own in groups.items())
        rows = [row for row in made if row is not None]
        unit = str(number_of_unit) if query.window.sliding is False else f"{last}"
        trigger = members[0].events[-1].name if query.window.sliding else ""
        found = []
        for key, values, row in rows:
            texts, keys = _texts(values), _texts(key)
            name = None if row.triples is None else _name(query, [trigger, unit] if trigger else [unit], keys)
            found.append(((keys, texts) if row.triples is not None else (texts, keys), replace(row, graph=name)))
        found.sort(key=lambda pair: pair[0])
        if query.distinct:
            found = [pair for n, pair in enumerate(found) if pair[0][0] not in [other[0][0] for other in found[:n]]]
        reported += [(number_of_unit, row) for _, row in found[: query.limit]]
    return reported


def _units(
    query: ast.Query, events: Events, named: Mapping[str, Triples]
) -> Iterator[tuple[int, tuple[int, int] | None, list[_Member]]]:
    """Reporting units with a match: number, beginning and end of a window of time, matches in any order."""
    window = query.window
    if window.sliding:
        by_trigger: dict[int, list[_Member]] = defaultdict(list)
        for member in _members(query, events, named):
            by_trigger[member.events[-1].position].append(member)
        yield from ((trigger, None, by_trigger[trigger]) for trigger in sorted(by_trigger))
        return
    hop = window.hop or window.size
    where = [event.position if window.in_events else event.time for event in events]
    if not where:
        return
    earliest, latest = ((at - window.start) // hop for at in (min(where) - window.size, max(where)))
    for k in range(max(earliest, 0) if window.anchored else earliest, latest + 1):
        begin = window.start + k * hop
        end = begin + window.size
        inside = tuple(event for event, at in zip(events, where, strict=True) if begin <= at < end)
        alone = Window(window.size, window.in_events, sliding=False, start=begin)
        members = list(_members(replace(query, window=alone), inside, named)) if inside else []
        if members:
            yield k, None if window.in_events else (begin, end), members


def _members(query: ast.Query, events: Events, named: Mapping[str, Triples]) -> Iterator[_Member]:
    """The matches left after AFTER MATCH, all partitions together."""
    for world in partitions(whole_world(query, events, named)):
        found = {id(match): match for match in select(world, matches(world))}
        order = {key: (*match.order, _mapping(world, match), _solutions(world, match)) for key, match in found.items()}
        ordered = sorted(found.values(), key=lambda match: order[id(match)])
        for match in skip(world, ordered):
            taken = {entry.event for entry in match.entries}
            scope = with_binds(scope_of(match.entries, (), world.given, world.loops), query.binds)
            yield _Member(order[id(match)], tuple(sorted(taken, key=lambda event: event.position)), scope)


def _mapping(world: World, match: Match) -> tuple[str, ...]:
    """μ in the order of the variables' names, unbound first."""
    bindings = scope_of(match.entries, (), world.given, world.loops).bindings
    every = set(world.given).union(*(gpm.scope for gpm in world.gpms.values()))
    return _texts([bindings.get(name) for name in sorted(every)])


def _solutions(world: World, match: Match) -> tuple[tuple[str, ...], ...]:
    """ν step by step."""
    found = []
    for step in names(world.root):
        for entry in sorted((e for e in match.entries if e.step == step), key=lambda entry: entry.event.position):
            bound = dict(entry.solution)
            found.append(_texts([bound.get(name) for name in sorted(world.gpms[step].scope)]))
    return tuple(found)


def _texts(values: Sequence[Term | None]) -> tuple[str, ...]:
    return tuple("" if value is None else to_ntriples(value) for value in values)


def _row(
    query: ast.Query, key: tuple[Term | None, ...], members: Sequence[_Member], span: tuple[int, int] | None, last: int
) -> tuple[tuple[Term | None, ...], list[Term | None], Row] | None:
    """GROUP BY values, projected values and row of a group; None if HAVING does not hold."""
    bindings = {name: value for name, value in zip(query.group, key, strict=True) if value is not None}
    shown: dict[str, Term] = {}
    for column in query.columns or ():
        expression = column.expression or Variable(column.variable)
        value = value_or_none(_over(expression, members), Scope(bindings))
        if value is not None:
            shown[column.variable] = value
    condition = query.having and _over(query.having.expression, members)
    if condition is not None and not holds(condition, Scope({**shown, **bindings})):
        return None
    start, time = span or (min(member.events[0].time for member in members), last)
    if query.template is None:
        row = Row(time, start, shown, None, {})
        return key, [shown.get(column.variable) for column in query.columns or ()], row
    template = [replace(t, object=t.object and _over(t.object, members)) for t in query.template]
    return key, [], Row(time, start, {}, construct(template, Scope(bindings)), {})


def _over(expression: Expression, members: Sequence[_Member]) -> Expression:
    """The expression with the values of its outermost aggregates in their places."""
    if isinstance(expression, Aggregate):
        value = _aggregate(expression, members)
        return Variable(" unbound") if value is None else Constant(value)
    return map_operands(expression, lambda operand: _over(operand, members)) if operands(expression) else expression


def _aggregate(aggregate: Aggregate, members: Sequence[_Member]) -> Term | None:
    if aggregate.argument is None:
        return literal(INTEGER, Fraction(len(members)))
    match aggregate.argument:
        case Aggregate("SUM", Variable(name), False):
            return _over_sums(aggregate, name, members)
    return _over_values(aggregate, [value_or_none(aggregate.argument, member.scope) for member in members])


def _over_sums(aggregate: Aggregate, variable: str, members: Sequence[_Member]) -> Term | None:
    """An aggregate of the sums of each match's iterations, which are exact, too."""
    every = [[value for value in member.scope.series(variable) if value is not None] for member in members]
    sums = [_total(values, None) for values in every]
    if aggregate.name not in ("SUM", "AVG") or aggregate.distinct:
        return _over_values(aggregate, sums)
    numbers = [value for values, total in zip(every, sums, strict=True) if total is not None for value in values]
    added = sum(total is not None for total in sums)
    if not added:
        return literal(INTEGER, Fraction(0))
    return _total(numbers, added if aggregate.name == "AVG" else None)


def _over_values(aggregate: Aggregate, found: Sequence[Term | None]) -> Term | None:
    values = [value for value in found if value is not None]
    if aggregate.distinct:
        values = list(dict.fromkeys(values))
    match aggregate.name.upper():
        case "SUM":
            return _total(values, None)
        case "AVG":
            return _total(values, len(values)) if values else literal(INTEGER, Fraction(0))
        case "MIN" | "MAX" as name:
            return _extreme(values, name == "MAX")
    return fold(replace(aggregate, distinct=False), values)


def _total(values: Sequence[Term], count: int | None) -> Term | None:
    """Their sum, divided by a number if there is one, rounded once."""
    numbers = [number(value) for value in values]
    known = [each for each in numbers if each is not None]
    if len(known) < len(numbers):
        return None
    rank = max([INTEGER, *[rank for rank, _ in known]])
    if rank <= DECIMAL:
        whole = sum((Fraction(value) for _, value in known), Fraction(0))
        return literal(rank, whole) if count is None else literal(DECIMAL, whole / count)
    special = [value for _, value in known if isinstance(value, float) and not math.isfinite(value)]
    if special:
        return literal(rank, sum(special))
    exact = sum((Fraction(value) for _, value in known), Fraction(0)) / (count or 1)
    return literal(rank, _single(exact) if rank == FLOAT else _double(exact))


def _double(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


def _single(exact: Fraction) -> float:
    """The nearest IEEE single, of two as near the one with an even significand."""
    near = np.float32(_double(exact))
    around = [near, np.nextafter(near, np.float32(math.inf)), np.nextafter(near, np.float32(-math.inf))]
    finite = [each for each in around if np.isfinite(each)]
    return float(min(finite or [near], key=lambda each: (abs(Fraction(float(each)) - exact), each.view(np.int32) & 1)))


def _extreme(values: Sequence[Term], greatest: bool) -> Term | None:
    """The least or greatest value; None if two different ones cannot be compared."""

    def compare(one: Term, other: Term) -> int:
        if one == other:
            return 0
        less, more = (effective(function("<", pair)) for pair in ([one, other], [other, one]))
        return more - less or (1 if to_ntriples(one) > to_ntriples(other) else -1)

    try:
        for one in values:
            for other in values:
                compare(one, other)
        ordered = sorted(values, key=cmp_to_key(compare))
    except ExpressionError:
        return None
    return (ordered[-1] if greatest else ordered[0]) if ordered else None


def _name(query: ast.Query, unit: Sequence[str], keys: Sequence[str]) -> str:
    texts = [text.encode() for text in (*unit, *keys)]
    whole = digest_of_query(query) + b"".join(b"%d:%s" % (len(text), text) for text in texts)
    return f"urn:spaseq:group:{sha256(whole).hexdigest()[:32]}"
