"""RDFS by closure tables: subclasses, subproperties, domains and ranges (RDF 1.1 Semantics, Section 9.2).

The rules rdfs2, 3, 5, 7, 9 and 11. The axiomatic triples and what follows from them, such as that
everything is an rdfs:Resource and that every class is its own subclass, are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from arrays.columns import expand, in_ranges, offsets_of
from arrays.wanted import check_wanted
from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.relations.keys import first_rows
from sparql_gpm.terms import IRI, RDF, Literal

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SCHEMA = (RDFS + "subClassOf", RDFS + "subPropertyOf", RDFS + "domain", RDFS + "range")
"""The properties that make up a schema."""

Triples = tuple[Ids, Ids, Ids]


@dataclass(frozen=True, slots=True)
class Table:
    """Pairs of ids, sorted by the first."""

    keys: Ids
    values: Ids

    @staticmethod
    def of(pairs: Iterable[tuple[int, int]]) -> Table:
        """The distinct pairs."""
        rows = np.array(sorted(set(pairs)), dtype=np.int64).reshape(-1, 2)
        return Table(np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1]))

    def expand(self, column: Ids) -> tuple[Ids, Ids]:
        """For each row of the column the values of its id: row numbers, and the values beside them."""
        starts = np.searchsorted(self.keys, column)
        counts = np.searchsorted(self.keys, column, side="right") - starts
        return expand(counts)[0], self.values[in_ranges(starts, counts)]


@dataclass(frozen=True, slots=True)
class Schema:
    """The RDFS conclusions from single triples, as closed tables of ids.

    classes, properties     to every proper superclass or superproperty
    domains, ranges         property → every class that a subject or object of it has
    kind                    the id of rdf:type
    """

    classes: Table
    properties: Table
    domains: Table
    ranges: Table
    kind: int
    dictionary: Dictionary

    @staticmethod
    def of(triples: Sequence[Triples], dictionary: Dictionary) -> Schema:
        """The schema stated by some graphs together; the caller holds its terms."""
        ids = [dictionary.pin(IRI(name)) for name in SCHEMA]
        stated = [
            [
                pair
                for subjects, predicates, objects in triples
                for pair in zip(subjects[predicates == i].tolist(), objects[predicates == i].tolist(), strict=True)
            ]
            for i in ids
        ]
        classes, properties = (Table.of(transitive(pairs)) for pairs in stated[:2])
        domains, ranges = (_inherited(Table.of(pairs), properties, classes) for pairs in stated[2:])
        return Schema(classes, properties, domains, ranges, dictionary.pin(IRI(RDF + "type")), dictionary)

    def columns(self) -> tuple[Ids, ...]:
        """The ids of all its terms."""
        tables = (self.classes, self.properties, self.domains, self.ranges)
        return tuple(column for table in tables for column in (table.keys, table.values))

    def conclusions(self, triples: Triples) -> tuple[Ids, Triples]:
        """The triples that follow, each with its origin row; some may be stated already, or be repeated."""
        subjects, predicates, objects = triples
        rows, supers = self.properties.expand(predicates)
        direct = (np.concatenate((subjects, subjects[rows])), np.concatenate((predicates, supers)))
        all_objects = np.concatenate((objects, objects[rows]))
        origin = np.concatenate((np.arange(len(subjects), dtype=np.int64), rows))
        typed = np.flatnonzero(direct[1] == self.kind)
        up, classes = self.classes.expand(all_objects[typed])
        domain_rows, domain = self.domains.expand(predicates)
        range_rows, range_ = self.ranges.expand(predicates)
        named = self._not_literal(objects[range_rows])
        range_rows, range_ = range_rows[named], range_[named]
        members = (direct[0][typed[up]], subjects[domain_rows], objects[range_rows])
        member_rows = (origin[typed[up]], domain_rows, range_rows)
        found = np.concatenate((classes, domain, range_))
        kinds = np.full(len(found), self.kind, dtype=np.int64)
        return np.concatenate((rows, *member_rows)), (
            np.concatenate((subjects[rows], *members)),
            np.concatenate((supers, kinds)),
            np.concatenate((objects[rows], found)),
        )

    def applied(self, batch: EventBatch) -> EventBatch:
        """The events with the triples that follow from theirs, each once."""
        of = batch.event_of_triple()
        rows, derived = self.conclusions(batch.terms)
        if not len(rows):
            return batch
        columns = [np.concatenate(pair) for pair in zip(batch.terms, derived, strict=True)]
        events = np.concatenate((of, of[rows]))
        first = first_rows([events, *columns])
        order = first[np.argsort(events[first], kind="stable")]
        offsets = offsets_of(np.bincount(events[order], minlength=len(batch)))
        return EventBatch(batch.times, batch.streams, batch.names, offsets, *(column[order] for column in columns))

    def _not_literal(self, ids: Ids) -> Ids:
        distinct, inverse = np.unique(ids, return_inverse=True)
        named = [not isinstance(self.dictionary.term(i), Literal) for i in distinct.tolist()]
        return np.flatnonzero(np.array(named, dtype=np.bool_)[inverse])


def materialised(triples: Triples, dictionary: Dictionary) -> Triples:
    """A graph with all that follows from it, to a fixpoint, with the closure of its schema."""
    size = -1
    while len(triples[0]) != size:
        check_wanted()
        size = len(triples[0])
        schema = Schema.of([triples], dictionary)
        _, derived = schema.conclusions(triples)
        own = [_stated(schema.classes, SCHEMA[0], dictionary), _stated(schema.properties, SCHEMA[1], dictionary)]
        columns = [np.concatenate(parts) for parts in zip(triples, derived, *own, strict=True)]
        first = first_rows(columns)
        triples = (columns[0][first], columns[1][first], columns[2][first])
    return triples


def transitive(pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """The transitive closure; in a circle each reaches itself."""
    above: defaultdict[int, set[int]] = defaultdict(set)
    for low, high in pairs:
        above[low].add(high)
    closed = set()
    for start in list(above):
        check_wanted()
        reached: set[int] = set()
        waiting = [start]
        while waiting:
            for high in above.get(waiting.pop(), ()):
                if high not in reached:
                    reached.add(high)
                    waiting.append(high)
        closed |= {(start, high) for high in reached}
    return closed


def _stated(table: Table, predicate: str, dictionary: Dictionary) -> Triples:
    return table.keys, np.full(len(table.keys), dictionary.pin(IRI(predicate)), dtype=np.int64), table.values


def _inherited(stated: Table, properties: Table, classes: Table) -> Table:
    """Property → class, for its superproperties' classes and all superclasses too."""
    pairs = set(zip(stated.keys.tolist(), stated.values.tolist(), strict=True))
    rows, found = stated.expand(properties.values)
    pairs |= set(zip(properties.keys[rows].tolist(), found.tolist(), strict=True))
    base = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    rows, found = classes.expand(np.ascontiguousarray(base[:, 1]))
    return Table.of(pairs | set(zip(base[rows, 0].tolist(), found.tolist(), strict=True)))
