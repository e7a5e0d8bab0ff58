"""Bind-joins: one pattern at one endpoint, joined with the keys of events.

Requests are made for distinct keys that are not cached, in VALUES blocks, several at a time. A pattern with few
solutions is fetched once instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kb.access import shown
from kb.cache import AnswerCache, TermTuple
from kb.errors import KnowledgeBaseError
from kb.protocol import Client, Fault
from kb.results import ResultReader
from kb.source import Source
from kb.sparql_text import SparqlWriter, key_text, select_text, values_text
from sparql_gpm.algebra.analysis import substitution_is_a_join
from sparql_gpm.algebra.scope import certain, in_scope
from sparql_gpm.columns import UNBOUND, Ids, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.pattern import Pattern
from sparql_gpm.relations.keys import groups
from sparql_gpm.terms import IRI, Term

CACHED_ROWS_MAX = 500_000
"""Solutions of one pattern that are cached."""

Names = tuple[str, ...]
Keys = dict[str, int]
"""The values of some variables as text of a VALUES block, with the number of rows that have them."""


@dataclass(slots=True)
class EndpointCounts:
    """The counts of an endpoint.

    keys            distinct keys in requests
    cached          distinct keys found in the cache
    skipped_rows    rows joined with nothing because the endpoint failed
    """

    keys: int = 0
    cached: int = 0
    skipped_rows: int = 0


class BindJoin:
    """One pattern at one endpoint; `now` gives seconds, constant during a batch: no answer expires inside it."""

    def __init__(
        self, pattern: Pattern, source: Source, dictionary: Dictionary, now: Callable[[], float], asked: EndpointCounts
    ) -> None:
        self._pattern = pattern
        self._source = source
        self._dictionary = dictionary
        self._asked = asked
        self._now = now
        self._caches: dict[Names, AnswerCache] = {}
        self._bodies: dict[Names, str] = {}
        self._whole: tuple[float, list[TermTuple]] | None = None
        self._is_large = source.whole_rows_max == 0
        self.variables = tuple(sorted(in_scope(pattern)))
        self._reader = ResultReader(self.variables, certain(pattern))

    async def solutions(self, given: Mapping[str, Ids], client: Client) -> Solutions:
        """At least the solutions that agree with a row of the given values; raises KnowledgeBaseError."""
        known = self._known_whole()
        if known is not None:
            return self._as_ids(known)
        if not given:
            return self._as_ids(await self._all(client, self._source.answer_rows_max, counted=1) or ())
        names = tuple(given)
        classes = groups(list(given.values()))
        counts = np.bincount(classes.of_row, minlength=len(classes.first)).tolist()
        columns = [self._texts(column[classes.first]) for column in given.values()]
        rows, missing = self._from_cache(names, _keys(columns, counts))
        if len(missing) > self._source.batch_keys and not self._is_large:
            whole = await self._all(client, self._source.whole_rows_max, counted=0)
            if whole is not None:
                return self._as_ids(whole)
        return self._as_ids(rows + await self._fetched(names, missing, client))

    def _texts(self, ids: Ids) -> list[str | None]:
        term = self._dictionary.term
        return [key_text(term(identifier)) for identifier in ids.tolist()]

    def _from_cache(self, names: Names, keys: Keys) -> tuple[list[TermTuple], Keys]:
        """The solutions for cached keys, and the other keys."""
        if names not in self._caches:
            self._caches[names] = AnswerCache(CACHED_ROWS_MAX, self._source.answers_kept_s, self._now)
        get = self._caches[names].get
        rows: list[TermTuple] = []
        missing: Keys = {}
        for key, count in keys.items():
            found = get(key)
            if found is None:
                missing[key] = count
            elif found:
                rows += found
        self._asked.cached += len(keys) - len(missing)
        return rows, missing

    async def _fetched(self, names: Names, keys: Keys, client: Client) -> list[TermTuple]:
        """The solutions for keys that are not cached; the first failure ends all requests."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._fetch(names, part, client)) for part in self._parts(keys)]
        except ExceptionGroup as failures:  # what `except*` raises, Python 3.11.2 puts into a group again
            for failure in failures.exceptions:
                if isinstance(failure, KnowledgeBaseError):
                    raise failure from failures
            raise
        return [row for task in tasks for row in task.result()]

    def _parts(self, keys: Keys) -> Iterator[Keys]:
        items, source = list(keys.items()), self._source
        size = max(source.batch_keys, min(source.batch_keys_max, len(items) // source.in_flight))
        for begin in range(0, len(items), size):
            yield dict(items[begin : begin + size])

    async def _fetch(self, names: Names, keys: Keys, client: Client) -> list[TermTuple]:
        """The solutions for some keys, added to the cache; none if the endpoint fails under `skip`."""
        self._asked.keys += len(keys)
        try:
            rows = await client.select(self._query(names, list(keys)), partial(self._reader.decode, keys=names))
        except Fault as fault:
            self._failed(fault, sum(keys.values()))
            return []
        answers: dict[str, list[TermTuple]] = {key: [] for key in keys}
        for key, row in zip(self._keys_in(rows, names), rows, strict=True):
            wanted = answers.get(key)
            if wanted is not None:
                wanted.append(row)
        self._caches[names].put_all(answers)
        return rows

    def _keys_in(self, rows: Sequence[TermTuple], names: Names) -> Sequence[str]:
        """The key of each row of an answer."""
        columns = [[_row_text(row[place]) for row in rows] for place in map(self.variables.index, names)]
        return columns[0] if len(columns) == 1 else [" ".join(key) for key in zip(*columns, strict=True)]

    def _query(self, names: Names, texts: Sequence[str]) -> str:
        """The pattern joined with the keys; in one group where that is equivalent, which endpoints plan better."""
        if names not in self._bodies:
            body = SparqlWriter().group(self._pattern)
            flat = substitution_is_a_join(self._pattern, frozenset(names))
            self._bodies[names] = body if flat else f"{{ {body} }}"
        return select_text(self.variables, f"{values_text(names, texts)} {self._bodies[names]}")

    async def _all(self, client: Client, rows_max: int, counted: int) -> list[TermTuple] | None:
        """Every solution, kept from now on; None if they are more than rows_max, or the endpoint fails under `skip`.

        counted     rows that such a failure concerns
        """
        try:
            query = select_text(self.variables, SparqlWriter().group(self._pattern), rows_max + 1)
            rows = await client.select(query, self._reader.decode)
        except Fault as fault:
            self._failed(fault, counted)
            return None
        if len(rows) > rows_max:
            self._is_large = True
            return None
        self._whole = (self._now() + self._source.answers_kept_s, rows)
        return rows

    def _known_whole(self) -> list[TermTuple] | None:
        if self._whole is not None and self._whole[0] <= self._now():
            self._whole = None
        return None if self._whole is None else self._whole[1]

    def _failed(self, fault: Fault, rows: int) -> None:
        if self._source.failure != "skip":
            raise KnowledgeBaseError(str(fault), shown(self._source.location)) from fault
        self._asked.skipped_rows += rows

    def _as_ids(self, rows: Sequence[TermTuple]) -> Solutions:
        intern = self._dictionary.intern
        columns = zip(*rows, strict=True) if rows else ((),) * len(self.variables)
        ids = {
            name: np.array([UNBOUND if term is None else intern(term) for term in column], dtype=np.int64)
            for name, column in zip(self.variables, columns, strict=True)
        }
        return Solutions(np.zeros(len(rows), dtype=np.int64), ids)


def _keys(columns: Sequence[Sequence[str | None]], counts: Sequence[int]) -> Keys:
    """The keys that an endpoint can have."""
    if len(columns) == 1:
        return {text: count for text, count in zip(columns[0], counts, strict=True) if text is not None}
    rows = zip(zip(*columns, strict=True), counts, strict=True)
    return {
        " ".join(known): count for row, count in rows if len(known := [t for t in row if t is not None]) == len(row)
    }


def _row_text(term: Term | None) -> str:
    """The text of a key in an answer; an invalid IRI equals no key."""
    if type(term) is IRI:
        return f"<{term.value}>"
    return "" if term is None else key_text(term) or ""
