"""The triples that an event must have for a pattern to have a solution there, as far as constants tell."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple, assert_never

from sparql_gpm.matching import operators
from sparql_gpm.matching.bgp import PathScan, Scan, TriplePattern
from sparql_gpm.matching.paths import CompiledPath
from sparql_gpm.matching.pattern_expression import Operator
from sparql_gpm.pattern import Inverse, Link, NegatedSet, Path, PathAlternative, PathSequence, Repeat

_ALTERNATIVES_MAX = 16
"""A pattern with more alternatives than this is taken to need nothing."""


class Need(NamedTuple):
    """A triple with this predicate, and with this subject or this object; ids, None: any."""

    predicate: int
    subject: int | None = None
    object: int | None = None


Needs = tuple[frozenset[Need], ...]
"""Alternatives: an event without all triples of some alternative has no solution; an empty one is met everywhere."""

ANYTHING: Needs = (frozenset(),)


def needs_of(operator: Operator) -> Needs:
    """The needs of a compiled pattern; at least what every solution has."""
    match operator:
        case operators.Join(scans, others):
            return _all_of([*(_of_triple(scan) for scan in scans), *(needs_of(other) for other in others)])
        case operators.LeftJoin(left) | operators.Minus(left):
            return needs_of(left)
        case operators.Union(sides):
            return _one_of([needs_of(side) for side in sides])
        case operators.Group(inner, names):
            return needs_of(inner) if names else ANYTHING
        case operators.Filter() | operators.Extend() | operators.Order():
            return needs_of(operator.inner)
        case operators.Project() | operators.Distinct() | operators.Slice():
            return needs_of(operator.inner)
        case _:  # VALUES and background knowledge need no event
            return ANYTHING


def _of_triple(scan: TriplePattern) -> Needs:
    match scan:
        case Scan(_, int(predicate), _):
            subject, target = scan.fixed(scan.subject), scan.fixed(scan.object)
            named = {Need(predicate, subject, None), Need(predicate, None, target)}
            return (frozenset(named - {Need(predicate)} or named),)
        case Scan():
            return ANYTHING
        case PathScan(_, path, _):
            return _of_path(path.path, path)
        case _:
            assert_never(scan)


def _of_path(path: Path, compiled: CompiledPath) -> Needs:
    match path:
        case Link(iri):
            return (frozenset((Need(compiled.ids[iri]),)),)
        case Inverse(inner):
            return _of_path(inner, compiled)
        case PathSequence(first, second):
            return _all_of([_of_path(first, compiled), _of_path(second, compiled)])
        case PathAlternative(left, right):
            return _one_of([_of_path(left, compiled), _of_path(right, compiled)])
        case Repeat(inner, at_least_one, _):
            return _of_path(inner, compiled) if at_least_one else ANYTHING
        case NegatedSet():
            return ANYTHING
        case _:
            assert_never(path)


def _all_of(parts: Iterable[Needs]) -> Needs:
    combined: Needs = ANYTHING
    for part in parts:
        combined = _fewest([one | other for one, other in product(combined, part)])
    return combined


def _one_of(parts: Iterable[Needs]) -> Needs:
    return _fewest([alternative for part in parts for alternative in part])


def _fewest(alternatives: list[frozenset[Need]]) -> Needs:
    distinct = tuple(dict.fromkeys(alternatives))
    return distinct if len(distinct) <= _ALTERNATIVES_MAX and frozenset() not in distinct else ANYTHING
