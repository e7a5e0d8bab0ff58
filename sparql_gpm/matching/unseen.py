"""The constants of some patterns that no event has had so far, and what the events have in their place.

Kept while there are any; once every constant has occurred, looking costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.matching.needs import Need, Needs
from sparql_gpm.regular_batch import RegularBatch
from sparql_gpm.terms import IRI

RDF_TYPE = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_NAMES_MAX = 1_000
"""Properties, and classes, that are remembered."""
_LOOKS = 64
"""Batches or single events whose properties are all read; after that those with the number of a power of two."""


class Vocabulary:
    """Properties and classes that events have: IRIs, not all of them."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.properties: dict[str, None] = {}
        self.classes: dict[str, None] = {}
        self._dictionary = dictionary
        self._looks = 0
        self._beside: Vocabulary | None = None

    def in_batch(self, batch: EventBatch) -> None:
        """More events."""
        if self.looks_now():
            self.remember(batch)

    def remember(self, batch: EventBatch) -> None:
        """Those of some events."""
        rdf_type = self._dictionary.find(RDF_TYPE)
        if isinstance(batch, RegularBatch):
            typed = batch.triple(rdf_type)
            classes = np.zeros(0, dtype=np.int64) if typed is None else typed.objects.distinct()
            self._remember(batch.properties(), classes.tolist())
            return
        types = batch.objects[batch.predicates == rdf_type]
        self._remember(np.unique(batch.predicates).tolist(), np.unique(types).tolist())

    def in_event(self, triples: Mapping[int, Sequence[tuple[int, int]]]) -> None:
        """One more event: predicate → its (subject, object) pairs."""
        if self.looks_now():
            self._remember(triples, (each for _, each in triples.get(self._dictionary.find(RDF_TYPE), ())))

    def look_beside(self, other: Vocabulary) -> None:
        """Other events have the properties and classes of `other`, now and later."""
        if self._beside is not None and self._beside is not other:
            self.take_over(self._beside)
        self._beside = other

    def take_over(self, other: Vocabulary) -> None:
        """The events of `other` so far are among these, too."""
        self.properties.update(other.properties)
        self.classes.update(other.classes)

    def add_properties(self, names: Iterable[str]) -> None:
        """Properties of triples that nobody reads."""
        self.properties.update(dict.fromkeys(names))

    def names(self) -> tuple[list[str], list[str]]:
        """All properties and all classes."""
        every = [each for each in (self, self._beside) if each is not None]
        properties = dict.fromkeys(name for each in every for name in each.properties)
        return list(properties), list(dict.fromkeys(name for each in every for name in each.classes))

    def looks_now(self) -> bool:
        """True if the next events are to be remembered: the first ones, then ever fewer."""
        self._looks += 1
        return self._looks <= _LOOKS or not self._looks & (self._looks - 1)

    def _remember(self, properties: Iterable[int], classes: Iterable[int]) -> None:
        for names, ids in ((self.properties, properties), (self.classes, classes)):
            for term in map(self._dictionary.term, ids):
                if isinstance(term, IRI) and len(names) < _NAMES_MAX:
                    names[term.value] = None


class Unseen:
    """Needs of patterns that no event has met.

    needs       of which no event has had a triple
    vocabulary  of the events, while there are such needs
    """

    def __init__(self, needs: Iterable[Needs], dictionary: Dictionary) -> None:
        self.needs = {need for each in needs for alternative in each for need in alternative}
        self.needs |= {Need(need.predicate) for need in self.needs}
        self.vocabulary = Vocabulary(dictionary)
        self._predicates = frozenset(need.predicate for need in self.needs)

    def __bool__(self) -> bool:
        """True while there is something that no event has had."""
        return bool(self.needs)

    def in_batch(self, present: Set[Need] | None, batch: EventBatch) -> None:
        """More events, with the needs of patterns that they meet; None: nobody has looked."""
        self._found(frozenset(self.needs) if present is None else present)
        if self.needs:
            self.vocabulary.in_batch(batch)

    def in_event(self, triples: Mapping[int, Sequence[tuple[int, int]]]) -> None:
        """One more event: predicate → its (subject, object) pairs."""
        if not self._predicates.isdisjoint(triples):
            self._found({need for need in self.needs if _has(triples, need)})
        self.vocabulary.in_event(triples)

    def sighted(self, needs: Mapping[Need, int], since: int) -> None:
        """More events, numbered from `since` on; for each need the number of the last event that has met it."""
        self._found({need for need in self.needs if needs.get(need, -1) >= since})

    def missing(self, needs: Needs) -> list[Need]:
        """For each alternative of a pattern one need that no event has had; none if some alternative has all of its."""
        alternatives = [sorted(alternative & self.needs, key=str) for alternative in needs]
        return list(dict.fromkeys(map(self._widest, alternatives))) if all(alternatives) and alternatives else []

    def _widest(self, lacking: Sequence[Need]) -> Need:
        """The need, or its predicate if no event has had even that."""
        bare = (Need(need.predicate) for need in lacking)
        return next((need for need in bare if need in self.needs), lacking[0])

    def _found(self, present: Set[Need]) -> None:
        if not self.needs.isdisjoint(present):
            self.needs -= present
            self._predicates = frozenset(need.predicate for need in self.needs)


def _has(triples: Mapping[int, Sequence[tuple[int, int]]], need: Need) -> bool:
    """True if an event has a triple that meets a need."""
    pairs = triples.get(need.predicate, ())
    if need.subject is None and need.object is None:
        return bool(pairs)
    return any(need.subject in (None, subject) and need.object in (None, target) for subject, target in pairs)
