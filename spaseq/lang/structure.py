"""The shapes that a sequence expression must not have, however it is bound to events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from spaseq.lang.ast import (
    AnyOrder,
    Choice,
    Conjunction,
    Contiguity,
    Expr,
    Negation,
    Optional,
    Repeat,
    Sequence,
    Span,
    Step,
)
from spaseq.lang.build import REPETITIONS_MAX, start_of
from spaseq.lang.report import Report

_FIRST_TOKEN = re.compile(r"\w+|.", re.DOTALL)
_EMPTY_HINT = "make one of its steps required: neither ?, ! nor *"


def check_structure(sequence: Sequence, text: str, report: Report) -> None:
    """Reports every structural fault of specification 2 in the sequence."""
    if can_be_empty(sequence):
        report.error(first_token(sequence, text), "the whole sequence can match without any event", _EMPTY_HINT)
    for expression in walk(sequence):
        match expression:
            case Choice(branches):
                for branch in filter(can_be_empty, branches):
                    report.error(first_token(branch, text), "this branch can match without any event", _EMPTY_HINT)
            case Conjunction(members):
                for member in filter(_not_plain, members):
                    _check_conjunct(member, text, report)
            case AnyOrder(members):
                for member in members:
                    _check_member(member, text, report)
            case Repeat():
                _check_repeat(expression, text, report)
            case Optional(inner, span) | Negation(inner, span):
                _check_left_out(inner, span, text, report)
            case Sequence():
                _check_neighbours(expression, report)
            case Step():
                pass


def walk(expression: Expr) -> Iterator[Expr]:
    """The expression and everything inside it; plain parentheses are seen as the sequence around them sees them."""
    if isinstance(expression, Sequence):
        expression = flattened(expression)
    yield expression
    for part in parts(expression):
        yield from walk(part)


def parts(expression: Expr) -> tuple[Expr, ...]:
    """What an expression is made of."""
    match expression:
        case Step():
            return ()
        case Sequence(items) | Choice(items) | Conjunction(items) | AnyOrder(items):
            return items
        case Repeat(inner=inner) | Optional(inner=inner) | Negation(inner=inner):
            return (inner,)


def flattened(sequence: Sequence) -> Sequence:
    """((A ; B) : C) -> (A ; B : C): parentheses without a quantifier do not change a sequence."""
    items: list[Expr] = []
    operators: list[tuple[Contiguity, Span]] = []
    before = list(zip(sequence.operators, sequence.operator_spans, strict=True))
    for index, item in enumerate(sequence.items):
        if index:
            operators.append(before[index - 1])
        inner = flattened(item) if isinstance(item, Sequence) else None
        items.extend(inner.items if inner else [item])
        operators.extend(zip(inner.operators, inner.operator_spans, strict=True) if inner else [])
    names, spans = tuple(name for name, _ in operators), tuple(span for _, span in operators)
    return Sequence(tuple(items), names, sequence.span, spans)


def can_be_empty(expression: Expr) -> bool:
    """Whether the expression can match without any event."""
    match expression:
        case Step():
            return False
        case Optional() | Negation():
            return True
        case Repeat(inner=inner):
            return can_be_empty(inner)
        case Choice(branches):
            return any(map(can_be_empty, branches))
        case Sequence(items) | Conjunction(items) | AnyOrder(items):
            return all(map(can_be_empty, items))


def first_token(expression: Expr, text: str) -> Span:
    """The first word or character of an expression."""
    start = start_of(expression)
    found = _FIRST_TOKEN.match(text, start)
    return Span(start, found.end() if found else start + 1)


def _not_plain(member: Expr) -> bool:
    match member:
        case Step():
            return False
        case Choice(inner) | Conjunction(inner):
            return any(map(_not_plain, inner))
    return True


def _check_conjunct(member: Expr, text: str, report: Report) -> None:
    message = "a member of '&' must be a Name, or a choice or conjunction of Names in parentheses"
    match member:
        case Choice(inner) | Conjunction(inner) if isinstance(member, Choice):
            for branch in filter(_not_plain, inner):
                report.error(first_token(branch, text), message, _conjunct_hint(branch))
        case Conjunction():
            return
        case _:
            report.error(first_token(member, text), message, _conjunct_hint(member))


def _conjunct_hint(member: Expr) -> str:
    match member:
        case Repeat() | Optional() | Negation():
            return "events at the same time have no order: put the quantifier around the whole, as in (A & B)+"
    return "events at the same time have no order: write A & B, or A & (B | C)"


def _check_member(member: Expr, text: str, report: Report) -> None:
    at = first_token(member, text)
    if can_be_empty(member):
        report.error(at, "this member of ALL( ) can match without any event", _EMPTY_HINT)
    elif _has_loose_edge(member, 0) or _has_loose_edge(member, -1):
        hint = "what ? and ! stand for must lie between two steps of the member"
        report.error(at, "a SEQ in ALL( ) must not begin or end with '!' or '?'", hint)


def _has_loose_edge(expression: Expr, edge: int) -> bool:
    """Whether the first (edge 0) or last (edge -1) item is one that may be left out."""
    match expression:
        case Optional() | Negation():
            return True
        case Sequence(items):
            return _has_loose_edge(items[edge], edge)
        case Choice(branches):
            return any(_has_loose_edge(branch, edge) for branch in branches)
        case Repeat(inner=inner):
            return _has_loose_edge(inner, edge)
    return False


def _check_repeat(repeat: Repeat, text: str, report: Report) -> None:
    at_most = repeat.at_most
    if max(repeat.at_least, at_most or 0) > REPETITIONS_MAX:
        report.error(repeat.span, f"a quantifier counts to {REPETITIONS_MAX} at most", "write {n,} for no upper limit")
    elif at_most is not None and at_most < repeat.at_least:
        message = f"at most {at_most} is less than at least {repeat.at_least}"
        report.error(repeat.span, message, "write the smaller number first")
    elif at_most == 0:
        report.error(repeat.span, "a step repeated 0 times matches nothing", "write '!' for the absence of events")
    if can_be_empty(repeat.inner):
        report.error(first_token(repeat.inner, text), "this repeated group can match without any event", _EMPTY_HINT)
    if repeat.contiguity is not Contiguity.ANY and (_touches(repeat.inner, 0) or _touches(repeat.inner, -1)):
        quantifier = text[repeat.span.start : repeat.span.end].lstrip(",;")
        hint = f"write ':{quantifier}' to leave open what happens between the iterations"
        report.error(repeat.span, "iterations that begin or end with ALL( ) cannot be contiguous", hint)


def _check_left_out(inner: Expr, quantifier: Span, text: str, report: Report) -> None:
    """`?` and `!` on what can match without any event; `*` is a repetition, which is checked as such."""
    if isinstance(inner, Repeat) and inner.span == quantifier:
        return
    if can_be_empty(inner):
        sign = text[quantifier.start : quantifier.end]
        report.error(quantifier, f"'{sign}' on what can match without any event anyway", _EMPTY_HINT)


def _check_neighbours(sequence: Sequence, report: Report) -> None:
    """`,` and `;` between ALL( ) and its neighbour, also where what lies between may be left out."""
    steps = list(pairwise(sequence.items))
    for index, ((left, right), operator) in enumerate(zip(steps, sequence.operators, strict=True)):
        if operator is Contiguity.ANY:
            continue
        if _touches(right, 0) or _touches(left, -1) or _reaches_back(sequence.items[: index + 1]):
            message = f"'{operator.value}' cannot stand next to ALL( ), whose events have no order"
            report.error(sequence.operator_spans[index], message, "write ':'")


def _reaches_back(items: tuple[Expr, ...]) -> bool:
    """Whether an ALL( ) can be what precedes, because all that follows it here may be left out."""
    for item in reversed(items):
        if not isinstance(item, Negation) and _touches(item, -1):
            return True
        if not can_be_empty(item):
            return False
    return False


def _touches(expression: Expr, edge: int) -> bool:
    """Whether an expression can begin (edge 0) or end (edge -1) with ALL( )."""
    match expression:
        case AnyOrder():
            return True
        case Repeat(inner=inner) | Optional(inner=inner) | Negation(inner=inner):
            return _touches(inner, edge)
        case Choice(branches):
            return any(_touches(branch, edge) for branch in branches)
        case Sequence(items):
            ordered = items if edge == 0 else items[::-1]
            for item in ordered:
                if _touches(item, edge):
                    return True
                if not can_be_empty(item):
                    return False
    return False
