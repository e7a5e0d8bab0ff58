"""Constructs of the language that a query has, by name, so that random queries can be counted by them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from automata.plan import expression as nodes
from automata.plan.expression import AnyOrder, Choice, Limited, Negation, Optional, Repetition, Sequence, Step
from automata.plan.program import Selector, Skip
from spaseq.lang.ast import Expr, Query

_DIFFERENCE = re.compile(r"\?t\w+ - (PREV\()?\?t")


def constructs(query: Query) -> frozenset[str]:
    """The names of those that came with times, limits, episodes, partitions by pattern and groups of matches."""
    return frozenset((*_of_times(query), *_of_sequence(query.sequence), *_of_clauses(query)))


def _of_times(query: Query) -> Iterator[str]:
    if any(define.event.time for define in query.defines):
        yield "AT"
    if any(define.event.graph for define in query.defines):
        yield "AS"
    if _DIFFERENCE.search(query.text):
        yield "difference of times"
    if "dayTimeDuration" in query.text and '+ "PT' in query.text:
        yield "time and duration"


def _of_clauses(query: Query) -> Iterator[str]:
    if query.filters:
        yield "FILTER beside"
    if query.binds:
        yield "BIND beside"
    if query.using:
        yield "USING"
    if query.skip is not Skip.NO_SKIP:
        yield query.skip.value
    if query.limit:
        yield "LIMIT"
    if query.distinct:
        yield "DISTINCT"
    if query.selector is not Selector.ALL:
        yield "selector"
    if query.register:
        yield "REGISTER"
    if query.over_matches:
        yield from _of_groups(query)


def _of_groups(query: Query) -> Iterator[str]:
    yield "OVER MATCHES"
    if query.window.hop:
        yield "EVERY"
    if query.window.sliding:
        yield "OVER MATCHES SLIDING"
    if query.template is not None:
        yield "CONSTRUCT OVER MATCHES"
    if query.group:
        yield "GROUP BY"
    if query.having:
        yield "HAVING"


def _of_sequence(sequence: Expr) -> Iterator[str]:
    ends = set(map(id, _last(sequence)))
    starts = set(map(id, _first(sequence)))
    for node, around in _walk(sequence, ()):
        late = id(node) in ends
        match node:
            case Sequence() if any(nodes.limits_of(node)):
                yield "limit of an operator"
            case Limited(inner):
                yield f"limit of {_kind(inner)}"
            case Negation():
                place = "trailing" if late else "leading" if id(node) in starts else "middle"
                yield f"{place} !" + (" WITHIN" if node.limit else "")
            case Repetition(inner, possessive=True):
                yield "possessive step" if isinstance(inner, Step) else "possessive group"
                if late:
                    yield "possessive end"
                if id(node) in starts:
                    yield "possessive start"
                if any(isinstance(outer, AnyOrder) for outer in around):
                    yield "possessive in ALL( )"
                if any(isinstance(outer, Repetition) for outer in around):
                    yield "possessive in a repetition"
            case Optional(Repetition(possessive=True)) | Optional(Limited(Repetition(possessive=True))):
                yield "possessive *"
            case Optional() if late:
                yield "trailing ?"


def _kind(inner: Expr) -> str:
    match inner:
        case Repetition(Step()):
            return "a repetition"
        case AnyOrder():
            return "ALL( )"
    return "a group"


def _walk(node: Expr, around: tuple[Expr, ...]) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
    if not isinstance(node, Negation):
        for child in nodes.children(node):
            yield from _walk(child, (*around, node))
    yield node, around


def _last(node: Expr) -> Iterator[Expr]:
    """The nodes after which nothing need follow."""
    yield node
    match node:
        case Sequence(items):
            for item in reversed(items):
                yield from _last(item)
                if not isinstance(item, Negation | Optional):
                    return
        case Choice(branches):
            for branch in branches:
                yield from _last(branch)
        case Repetition(inner) | Limited(inner) | Optional(inner):
            yield from _last(inner)


def _first(node: Expr) -> Iterator[Expr]:
    """The nodes before which nothing need have been."""
    yield node
    match node:
        case Sequence(items):
            for item in items:
                yield from _first(item)
                if not isinstance(item, Negation | Optional):
                    return
        case Choice(branches):
            for branch in branches:
                yield from _first(branch)
        case Repetition(inner) | Limited(inner) | Optional(inner):
            yield from _first(inner)
