"""The rules about limits of operators and steps: `; WITHIN 5 MINUTES B`, `B+ WITHIN 1 HOUR`, `B! WITHIN 1 MINUTE`."""

from __future__ import annotations

from collections.abc import Iterator

from automata.plan import expression as nodes
from automata.plan.expression import UNREADABLE, Limit, Negation, limits_of, walk
from automata.plan.program import Window
from spaseq.lang.ast import Expr
from spaseq.lang.codes import Code
from spaseq.lang.numbers import NUMBER_MAX
from spaseq.lang.report import Report

_SINCE_HINT = "'; WITHIN 5 MINUTES B' limits the time since the step before"


def check_limits(sequence: Expr, report: Report) -> None:
    """Reports every violation of a rule of specification 2 about limits."""
    for node in walk(sequence):
        match node:
            case nodes.Sequence(items):
                for item, limit in zip(items[1:], limits_of(node), strict=True):
                    if limit is not None:
                        _check_size(limit, report)
                        _check_operator(item, limit, report)
            case Negation(inner, limit=limit):
                if limit is not None:
                    _check_size(limit, report)
                for inside in walk(inner):
                    if isinstance(inside, nodes.Sequence):
                        _check_inside(inside, report)
            case nodes.Limited(inner, limit):
                _check_size(limit, report)
                _check_step(inner, limit, report)


def warn_of_limits(sequence: Expr, window: Window, report: Report) -> None:
    """Warns of limits that hold for less than they seem to."""
    for node in walk(sequence):
        match node:
            case nodes.Sequence(items):
                for item, limit in zip(items[1:], limits_of(node), strict=True):
                    if limit is not None and _begins_with(item, nodes.Optional):
                        message = "where the step after it is absent, this limit is gone"
                        hint = "write the two cases as branches of '|', each with its own limits"
                        report.add(Code.LIMIT_BEFORE_OPTIONAL, limit.span, message, hint)
            case nodes.Repetition(inner, at_most=at_most) if at_most != 1:
                for negation in _negations_at(inner, edge=0):
                    message = (
                        "in the first iteration this '!' looks back from the first event, later on from the one before"
                    )
                    hint = "put it at the end of the group, or before the repetition"
                    report.add(Code.LIMITED_NEGATION_REPEATED, negation.span, message, hint)
    if not window.sliding:
        for negation in _negations_at(sequence, edge=-1):
            message = "the end of a tumbling window cuts this absence: events after it are not looked at"
            hint = "write SLIDING after the window"
            report.add(Code.LIMITED_NEGATION_CUT, negation.span, message, hint)


def _check_size(limit: Limit, report: Report) -> None:
    if limit.size == UNREADABLE:
        hint = "write it without sign, fraction and exponent; for fractions take a smaller unit"
        report.add(Code.NOT_A_WHOLE_NUMBER, limit.number, "a limit needs a whole number", hint)
    elif limit.size == 0:
        report.add(Code.ZERO, limit.number, "a limit cannot be 0", "write a number from 1 on, '&' for the same time")
    elif limit.size > NUMBER_MAX:
        message = "a limit is 292 years long at most"
        report.add(Code.TOO_LARGE, limit.number, message, "choose a smaller number or unit")


def _check_operator(item: Expr, limit: Limit, report: Report) -> None:
    if _begins_with(item, Negation):
        message = "an operator's limit cannot stand before '!'"
        hint = "limit the absence, as in 'B! WITHIN 5 MINUTES', or the operator after it"
        report.add(Code.LIMIT_BEFORE_NEGATION, limit.span, message, hint)


def _check_inside(sequence: nodes.Sequence[str], report: Report) -> None:
    for limit in filter(None, limits_of(sequence)):
        message = "an operator inside '!' cannot have a limit"
        hint = "limit the group: '(A ; B) WITHIN 5 MINUTES' inside of '!'"
        report.add(Code.LIMIT_IN_NEGATION, limit.span, message, hint)


def _check_step(inner: Expr, limit: Limit, report: Report) -> None:
    if isinstance(inner, nodes.Optional):
        message = "'?' cannot have a limit"
        report.add(Code.USELESS_LIMIT, limit.span, message, f"limit what is optional; {_SINCE_HINT}")
    elif _is_of_one_time(inner):
        message = "a limit on a step whose matches have one event, or events of one time, limits nothing"
        report.add(Code.USELESS_LIMIT, limit.span, message, _SINCE_HINT)


def _is_of_one_time(node: Expr) -> bool:
    """True if all events of each match of an expression have one time, and it is not repeated."""
    match node:
        case nodes.Step() | nodes.Conjunction():
            return True
        case nodes.Choice(branches):
            return all(map(_is_of_one_time, branches))
        case nodes.Sequence(items):
            positive = [item for item in items if not isinstance(item, Negation)]
            return len(positive) == 1 and _is_of_one_time(positive[0])
        case nodes.Optional(inner) | nodes.Limited(inner):
            return _is_of_one_time(inner)
    return False


def _begins_with(node: Expr, kind: type[nodes.Optional[str] | Negation[str]]) -> bool:
    """True if an expression, or one of its branches, begins with `?` or `!`."""
    match node:
        case nodes.Sequence(items):
            return _begins_with(items[0], kind)
        case nodes.Choice(branches):
            return any(_begins_with(branch, kind) for branch in branches)
        case nodes.Repetition(inner) | nodes.Limited(inner):
            return _begins_with(inner, kind)
        case nodes.Optional(inner):
            return isinstance(node, kind) or _begins_with(inner, kind)
    return isinstance(node, kind)


def _negations_at(node: Expr, edge: int) -> Iterator[Negation[str]]:
    """The limited negations that a match can begin (edge 0) or end (edge -1) with."""
    match node:
        case Negation() if node.limit is not None:
            yield node
        case nodes.Sequence(items):
            for item in items if edge == 0 else items[::-1]:
                yield from _negations_at(item, edge)
                if not isinstance(item, nodes.Optional | Negation):
                    break
        case nodes.Choice(branches):
            for branch in branches:
                yield from _negations_at(branch, edge)
        case nodes.Repetition(inner) | nodes.Limited(inner) | nodes.Optional(inner):
            yield from _negations_at(inner, edge)
