"""The summary graph of a batch for all patterns at once (G Sections 6.4 and 7).

One pass over the triples drops those with a predicate of no pattern and groups the rest, by predicate and by predicate
with a subject or object that some pattern names. The groups present tell which patterns may have a solution.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparql_gpm.columns import EventBatch, Ids, RowEvent
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.matching.needs import Need, Needs
from sparql_gpm.matching.ranges import RangeIndex, Ranges
from sparql_gpm.matching.regular_view import RegularView
from sparql_gpm.regular_batch import RegularBatch

_FEW_TRIPLES_MAX = 64
"""Up to so many triples a loop is faster."""

Table = NDArray[np.uint16] | NDArray[np.int64]
_Key = tuple[int, int | None, int | None]
_NO_RANGES: Ranges = {}


@dataclass(frozen=True, slots=True)
class Survey:
    """The events of a slice for the patterns of a pool.

    touched     the patterns that may have a solution there
    present     the needs of patterns that are met there; None: nobody has looked
    """

    view: BatchView
    touched: set[int]
    present: Set[Need] | None = None


class Summary:
    """The needs of the patterns of all queries, by the numbers of the patterns.

    A pattern waits for one of its needs, and where it bounds the objects of a predicate, for a number in that range.

    version     counts the changes: groups made before the last one do not serve all
    """

    def __init__(self) -> None:
        self._always: set[int] = set()
        self._waiting: dict[Need, dict[tuple[int, frozenset[Need]], None]] = {}
        self._ranged: dict[Need, dict[int, RangeIndex]] = {}
        self._waits: Counter[Need] = Counter()
        self._alternatives: dict[int, frozenset[Need]] = {}
        self._needed: Counter[Need] = Counter()
        self._predicates = _Numbers()
        self._terms = _Numbers()
        self._named: dict[int, tuple[int, int]] = {}
        self.version = 0

    def __contains__(self, need: Need) -> bool:
        """True if some pattern needs it."""
        return need in self._needed

    def __len__(self) -> int:
        """The number of distinct needs."""
        return len(self._needed)

    def add(self, pattern: int, needs: Needs, ranges: Ranges = _NO_RANGES) -> None:
        """One more pattern with its needs and ranges."""
        self.version += 1
        for alternative in needs:
            for need in alternative:
                self._add_need(need)
            if not alternative:
                self._always.add(pattern)
                continue
            rarest = min(alternative, key=self._commonness)
            self._waits[rarest] += 1
            if len(needs) == 1 and ranges:
                bounded = _bounded(rarest, ranges)
                by_predicate = self._ranged.setdefault(rarest, {})
                by_predicate.setdefault(bounded, RangeIndex()).add(ranges[bounded], pattern)
                self._alternatives[pattern] = alternative
            else:
                self._waiting.setdefault(rarest, {})[pattern, alternative] = None

    def remove(self, pattern: int, needs: Needs, ranges: Ranges = _NO_RANGES) -> None:
        """Takes a pattern out that was added with these needs and ranges."""
        self.version += 1
        self._always.discard(pattern)
        self._alternatives.pop(pattern, None)
        for alternative in needs:
            for need in alternative:
                if len(needs) == 1 and ranges:
                    self._remove_range(need, ranges, pattern)
                elif (waiting := self._waiting.get(need)) and (pattern, alternative) in waiting:
                    del waiting[pattern, alternative]
                    self._waits[need] -= 1
                    if not waiting:
                        del self._waiting[need]
            for need in alternative:
                self._remove_need(need)

    def _remove_range(self, need: Need, ranges: Ranges, pattern: int) -> None:
        """Takes the range of a pattern out, if it is the triple that meets this need for which it waits."""
        bounded = _bounded(need, ranges)
        by_predicate = self._ranged.get(need, {})
        index = by_predicate.get(bounded)
        if index is None or not index.remove(ranges[bounded], pattern):
            return
        self._waits[need] -= 1
        if not len(index):
            del by_predicate[bounded]
        if not by_predicate:
            del self._ranged[need]

    def over(self, batch: EventBatch) -> Groups:
        """The triples of a batch, grouped."""
        if isinstance(batch, RegularBatch):
            return self._in_columns(batch)
        if len(batch.predicates) <= _FEW_TRIPLES_MAX:
            return self._one_by_one(batch)
        return self._at_once(batch)

    def touched(self, grouped: Groups, dictionary: Dictionary) -> set[int]:
        """The patterns that may have a solution in the batch."""
        found = self._touched(grouped.present)
        for asked, index in self._asked(grouped.present):
            objects = grouped.objects(asked)  # new terms may replace the numbers by longer ones
            found.update(self._in_range(index.over_some(dictionary.numbers[objects]), grouped.present))
        return found

    def in_events(self, events: Sequence[RowEvent], numbers: NDArray[np.float64]) -> tuple[set[int], set[Need]]:
        """The patterns that may have a solution in events, and the needs that they meet, without columns."""
        present: set[Need] = set()
        named, terms = self._named, self._terms
        for event in events:
            for subject, predicate, target in event.triples:
                if predicate in named:
                    present.add(Need(predicate))
                    subjects, objects = named[predicate]
                    if subjects and subject in terms:
                        present.add(Need(predicate, subject))
                    if objects and target in terms:
                        present.add(Need(predicate, None, target))
        found = self._touched(present)
        for asked, index in self._asked(present):
            for target in {each[2] for event in events for each in event.triples if _meets(each, asked)}:
                found.update(self._in_range(index.over(numbers.item(target)), present))
        return found, present

    def _touched(self, present: set[Need]) -> set[int]:
        """The patterns of which some alternative is met by these needs."""
        found = set(self._always)
        for need in present & self._waiting.keys():
            found.update(pattern for pattern, alternative in self._waiting[need] if alternative <= present)
        return found

    def _asked(self, present: set[Need]) -> Iterator[tuple[Need, RangeIndex]]:
        """The ranges that are asked for, and the triples whose objects are to be in them."""
        waited: Set[Need] = self._ranged.keys() & present
        for need in waited:
            for predicate, index in self._ranged[need].items():
                asked = need if need.predicate == predicate else Need(predicate)
                if asked in present:
                    yield asked, index

    def _in_range(self, patterns: Iterable[int], present: set[Need]) -> Iterator[int]:
        """Those of the patterns of which all needs are met."""
        return (pattern for pattern in patterns if self._alternatives[pattern] <= present)

    def names(self, predicate: int, subject: int | None, object: int | None) -> bool:
        """True if triples with this predicate, and this subject or this object, are grouped."""
        if predicate not in self._named:
            return False
        subjects, objects = self._named[predicate]
        if subject is not None:
            return object is None and subjects > 0 and subject in self._terms
        return object is None or (objects > 0 and object in self._terms)

    def _commonness(self, need: Need) -> tuple[bool, int]:
        """The less, the fewer patterns are asked for an event that meets the need: constants, then how many wait."""
        return need.subject is None and need.object is None, self._waits[need]

    def _add_need(self, need: Need) -> None:
        self._needed[need] += 1
        if self._needed[need] > 1:
            return
        self._predicates.add(need.predicate)
        self._count_named(need, 1)
        for term in (need.subject, need.object):
            if term is not None:
                self._terms.add(term)

    def _remove_need(self, need: Need) -> None:
        self._needed[need] -= 1
        if self._needed[need]:
            return
        del self._needed[need]
        self._waits.pop(need, None)
        self._count_named(need, -1)
        if self._predicates.remove(need.predicate):
            del self._named[need.predicate]
        for term in (need.subject, need.object):
            if term is not None:
                self._terms.remove(term)

    def _count_named(self, need: Need, change: int) -> None:
        """Of the needs with a predicate, how many name a subject and how many an object."""
        subjects, objects = self._named.get(need.predicate, (0, 0))
        subjects, objects = subjects + change * (need.subject is not None), objects + change * (need.object is not None)
        self._named[need.predicate] = subjects, objects

    def _in_columns(self, batch: RegularBatch) -> RegularGroups:
        """The needs that a regular batch meets, found by the distinct terms of its columns."""
        present: set[Need] = set()
        for triple in batch.triples:
            predicate = triple.predicate
            stated = triple.stated()
            if predicate not in self._named or not len(batch) or (stated is not None and not stated.any()):
                continue
            triple = triple if stated is None else triple.take(np.flatnonzero(stated))
            present.add(Need(predicate))
            subjects, objects = self._named[predicate]
            if subjects:
                present.update(Need(predicate, term) for term in self._terms.among(triple.subjects.distinct()))
            if objects:
                present.update(Need(predicate, None, term) for term in self._terms.among(triple.objects.distinct()))
        return RegularGroups(present, batch)

    def _at_once(self, batch: EventBatch) -> GroupedTriples:
        grouped = GroupedTriples(self, batch)
        for predicate, rows in self._predicates.groups(batch.predicates):
            grouped.put((predicate, None, None), rows)
            subjects, objects = self._named[predicate]
            if subjects:
                for term, some in self._terms.groups(batch.subjects[rows]):
                    grouped.put((predicate, term, None), rows[some])
            if objects:
                for term, some in self._terms.groups(batch.objects[rows]):
                    grouped.put((predicate, None, term), rows[some])
        return grouped

    def _one_by_one(self, batch: EventBatch) -> GroupedTriples:
        """`_at_once` for a few triples."""
        found: dict[_Key, list[int]] = {}
        columns = batch.subjects.tolist(), batch.predicates.tolist(), batch.objects.tolist()
        for row, (subject, predicate, target) in enumerate(zip(*columns, strict=True)):
            if predicate in self._named:
                found.setdefault((predicate, None, None), []).append(row)
                subjects, objects = self._named[predicate]
                if subjects and subject in self._terms:
                    found.setdefault((predicate, subject, None), []).append(row)
                if objects and target in self._terms:
                    found.setdefault((predicate, None, target), []).append(row)
        grouped = GroupedTriples(self, batch)
        for key, rows in found.items():
            grouped.put(key, np.array(rows, dtype=np.int64))
        return grouped


class Groups(Protocol):
    """The triples of one batch by the needs of patterns; `present`: the needs that are met."""

    present: set[Need]

    def objects(self, need: Need) -> Ids:
        """The objects of the triples that meet a need which is present."""

    def view(self) -> BatchView:
        """The batch, to match patterns against."""


class RegularGroups:
    """`Groups` of a regular batch."""

    def __init__(self, present: set[Need], batch: RegularBatch) -> None:
        self.present, self._batch = present, batch

    def objects(self, need: Need) -> Ids:
        """See `Groups`: those that occur, each once; at least those that meet the need."""
        triple = self._batch.triple(need.predicate)
        assert triple is not None, need
        return triple.objects.distinct()

    def view(self) -> BatchView:
        """See `Groups`."""
        return RegularView(self._batch)


class GroupedTriples:
    """`Groups` of triples in columns, looked up by `rows`."""

    def __init__(self, summary: Summary, batch: EventBatch) -> None:
        self.present: set[Need] = set()
        self._summary, self._batch = summary, batch
        self._version = summary.version
        self._rows: dict[_Key, Ids] = {}

    def put(self, key: _Key, rows: Ids) -> None:
        """Enter the rows of a group, at least one."""
        self.present.add(Need(*key))
        self._rows[key] = rows

    def objects(self, need: Need) -> Ids:
        """See `Groups`."""
        rows = self.rows(need.predicate, need.subject, need.object)
        assert rows is not None, need
        return self._batch.objects[rows]

    def view(self) -> BatchView:
        """See `Groups`."""
        return BatchView(self._batch, self.rows)

    def rows(self, predicate: int, subject: int | None, object: int | None) -> Ids | None:
        """A `sparql_gpm.matching.bgp_view.Grouped`."""
        summary = self._summary
        if summary.version != self._version or not summary.names(predicate, subject, object):
            return None
        return self._rows.get((predicate, subject, object), _NONE)


class _Numbers:
    """Small numbers for some ids, with a table that maps whole columns."""

    def __init__(self) -> None:
        self._uses: dict[int, int] = {}
        self._ids: list[int] = []
        self._table: Table | None = None

    def __contains__(self, identifier: int) -> bool:
        return identifier in self._uses

    def add(self, identifier: int) -> None:
        """One more id, or one use more of it."""
        if identifier not in self._uses:
            self._table = None
        self._uses[identifier] = self._uses.get(identifier, 0) + 1

    def remove(self, identifier: int) -> bool:
        """One use less of an id; returns whether that was the last one."""
        self._uses[identifier] -= 1
        if self._uses[identifier]:
            return False
        del self._uses[identifier]
        self._table = None
        return True

    def among(self, distinct: Ids) -> list[int]:
        """Those of some distinct ids that are among these."""
        table = self._numbers()
        found: list[int] = distinct[table[np.minimum(distinct, len(table) - 1)] > 0].tolist()
        return found

    def groups(self, column: Ids) -> Iterable[tuple[int, Ids]]:
        """Each of the ids that occurs in the column, with its places there, ascending."""
        table = self._numbers()
        numbers = table[np.minimum(column, len(table) - 1)]
        used = np.flatnonzero(numbers)
        kinds = numbers[used]
        places = used[np.argsort(kinds, kind="stable")]
        counts = np.bincount(kinds, minlength=len(self._ids) + 1)
        ends = np.cumsum(counts)
        present = np.flatnonzero(counts)
        for number, end, count in zip(present.tolist(), ends[present].tolist(), counts[present].tolist(), strict=True):
            yield self._ids[number - 1], places[end - count : end]

    def _numbers(self) -> Table:
        """By id, its number from 1 on; 0 for all others. The last entry stands for every greater id."""
        if self._table is None:
            self._ids = list(self._uses)
            few = len(self._ids) < 2**16  # 16 bits are sorted by counting
            table = np.zeros(max(self._ids, default=0) + 2, dtype=np.int64)
            table[self._ids] = np.arange(1, len(self._ids) + 1)
            self._table = table.astype(np.uint16) if few else table
        return self._table


def _bounded(need: Need, ranges: Ranges) -> int:
    """The predicate whose objects a pattern bounds in the index of this need."""
    return need.predicate if need.predicate in ranges else min(ranges)


def _meets(triple: tuple[int, int, int], need: Need) -> bool:
    """True if a triple meets a need."""
    subject, predicate, target = triple
    return predicate == need.predicate and need.subject in (None, subject) and need.object in (None, target)


_NONE: Ids = np.zeros(0, dtype=np.int64)
