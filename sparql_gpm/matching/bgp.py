"""Basic graph patterns over a batch: scans of triples, joined smallest first (SPARQL 1.1, Section 18.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from sparql_gpm.bounds import events_of
from sparql_gpm.columns import Ids, Mask
from sparql_gpm.matching.bgp_view import ALL, BatchView
from sparql_gpm.matching.frames import Frames
from sparql_gpm.matching.paths import Anchor, CompiledPath, path_pairs, reached
from sparql_gpm.matching.pattern_expression import PatternExpression
from sparql_gpm.matching.term_parts import Slot, TermPattern
from sparql_gpm.relations.join import join
from sparql_gpm.relations.relation import UNIT, Relation, nothing

_FRAME = "\0frame"
_EQUAL = "\0equal"
_FEW_FACTOR = 4
"""Reading only some events pays where so many times more are left out."""


@dataclass(frozen=True, slots=True)
class Scan:
    """One triple pattern.

    terms       the triple terms in it, each before those inside of it
    given       variables that a filter compares with a constant: only triples that have it there are read
    conditions  filters that read nothing but the triple: they are applied to its solutions at once
    """

    subject: Slot
    predicate: Slot
    object: Slot
    terms: tuple[TermPattern, ...] = ()
    given: tuple[tuple[str, int], ...] = ()
    conditions: tuple[PatternExpression, ...] = ()

    def slots(self) -> tuple[Slot, ...]:
        """Subject, predicate and object."""
        return (self.subject, self.predicate, self.object)

    def fixed(self, slot: Slot) -> int | None:
        """The term that a slot is restricted to, if there is one."""
        return slot if isinstance(slot, int) else dict(self.given).get(slot)

    def size(self, view: BatchView) -> int:
        """About how many triples it reads."""
        if not isinstance(self.predicate, int):
            return len(view.batch.subjects)
        return view.count(self.predicate, self.fixed(self.subject), self.fixed(self.object))

    def evaluate(self, frames: Frames, live: Mask | None, among: Ids | None = None) -> Relation:
        """Its solutions in the live events, or those `among` them, by event, in the order of the triples."""
        if not isinstance(self.predicate, int):
            return _taken_apart(self._of_any_predicate(frames.view, live), self.terms, frames.view)
        found = frames.view.triples(self.predicate, self.fixed(self.subject), self.fixed(self.object), among)
        some = ALL if live is None else live[found.events]
        ends = ((self.subject, found.subjects), (self.object, found.objects))
        named = _named(found.events[some], [(slot, column(some)) for slot, column in ends if isinstance(slot, str)])
        return _taken_apart(named, self.terms, frames.view)

    def _of_any_predicate(self, view: BatchView, live: Mask | None) -> Relation:
        batch = view.batch
        slots = [(self.subject, batch.subjects), (self.object, batch.objects), (self.predicate, batch.predicates)]
        rows = np.arange(len(batch.subjects), dtype=np.int64)
        for slot, column in slots:
            if (term := self.fixed(slot)) is not None:
                rows = rows[column[rows] == term]
        if live is not None and len(rows):
            rows = rows[live[view.events[rows]]]
        return _named(view.events[rows], [(slot, column[rows]) for slot, column in slots])


@dataclass(frozen=True, slots=True)
class PathScan:
    """One property path pattern; `terms` as of `Scan`."""

    subject: Slot
    path: CompiledPath
    object: Slot
    terms: tuple[TermPattern, ...] = ()

    def slots(self) -> tuple[Slot, ...]:
        """Subject and object."""
        return (self.subject, self.object)

    def size(self, view: BatchView) -> int:
        """More than that of any triple pattern: paths come last."""
        return 2 * len(view.batch.subjects)

    def evaluate(
        self, frames: Frames, live: Mask | None, among: Ids | None = None, known: Sequence[Relation] = ()
    ) -> Relation:
        """Its solutions in the live events, by event; those in events not `among` these may be left out.

        known   other scans that it will be joined with: where each solution counts once, only their values are followed
        """
        if among is not None:
            live = np.zeros(len(frames.view), dtype=np.bool_)
            live[among] = True
        start = self._anchor(self.subject, frames, live)
        end = self._anchor(self.object, frames, live)
        if frames.distinct:
            start = start or _bound(self.subject, known)
            end = end or (_bound(self.object, known) if start is None else None)
        followed = reached if frames.distinct else path_pairs
        events, subjects, objects = followed(self.path, frames.view, live, start, end)
        fits = np.ones(len(events), dtype=np.bool_)
        for slot, column in ((self.subject, subjects), (self.object, objects)):
            if isinstance(slot, int):
                fits &= column == slot
        named = _named(events[fits], [(self.subject, subjects[fits]), (self.object, objects[fits])])
        return _taken_apart(named, self.terms, frames.view)

    def is_anchored(self, frames: Frames, known: Sequence[Relation]) -> bool:
        """True if an end of the path is given."""
        return any(
            isinstance(slot, int) or slot in frames.bindings or any(slot in relation.columns for relation in known)
            for slot in self.slots()
        )

    def _anchor(self, slot: Slot, frames: Frames, live: Mask | None) -> Anchor | None:
        """The given ends of the path: a constant, in every live event, or the values that the frames substitute."""
        if isinstance(slot, int):
            events = np.arange(len(frames.view), dtype=np.int64) if live is None else np.flatnonzero(live)
            return Anchor(events, np.full(len(events), slot, dtype=np.int64), written=True)
        if slot in frames.bindings:
            return Anchor(frames.graph_of(frames.all()), frames.bindings[slot], written=True)
        return None


TriplePattern = Scan | PathScan


def variables_of(scan: TriplePattern) -> frozenset[str]:
    """The variables that each solution of a pattern binds."""
    slots = (*scan.slots(), *(slot for term in scan.terms for slot in term.parts))
    return frozenset(slot for slot in slots if isinstance(slot, str))


def _taken_apart(relation: Relation, terms: Sequence[TermPattern], view: BatchView) -> Relation:
    """The rows whose triple terms have the parts of these."""
    for term in terms:
        relation = term.apply(relation, view.parts)
    return relation


def _bound(slot: Slot, known: Sequence[Relation]) -> Anchor | None:
    """The values of a variable in the smallest of some scans that bind it."""
    binding = [relation for relation in known if slot in relation.columns]
    if not isinstance(slot, str) or not binding:
        return None
    found = min(binding, key=len).distinct((slot,))
    assert found.events is not None
    return Anchor(found.events, found.columns[slot])


def _named(events: Ids, slots: Sequence[tuple[Slot, Ids]]) -> Relation:
    """The columns under their variables; the two columns of a repeated variable must agree."""
    columns: dict[str, Ids] = {}
    same: Mask | None = None
    for slot, column in slots:
        if isinstance(slot, int):
            continue
        if slot in columns:
            equal = columns[slot] == column
            same = equal if same is None else same & equal
        columns.setdefault(slot, column)
    relation = Relation(len(events), events, columns, frozenset(columns))
    return relation if same is None else relation.take(same)


def match_triples(scans: Sequence[TriplePattern], frames: Frames) -> Relation:
    """The solutions of all patterns together in every frame, without the variables that the frames substitute."""
    relations = scan_all(scans, frames)
    if frames.graphs is None:
        return join_all(relations, (), frames)
    used = frames.substituted({variable for scan in scans for variable in variables_of(scan)})
    numbers = frames.all()
    seed = Relation(len(numbers), frames.graphs, {_FRAME: numbers, **{v: frames.bindings[v] for v in used}})
    with events_of(np.arange(len(frames.view), dtype=np.int64)):
        joined = join_all([seed, *relations], (), frames)
    return joined.rekey(joined.column(_FRAME)).without((_FRAME, *used))


def scan_all(scans: Sequence[TriplePattern], frames: Frames) -> list[Relation]:
    """The solutions of each pattern, keyed by event, of those events in which all may have one.

    The pattern with the fewest triples comes first; where it leaves few events, the others read only these. The first
    without a solution ends the scan.
    """
    live = frames.live_events()
    relations: list[Relation] = []
    among = None if live is None or np.count_nonzero(live) * _FEW_FACTOR > len(live) else np.flatnonzero(live)
    waiting = sorted(scans, key=lambda scan: scan.size(frames.view))
    while waiting:
        scan = min(waiting, key=lambda scan: isinstance(scan, PathScan) and not scan.is_anchored(frames, relations))
        waiting.remove(scan)
        if isinstance(scan, PathScan):
            relation = scan.evaluate(frames, live, among, relations)
        else:
            relation = scan.evaluate(frames, live, among)
        if frames.graphs is None and isinstance(scan, Scan):
            relation = keep_all(scan.conditions, relation, frames)
        relations.append(relation)
        if not len(relation):
            break
        among = narrowed(relation, frames, among)
    return relations


def narrowed(relation: Relation, frames: Frames, among: Ids | None = None) -> Ids | None:
    """The events of a relation, where they are few; else those `among` which they are."""
    known = len(frames.view) if among is None else len(among)
    if relation.events is None or len(relation) * _FEW_FACTOR > known:
        return among
    return np.unique(relation.events)


def keep_all(conditions: Sequence[PatternExpression], relation: Relation, frames: Frames) -> Relation:
    """The rows for which all conditions hold."""
    for condition in conditions:
        relation = condition.keep(relation, frames)
    return relation


def join_all(relations: Sequence[Relation], conditions: Sequence[PatternExpression], frames: Frames) -> Relation:
    """Join of all relations, filtered; each condition is applied as soon as the variables that it needs are decided.

    Starts with the smallest relation that belongs to frames and goes on with the smallest that shares a variable with
    what is joined so far, else the smallest of the same frames, so that a large knowledge base is only looked up.
    """
    waiting = list(relations)
    pending = list(conditions)
    current = UNIT
    while waiting:
        if not all(len(relation) for relation in waiting):
            return nothing()
        following = min(waiting, key=lambda relation: _cost(relation, current, pending))
        waiting.remove(following)
        ready = [c for c in pending if _is_decided(c, current, following, waiting)]
        pending = [c for c in pending if c not in ready]
        current = _join_step(current, following, ready, frames)
        if not len(current):
            return nothing()
    return keep_all(pending, current, frames)


def _join_step(current: Relation, following: Relation, ready: Sequence[PatternExpression], frames: Frames) -> Relation:
    if current is UNIT or not ready:
        return keep_all(ready, join(current, following), frames)
    for condition in ready:
        link = _link(condition, current, following)
        if link is not None and current.columns.keys().isdisjoint(following.columns):
            left, right = condition.equality_keys(current.columns[link[0]], following.columns[link[1]])
            current, following = current.extend(_EQUAL, left), following.extend(_EQUAL, right)
            break
    return join(current, following, lambda block: keep_all(ready, block, frames)).without((_EQUAL,))


def _link(condition: PatternExpression, left: Relation, right: Relation) -> tuple[str, str] | None:
    """The variables of an equality, one that all rows of `left` bind and one that all of `right` bind."""
    for one, other in permutations(condition.equated or (), 2):
        if one in left.columns and other in right.columns and left.binds(one) and right.binds(other):
            return one, other
    return None


def _cost(relation: Relation, current: Relation, pending: Sequence[PatternExpression]) -> tuple[int, bool, int]:
    """The order of joins: on shared or equal variables first, then on events, then products; the smallest first."""
    shared = current is UNIT or any(v in current.columns for v in relation.columns)
    if shared or any(_link(condition, current, relation) for condition in pending):
        apart = 0
    else:
        apart = 1 if relation.events is not None and current.events is not None else 2
    return apart, current is UNIT and relation.events is None, len(relation)


def _is_decided(condition: PatternExpression, left: Relation, right: Relation, waiting: Sequence[Relation]) -> bool:
    """True if no relation that still waits can bind a variable of the condition once left and right are joined."""
    open_ones = [v for v in condition.variables if any(v in relation.columns for relation in waiting)]
    return all(any(v in side.columns and side.binds(v) for side in (left, right)) for v in open_ones)
