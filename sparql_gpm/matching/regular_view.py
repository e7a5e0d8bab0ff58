"""Regular batches as graphs to match patterns against: triple patterns with constant predicates make no triple."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sparql_gpm.columns import Ids, Mask
from sparql_gpm.lazy_terms import LazyTerms
from sparql_gpm.matching.bgp import Scan, TriplePattern, keep_all
from sparql_gpm.matching.bgp_view import BatchView, Found, Some
from sparql_gpm.matching.frames import Frames
from sparql_gpm.matching.term_parts import Slot
from sparql_gpm.regular_batch import RegularBatch, RegularTriple
from sparql_gpm.relations.relation import Relation

_NONE: Ids = np.zeros(0, dtype=np.int64)


class RegularView(BatchView):
    """The graphs of a regular batch."""

    def __init__(self, batch: RegularBatch) -> None:
        super().__init__(batch)
        self.regular = batch
        self._masks: dict[tuple[int, int | None, int | None], Mask] = {}

    def triples(
        self, predicate: int, subject: int | None = None, object: int | None = None, among: Ids | None = None
    ) -> Found:
        """See `BatchView`."""
        triple = self.regular.triple(predicate)
        if triple is None:
            return Found(_NONE, lambda _: _NONE, lambda _: _NONE)
        events = np.flatnonzero(self.having(predicate, subject, object))
        if among is not None:
            events = np.intersect1d(events, among, assume_unique=True)
        return Found(events, _of(triple.subjects.ids, events), _of(triple.objects.ids, events))

    def count(self, predicate: int, subject: int | None = None, object: int | None = None) -> int:
        """See `BatchView`."""
        return int(np.count_nonzero(self.having(predicate, subject, object)))

    def distinct(self) -> BatchView:
        """See `BatchView`; no triple is there twice."""
        return self

    def having(self, predicate: int, subject: int | None, object: int | None) -> Mask:
        """The events with such a triple; None: any."""
        key = (predicate, subject, object)
        if key not in self._masks:
            self._masks[key] = self._having(*key)
        return self._masks[key]

    def _having(self, predicate: int, subject: int | None, object: int | None) -> Mask:
        triple = self.regular.triple(predicate)
        found = np.full(len(self), triple is not None)
        if triple is None:
            return found
        masks = [triple.stated()]
        masks += [terms.equal(term) for terms, term in ((triple.subjects, subject), (triple.objects, object)) if term]
        for mask in masks:
            if mask is not None:
                found &= mask
        return found


def star(scans: Sequence[TriplePattern], frames: Frames, nameless: bool) -> Relation | None:
    """The solutions of triple patterns about one subject in every event; None where they, or events, have another form.

    An event has at most one solution, and its terms get ids only once all constants are found to be there.

    nameless    nothing else reads the blank nodes of the pattern: the result has no columns for them
    """
    view = frames.view
    if not isinstance(view, RegularView) or frames.graphs is not None or not _is_star(scans):
        return None
    plain = [scan for scan in scans if isinstance(scan, Scan)]
    triples = [view.regular.triple(int(scan.predicate)) for scan in plain]
    found = [triple for triple in triples if triple is not None]
    if len({triple.node for triple in found}) > 1:
        return None
    if len(found) < len(triples):
        return Relation(0, _NONE, {slot: _NONE for scan in plain for slot in scan.slots() if isinstance(slot, str)})
    relation = _constants_found(plain, found, frames)
    for scan, triple in sorted(zip(plain, found, strict=True), key=lambda pair: not pair[0].conditions):
        relation = _bound(relation, scan.object, triple.objects)
        if any(scan.subject in condition.variables for condition in scan.conditions):
            relation = _bound(relation, scan.subject, triple.subjects)
        relation = keep_all(scan.conditions, relation, frames)
    subject = plain[0].subject
    unread = nameless and isinstance(subject, str) and subject.startswith("_:")
    return relation if unread else _bound(relation, subject, found[0].subjects)


def _is_star(scans: Sequence[TriplePattern]) -> bool:
    """True if the patterns have one subject, constant predicates, and objects that are constants or other variables."""
    plain = [scan for scan in scans if isinstance(scan, Scan) and isinstance(scan.predicate, int) and not scan.terms]
    subjects, objects = (
        {scan.subject for scan in plain},
        [scan.object for scan in plain if isinstance(scan.object, str)],
    )
    distinct = len(set(objects)) == len(objects) and subjects.isdisjoint(objects)
    return len(plain) == len(scans) and len(subjects) == 1 and distinct


def _constants_found(scans: Sequence[Scan], triples: Sequence[RegularTriple], frames: Frames) -> Relation:
    """The events that have the triples, with all their constants."""
    view, live = frames.view, frames.live_events()
    assert isinstance(view, RegularView), view
    some: Mask = np.ones(len(view), dtype=np.bool_) if live is None else live.copy()
    for scan, triple in zip(scans, triples, strict=True):
        some &= view.having(triple.predicate, scan.fixed(scan.subject), scan.fixed(scan.object))
    events = np.flatnonzero(some)
    return Relation(len(events), events, {})


def _bound(relation: Relation, slot: Slot, terms: LazyTerms) -> Relation:
    """With a column for a variable, if the slot is one that has none yet."""
    if not isinstance(slot, str) or slot in relation.columns:
        return relation
    assert relation.events is not None
    columns = {**relation.columns, slot: terms.ids(relation.events)}
    return Relation(relation.size, relation.events, columns, relation.bound | {slot})


def _of(ids: Callable[[Ids], Ids], events: Ids) -> Callable[[Some], Ids]:
    """The ids at some of the events."""
    return lambda some: ids(events[some])
