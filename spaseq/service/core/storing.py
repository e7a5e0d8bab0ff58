"""Rows and dead letters get their numbers, and are stored."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from spaseq.outputs.dead_letters import DeadLetter
from spaseq.service.core.clock import Clock
from spaseq.service.core.groups import Group, Running
from spaseq.service.core.rest import Rest
from spaseq.service.log.segmented import Place
from spaseq.service.store.database import Database
from spaseq.service.store.faults import in_words, is_passing
from spaseq.service.store.tables import Connection
from spaseq.service.store.writes import Letter, Row, forget_query, store, store_letters, store_rows

STORE_AGAIN_S = 1.0
"""Pause before a transaction that failed is tried again: a full disk may have room then."""
_T = TypeVar("_T")
_logger = logging.getLogger("spaseq.service")


class Storing:
    """The way into the database.

    decide      has decisions on disk about what was found, before it is stored
    letters     that have been found and are not stored yet
    read        the number of the last record whose dead letters are stored
    on_stored   is called with the rows that are on disk now, by the names of their queries
    fault       of the disk, for which nothing can be stored now; "" while it works
    writing_since   the monotonic time at which a transaction began; None: none is under way
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        on_stored: Callable[[Mapping[str, Sequence[Row]]], None],
        rest: Rest,
        decide: Callable[[], None],
    ) -> None:
        self._decide = decide
        self._database, self._clock, self._on_stored, self._rest = database, clock, on_stored, rest
        self.fault = ""
        self.writing_since: float | None = None
        self.letters: list[DeadLetter] = []
        self.read = database.meta("read", 0)
        self._newest_letter = database.newest_letter()
        self._failures = database.failures()
        self._failed_until = max((number for number, _, _ in self._failures.values()), default=-1)
        self._stored: dict[int, int] = {}

    def store_main(self, group: Group, place: Place) -> None:
        """Store what the main group has found up to a place, and the dead letters of the records that it has read.

        Those of records that had been read before a restart are there already.
        """
        letters = list(self.letters) if group.number > self.read else []
        self.letters.clear()
        self.store(group, letters, place, max(self.read, group.number))

    def store(self, group: Group, letters: Sequence[DeadLetter], place: Place, read: int | None = None) -> None:
        """Store what a group has found up to a place, in one transaction, however often it takes."""
        self._decide()
        now = self._clock.wall()
        found = self._rows(group, now, place)
        newest = {rows[-1][0]: rows[-1][1] for rows in found.values()}
        failed = self._failed(group)
        if found or letters or failed:
            self.read = self.read if read is None else read
            self._transact(
                list(chain.from_iterable(found.values())), newest, failed, self._numbered(letters, now, place)
            )
        if found:
            self._on_stored(found)

    def forget(self, query: int) -> None:
        """Delete what is stored of a query."""
        self._failures.pop(query, None)
        self._stored.pop(query, None)
        self._write(lambda write: forget_query(write, query))

    def _rows(self, group: Group, now: int, place: Place) -> dict[str, list[Row]]:
        """The rows that are not in the database yet, by the names of their queries."""
        new: dict[str, list[Row]] = {}
        for running, found in group.take_found():
            last, stored = self._last_of(running), self._stored_of(running.number)
            for text in found:
                if last is not None and running.rows >= last:
                    break
                running.rows += 1
                if running.rows > stored:
                    row = (running.number, running.rows, now, *place, f'{{"n": {running.rows}, {text[1:]}')
                    new.setdefault(running.name, []).append(row)
            if running.rows > stored:
                self._stored[running.number] = running.rows
        return new

    def _stored_of(self, query: int) -> int:
        """The number of the last row of a query that is in the database."""
        if query not in self._stored:
            self._stored[query] = self._again(lambda: self._database.newest_row(query))
        return self._stored[query]

    def _last_of(self, running: Running) -> int | None:
        """The number of the last row of a query that failed before a restart, with the same text."""
        failure = self._failures.get(running.number)
        return failure[1] if failure is not None and failure[0] > running.put else None

    def _failed(self, group: Group) -> list[tuple[int, int, int, str]]:
        """The queries that have failed; one that did before a restart fails at the same record again."""
        if not group.failing and group.checked >= self._failed_until:
            return []
        group.failing, group.checked, found = False, group.number, []
        for running in group.members.values():
            number, _, error = self._failures.get(running.number, (0, 0, ""))
            if running.shadow or (running.error and running.put < number):
                continue
            if running.error:
                found.append((running.number, group.number, running.rows, running.error))
                self._failures[running.number] = group.number, running.rows, running.error
            elif running.put < number <= group.number:
                running.error = error
                running.reader.stop()
        return found

    def _numbered(self, letters: Sequence[DeadLetter], now: int, place: Place) -> list[Letter]:
        numbered = []
        for letter in letters:
            self._newest_letter += 1
            n = self._newest_letter
            numbered.append((n, now, *place, f'{{"n": {n}, {letter.to_json()[1:].rstrip()}'))
        return numbered

    def _transact(
        self,
        rows: Sequence[Row],
        newest: dict[int, int],
        failed: Sequence[tuple[int, int, int, str]],
        letters: Sequence[Letter],
    ) -> None:
        def written(write: Connection) -> None:
            store_rows(write, rows, newest)
            for failure in failed:
                store(write, "failed", *failure)
            store_letters(write, letters, self.read)

        self._write(written)

    def _write(self, written: Callable[[Connection], None]) -> None:
        """Write in one transaction."""

        def transact() -> None:
            with self._database.transaction() as write:
                written(write)

        self.writing_since = time.monotonic()
        try:
            self._again(transact)
        finally:
            self.writing_since = None

    def _again(self, done: Callable[[], _T]) -> _T:
        """Do something with the database, as often as it takes."""
        while True:
            try:
                found = done()
            except sqlite3.Error as error:
                if not is_passing(error):
                    raise
                if not self.fault:
                    _logger.error("rows cannot be stored: %s; trying again", error)
                self.fault = in_words(error)
                self._rest.after(error, STORE_AGAIN_S)
            else:
                self.fault = ""
                return found
