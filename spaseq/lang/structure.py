"""The rules about the structure of a sequence expression."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Span, children, extent, walk
from spaseq.lang.ast import Expr
from spaseq.lang.build import REPETITIONS_MAX
from spaseq.lang.codes import Code
from spaseq.lang.report import Report
from spaseq.lang.signs import CONTIGUITIES

_FIRST_TOKEN = re.compile(r"\w+|.", re.DOTALL)
_EMPTY = "can match without any event"
_EMPTY_HINT = "make one of its steps required: neither ?, ! nor *"
_NEVER_EMPTY = {
    nodes.Choice: "this branch",
    nodes.AnyOrder: "this member of ALL( )",
    nodes.Repetition: "this repeated group",
}
"""The nodes inside which an expression must have an event, and the name of such an expression in messages."""


def check_structure(sequence: Expr, text: str, report: Report) -> None:
    """Reports every violation of a structural rule of specification 2."""
    _Structure(text, report).check(sequence)


class _Structure:
    """The rules, checked at each node of one sequence."""

    def __init__(self, text: str, report: Report) -> None:
        self._text = text
        self._report = report
        self._empty: dict[int, bool] = {}

    def check(self, sequence: Expr) -> None:
        """Reports every violation of a structural rule of specification 2."""
        if self._can_be_empty(sequence):
            self._add(Code.WITHOUT_EVENT, sequence, f"the whole sequence {_EMPTY}", _EMPTY_HINT)
        for expression in walk(sequence):
            if type(expression) in _NEVER_EMPTY:
                for child in filter(self._can_be_empty, children(expression)):
                    message = f"{_NEVER_EMPTY[type(expression)]} {_EMPTY}"
                    self._add(Code.WITHOUT_EVENT, child, message, _EMPTY_HINT)
            match expression:
                case nodes.Conjunction(members):
                    for part in (part for member in members for part in _not_simultaneous(member)):
                        message = "a member of '&' must be a Name, or a choice or conjunction of Names in parentheses"
                        self._add(Code.CONJUNCTION_MEMBER, part, message, _simultaneous_hint(part))
                case nodes.AnyOrder(members):
                    for member in members:
                        self._check_edges(member)
                case nodes.Repetition():
                    self._check_quantifier(expression)
                case nodes.Optional(inner) | nodes.Negation(inner):
                    self._check_required(inner, expression.span)
                    if isinstance(expression, nodes.Negation):
                        self._check_negated(inner)
                case nodes.Sequence():
                    self._check_neighbours(expression)

    def _add(self, code: Code, expression: Expr, message: str, hint: str) -> None:
        """Reports a problem at the first token of an expression."""
        self._report.add(code, first_token(expression, self._text), message, hint)

    def _can_be_empty(self, expression: Expr) -> bool:
        """True if the expression can match without any event; found once for each node, by its id."""
        found = self._empty.get(id(expression))
        if found is None:
            found = self._empty[id(expression)] = self._matches_nothing(expression)
        return found

    def _matches_nothing(self, expression: Expr) -> bool:
        match expression:
            case nodes.Step():
                return False
            case nodes.Optional() | nodes.Negation():
                return True
            case nodes.Repetition(inner) | nodes.Limited(inner):
                return self._can_be_empty(inner)
            case nodes.Choice(branches):
                return any(map(self._can_be_empty, branches))
            case nodes.Sequence(items) | nodes.Conjunction(items) | nodes.AnyOrder(items):
                return all(map(self._can_be_empty, items))

    def _check_edges(self, member: Expr) -> None:
        """Reports a member of ALL( ) that begins or ends with `?` or `!`."""
        if not self._can_be_empty(member) and (_has_loose_edge(member, 0) or _has_loose_edge(member, -1)):
            hint = "what ? and ! stand for must lie between two steps of the member"
            message = "a SEQ in ALL( ) must not begin or end with '!' or '?'"
            self._add(Code.LOOSE_EDGE, member, message, hint)

    def _check_quantifier(self, repetition: nodes.Repetition[str]) -> None:
        inner, span, at_most = repetition.inner, repetition.span, repetition.at_most
        if max(repetition.at_least, at_most or 0) > REPETITIONS_MAX:
            message = f"a quantifier counts to {REPETITIONS_MAX} at most"
            self._report.add(Code.TOO_LARGE, span, message, "write {n,} for no upper limit")
        elif at_most is not None and at_most < repetition.at_least:
            message = f"at most {at_most} is less than at least {repetition.at_least}"
            self._report.add(Code.BAD_BOUNDS, span, message, "write the smaller number first")
        elif at_most == 0:
            message = "a step repeated 0 times matches nothing"
            self._report.add(Code.BAD_BOUNDS, span, message, "write '!' for the absence of events")
        if repetition.contiguity is not Contiguity.ANY and (self._touches(inner, 0) or self._touches(inner, -1)):
            quantifier = self._text[span.start : span.end - repetition.possessive].lstrip("".join(CONTIGUITIES))
            hint = f"write ':{quantifier}' to allow other events between the iterations"
            message = "iterations that begin or end with ALL( ) cannot be contiguous"
            self._report.add(Code.CONTIGUOUS_ALL, span, message, hint)
        if repetition.possessive and repetition.contiguity is Contiguity.ANY:
            message = "a second '+' takes the iterations that follow, and after ':' any later one may"
            self._report.add(
                Code.POSSESSIVE_ANY, span, message, "leave it out; SELECT MAX keeps the largest matches only"
            )

    def _check_required(self, inner: Expr, quantifier: Span) -> None:
        """Reports `?` and `!` on an expression that can match without any event; `*` is checked as a repetition."""
        repeated = inner.inner if isinstance(inner, nodes.Limited) else inner
        if isinstance(repeated, nodes.Repetition) and repeated.span == quantifier:
            return
        if self._can_be_empty(inner):
            sign = self._text[quantifier.start : quantifier.end]
            message = f"'{sign}' on what can match without any event anyway"
            self._report.add(Code.QUANTIFIED_WITHOUT_EVENT, quantifier, message, _EMPTY_HINT)

    def _check_negated(self, inner: Expr) -> None:
        """Reports possessive repetitions inside `!`, those of a `!` in it apart."""
        if isinstance(inner, nodes.Repetition) and inner.possessive:
            message = "a second '+' inside '!' changes nothing: no iteration is to occur there"
            self._report.add(Code.POSSESSIVE_NEGATED, inner.span, message, "leave out the second '+'")
        for child in () if isinstance(inner, nodes.Negation) else children(inner):
            self._check_negated(child)

    def _check_neighbours(self, sequence: nodes.Sequence[str]) -> None:
        """Reports `,` and `;` between ALL( ) and its neighbour, optional steps between them aside."""
        reaches = False  # the event before can be one of an ALL( ): what is between can match without any event
        steps = zip(pairwise(sequence.items), sequence.operators, sequence.operator_spans, strict=True)
        for (left, right), operator, span in steps:
            after = self._touches(left, -1)
            reaches = (after and not isinstance(left, nodes.Negation)) or (reaches and self._can_be_empty(left))
            if operator is not Contiguity.ANY and (reaches or after or self._touches(right, 0)):
                message = f"'{operator.value}' cannot stand next to ALL( ), whose events have no order"
                self._report.add(Code.CONTIGUOUS_ALL, span, message, "write ':'")

    def _touches(self, expression: Expr, edge: int) -> bool:
        """True if an expression can begin (edge 0) or end (edge -1) with ALL( )."""
        match expression:
            case nodes.AnyOrder():
                return True
            case nodes.Repetition(inner) | nodes.Optional(inner) | nodes.Negation(inner) | nodes.Limited(inner):
                return self._touches(inner, edge)
            case nodes.Choice(branches):
                return any(self._touches(branch, edge) for branch in branches)
            case nodes.Sequence(items):
                ordered = items if edge == 0 else reversed(items)
                for item in ordered:
                    if self._touches(item, edge):
                        return True
                    if not self._can_be_empty(item):
                        return False
        return False


def first_token(expression: Expr, text: str) -> Span:
    """The first word or character of an expression."""
    start = extent(expression).start
    found = _FIRST_TOKEN.match(text, start)
    return Span(start, found.end() if found else start + 1)


def _not_simultaneous(member: Expr) -> Iterator[Expr]:
    """The outermost parts of a member of `&` that are neither Names nor choices or conjunctions of Names."""
    match member:
        case nodes.Step():
            return
        case nodes.Choice(inner) | nodes.Conjunction(inner):
            for part in inner:
                yield from _not_simultaneous(part)
        case nodes.Limited(inner):  # the limit is reported by itself
            yield from _not_simultaneous(inner)
        case _:
            yield member


def _simultaneous_hint(member: Expr) -> str:
    match member:
        case nodes.Repetition() | nodes.Optional() | nodes.Negation():
            return "events at the same time have no order: put the quantifier around the whole, as in (A & B)+"
    return "events at the same time have no order: write A & B, or A & (B | C)"


def _has_loose_edge(expression: Expr, edge: int) -> bool:
    """True if the first (edge 0) or last (edge -1) item is optional or negated."""
    match expression:
        case nodes.Optional() | nodes.Negation():
            return True
        case nodes.Sequence(items):
            return _has_loose_edge(items[edge], edge)
        case nodes.Choice(branches):
            return any(_has_loose_edge(branch, edge) for branch in branches)
        case nodes.Repetition(inner) | nodes.Limited(inner):
            return _has_loose_edge(inner, edge)
    return False
