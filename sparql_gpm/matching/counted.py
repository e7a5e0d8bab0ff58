"""A pattern evaluated stage by stage over a batch, with the number of events that each stage leaves over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.algebra.stages import Kind, Stage
from sparql_gpm.columns import Ids, Mask
from sparql_gpm.matching import operators
from sparql_gpm.matching.bgp import PathScan, Scan, TriplePattern, join_all, keep_all, narrowed
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.compile import Compiler
from sparql_gpm.matching.frames import Frames
from sparql_gpm.pattern import Expression, Pattern
from sparql_gpm.relations.join import join
from sparql_gpm.relations.relation import UNIT, Relation, nothing

_Step = Callable[[Relation, Frames], Relation]
"""From the solutions of the stages before to those with one more stage."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """A compiled pattern in stages; `scans` are those of triple patterns, None for other stages."""

    scans: tuple[TriplePattern | None, ...]
    _steps: tuple[_Step, ...]

    def evaluate(self, frames: Frames) -> tuple[Relation, list[int]]:
        """The solutions in every frame, and after each stage the number of frames that have some."""
        relation, left = UNIT, []
        for step in self._steps:
            relation = step(relation, frames) if len(relation) else nothing()
            left.append(_frames_in(relation, frames))
        return relation, left

    def alone(self, view: BatchView, live: Mask | None) -> list[int | None]:
        """For each stage the live events in which it has a solution by itself; None where only a join could tell."""
        return [_alone(scan, view, live) if isinstance(scan, Scan) else None for scan in self.scans]


def counted(stages: Sequence[Stage], compiler: Compiler) -> Counted:
    """The stages, compiled; raises BackgroundError."""
    scans: list[TriplePattern | None] = []
    steps: list[_Step] = []
    for stage in stages:
        match stage.node:
            case algebra.BGP() as triple if stage.kind is Kind.TRIPLE:
                scans.extend(compiler.scans(triple))
                steps.extend(map(_scanned, compiler.scans(triple)))
            case pattern:
                scans.append(None)
                steps.append(_over(pattern, compiler) if stage.kind is Kind.OVER else _joined(pattern, compiler))
    return Counted(tuple(scans), tuple(steps))


def _scanned(scan: TriplePattern) -> _Step:
    def step(current: Relation, frames: Frames) -> Relation:
        live, among = frames.live_events(), narrowed(current, frames)
        if isinstance(scan, PathScan):
            known = [] if current.events is None else [current]
            return join(current, scan.evaluate(frames, live, among, known))
        return join(current, scan.evaluate(frames, live, among))

    return step


def _joined(pattern: Pattern, compiler: Compiler) -> _Step:
    operator, scope = compiler.compile(pattern), in_scope(pattern)

    def step(current: Relation, frames: Frames) -> Relation:
        probed = frames.probed(current) if scope & current.columns.keys() else frames
        return join_all([current, operator.evaluate(probed)], (), frames)

    return step


def _over(pattern: Pattern, compiler: Compiler) -> _Step:
    """An operator over the solutions of all stages before."""
    match pattern:
        case algebra.Filter(condition, _):
            return _filtered(condition, compiler)
        case algebra.LeftJoin(_, right, condition):
            optional, test = compiler.compile(right), None if condition is None else compiler.expression(condition)
            return lambda current, frames: operators.LeftJoin(_Known(current), optional, test).evaluate(frames)
        case algebra.Minus(_, right):
            removed = compiler.compile(right)
            return lambda current, frames: operators.Minus(_Known(current), removed).evaluate(frames)
        case algebra.Extend(_, variable, expression):
            value = compiler.expression(expression)
            return lambda current, frames: operators.Extend(_Known(current), variable, value).evaluate(frames)
    raise AssertionError(pattern)


def _filtered(condition: Expression, compiler: Compiler) -> _Step:
    kept = (compiler.expression(condition),)
    return lambda current, frames: keep_all(kept, current, frames)


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """Solutions that are there, as an operator."""

    relation: Relation

    def evaluate(self, frames: Frames) -> Relation:
        return self.relation


def _frames_in(relation: Relation, frames: Frames) -> int:
    if relation.events is None:
        return len(frames.all()) if len(relation) else 0
    some: Mask = np.zeros(len(frames.view), dtype=np.bool_)
    some[relation.events] = True
    return int(np.count_nonzero(some))


def _alone(scan: Scan, view: BatchView, live: Mask | None) -> int:
    """The live events with a triple that the pattern matches."""
    free = [slot for slot in scan.slots() if isinstance(slot, str)]
    if scan.terms or not isinstance(scan.predicate, int) or len(set(free)) < len(free):
        found = scan.evaluate(Frames(view, live=live), live).events
        return 0 if found is None else _distinct(found)
    events = view.triples(scan.predicate, scan.fixed(scan.subject), scan.fixed(scan.object)).events
    return _distinct(events if live is None else events[live[events]])


def _distinct(ascending: Ids) -> int:
    return int(len(ascending) > 0) + int(np.count_nonzero(ascending[1:] != ascending[:-1]))
