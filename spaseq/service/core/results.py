"""Rows and dead letters that are on disk, and those who wait for more."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from threading import Lock
from typing import Any

from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import parse_time
from spaseq.outputs.trig import named_graph
from spaseq.service.errors import Refused
from spaseq.service.log.segments import WAYS
from spaseq.service.store.damage import DATABASE, is_in_a_place
from spaseq.service.store.database import Database
from spaseq.service.store.writes import Row

COUNTED_ROWS = 1_000
"""Rows that `damaged` reads at a time."""
FRESH_ROWS_MAX = 500
FRESH_CHARACTERS_MAX = 1 << 20
"""Of rows of a query that are kept in memory for those who follow it."""


@dataclass(slots=True)
class _Fresh:
    """The newest rows of a query, in order; `number` is that of the query, `characters` those of the rows' texts.

    Any thread reads the rows while one adds some at the end: those that go, go by another list.
    """

    number: int
    rows: list[tuple[int, str]] = field(default_factory=list)
    characters: int = 0

    def add(self, found: Sequence[Row]) -> None:
        """Add rows; of more than there is room for, the newer half, and the last one in any case, are kept."""
        self.rows += [(n, text) for _, n, *_, text in found]
        self.characters += sum([len(text) for *_, text in found])
        if len(self.rows) > FRESH_ROWS_MAX or self.characters > FRESH_CHARACTERS_MAX:
            sizes = accumulate(len(text) for _, text in reversed(self.rows[-FRESH_ROWS_MAX // 2 :]))
            kept = max(1, sum(1 for size in sizes if size <= FRESH_CHARACTERS_MAX // 2))
            self.rows = self.rows[-kept:]
            self.characters = sum([len(text) for _, text in self.rows])


class Results:
    """The rows of all queries.

    number_of   a query, by its name; Refused for one that is not there
    """

    def __init__(self, database: Database, number_of: Callable[[str], int]) -> None:
        self._database, self._number_of = database, number_of
        self._told: dict[str, list[Callable[[], None]]] = {}
        self._fresh: dict[str, _Fresh] = {}
        self._telling = Lock()

    def rows(self, name: str, after: int | None, limit: int) -> list[tuple[int, str]]:
        """Rows by number, each with its line of NDJSON; Refused if the one after `after` is no longer kept."""
        number = self._number_of(name)
        oldest = self._database.oldest_row(number)
        if after is not None and after + 1 < oldest:
            detail = f"the rows before {oldest} are past retention"
            raise Refused(410, "Gone", detail, members={"oldest": oldest})
        return self._database.rows(number, oldest - 1 if after is None else after, limit)

    def row(self, name: str, number: int) -> dict[str, Any]:
        """A row as values of JSON; Refused if there is none of the number, or no longer."""
        found = self.rows(name, max(0, number - 1), 1)
        if not found or found[0][0] != number:
            raise Refused(404, "No such row", f"'{name}' has no row {number}")
        row: dict[str, Any] = json.loads(sound_line(name, *found[0]))
        return row

    def damaged(self, name: str, after: int | None, limit: int) -> int:
        """The number of rows that are damaged on disk among those that `rows` gives. It reads them page by page."""
        count = 0
        while limit > 0 and (page := self.rows(name, after, min(limit, COUNTED_ROWS))):
            count += sum(is_in_a_place(line) for _, line in page)
            after, limit = page[-1][0], limit - len(page)
        return count

    def fresh_rows(self, name: str, after: int) -> list[tuple[int, str]] | None:
        """The rows after one, if they are in memory, as those of queries that somebody follows are for a while.

        Any thread asks, and waits for nothing.
        """
        fresh = self._fresh.get(name)
        if fresh is None or fresh.number != self._number_of(name):
            return None
        rows = fresh.rows
        if not rows or not rows[0][0] <= after + 1 <= rows[-1][0] + 1:
            return None
        return rows[after + 1 - rows[0][0] :]

    def newest_row(self, name: str) -> int:
        """The number of the newest row; 0: there was none."""
        return self._database.newest_row(self._number_of(name))

    def trig_rows(self, name: str, after: int | None, limit: int) -> tuple[str, int]:
        """The rows of a CONSTRUCT query as TriG, and how many are left out because they are damaged on disk."""
        parts, damaged = [], 0
        for _, line in self.rows(name, after, limit):
            if is_in_a_place(line):
                damaged += 1
                continue
            row = json.loads(line)
            if "graph" not in row:
                detail = f"'{name}' is no CONSTRUCT query: ask for application/x-ndjson"
                raise Refused(406, "Not acceptable", detail)
            parts.append(named_graph(row["graph"], time_of(row["time"]), row["triples"]))
        return "".join(parts), damaged

    def dead_letters(self, after: int, limit: int) -> list[str]:
        """Dead letters by number, each a line of NDJSON."""
        return [text for _, text in self._database.letters(after, limit)]

    def follow(self, name: str, notify: Callable[[], None]) -> Callable[[], None]:
        """Let a function know of rows that are on disk, or of the end of the query; the result ends that."""
        with self._telling:
            self._told.setdefault(name, []).append(notify)

        def end() -> None:
            with self._telling:
                told = self._told.get(name, [])
                if notify in told:
                    told.remove(notify)
                if not told:
                    self._told.pop(name, None)
                    self._fresh.pop(name, None)

        return end

    def stored(self, found: Mapping[str, Sequence[Row]]) -> None:
        """Let those know who follow queries that have these rows since now."""
        with self._telling:
            for name in found.keys() & self._told.keys():
                number, fresh = found[name][0][0], self._fresh.get(name)
                if fresh is None or fresh.number != number:
                    fresh = self._fresh[name] = _Fresh(number)
                fresh.add(found[name])
        self.tell(found.keys())

    def tell(self, names: Collection[str]) -> None:
        """Let those know who follow some queries."""
        with self._telling:
            told = [notify for name in names for notify in self._told.get(name, ())]
        for notify in told:
            notify()


def sound_line(name: str, number: int, line: str) -> str:
    """The line of a row; Refused (500) if the row is damaged on disk."""
    if is_in_a_place(line):
        raise Refused(500, "Damaged", f"row {number} of '{name}' is damaged on disk ({DATABASE}); {WAYS}")
    return line


def time_of(text: str) -> int:
    """The time of an xsd:dateTime, in nanoseconds; Refused for another text."""
    try:
        return parse_time(Literal(text, XSD + "dateTime"))
    except ValueError as error:
        raise Refused(422, "Unusable value", f"'{text:.60}' is no time: {error}") from error
