"""Filters pushed down to the scans of triples: constants, and conditions on one triple."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.values import equals_only_itself
from sparql_gpm.matching.bgp import Scan, TriplePattern, variables_of
from sparql_gpm.matching.pattern_expression import PatternExpression
from sparql_gpm.pattern import Call, Constant, Expression, Variable
from sparql_gpm.terms import Term


def push_to_scans(
    scans: Sequence[TriplePattern], conditions: Sequence[PatternExpression], dictionary: Dictionary
) -> tuple[list[TriplePattern], list[PatternExpression]]:
    """The scans with the filters that read one triple alone, and the other filters.

    A scan binds its variables in every solution, so a filter has the same value there as in the end.
    """
    left: list[PatternExpression] = []
    given: dict[str, int] = {}
    for condition in conditions:
        compared = _compared(condition.expression)
        bound = compared is not None and any(compared[0] in _tested(scan) for scan in scans)
        if compared is not None and bound and compared[0] not in given:
            given[compared[0]] = dictionary.pin(compared[1])
        else:
            left.append(condition)
    return _with_conditions([_with_given(scan, given) for scan in scans], left)


def _with_conditions(
    scans: list[TriplePattern], conditions: Sequence[PatternExpression]
) -> tuple[list[TriplePattern], list[PatternExpression]]:
    left: list[PatternExpression] = []
    for condition in conditions:
        place = next((n for n, scan in enumerate(scans) if _decides(condition, scan)), None)
        if place is None:
            left.append(condition)
        else:
            scan = scans[place]
            assert isinstance(scan, Scan), scan
            scans[place] = replace(scan, conditions=(*scan.conditions, condition))
    return scans, left


def _decides(condition: PatternExpression, scan: TriplePattern) -> bool:
    unusual = condition.tests or condition.volatile or not condition.variables
    return not unusual and isinstance(scan, Scan) and condition.variables <= variables_of(scan)


def _with_given(scan: TriplePattern, given: Mapping[str, int]) -> TriplePattern:
    mine = tuple((name, term) for name, term in given.items() if name in _tested(scan))
    return replace(scan, given=mine) if mine and isinstance(scan, Scan) else scan


def _tested(scan: TriplePattern) -> frozenset[str]:
    """The variables that the scan can restrict to a constant."""
    slots = scan.slots() if isinstance(scan, Scan) else ()
    return frozenset(slot for slot in slots if isinstance(slot, str))


def _compared(expression: Expression) -> tuple[str, Term] | None:
    """The variable and the constant of a filter that is true for one term only."""
    match expression:
        case Call(
            "=" | "SAMETERM" as name, (Variable(variable), Constant(term)) | (Constant(term), Variable(variable))
        ):
            return (variable, term) if name == "SAMETERM" or equals_only_itself(term) else None
    return None
