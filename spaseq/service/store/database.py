"""The database of the service: rows and dead letters by number, and the newest snapshot, in SQLite.

One thread writes, in one transaction for what belongs together; any thread reads.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, local

VERSION = 1
"""Of the tables; one more when an older service could not read them."""
_TABLES = """
create table if not exists meta (key text primary key, value integer) without rowid;
create table if not exists rows (query integer, n integer, at integer, text text, primary key (query, n)) without rowid;
create table if not exists newest (query integer primary key, n integer);
create table if not exists failed (query integer primary key, number integer, n integer, error text);
create table if not exists delivered (sink text primary key, n integer, note blob) without rowid;
create table if not exists letters (n integer primary key, at integer, text text);
create table if not exists snapshot (part integer primary key, number integer, body blob);
"""
_DELIVERED = "select n, note from delivered where sink = ?"
_READ_ROWS = "select n, text from rows where query = ? and n > ? order by n limit ?"
LETTERS = 0
"""Stands for the dead letters where queries have their number."""


class Database:
    """The database in a file, made if it is not there. OSError or sqlite3.Error where the disk fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._write = self._connected()
        self._writing = Lock()
        self._reading = local()
        self._readers: list[sqlite3.Connection] = []
        self._write.executescript(_TABLES)
        found = self.meta("version", VERSION)
        if found != VERSION:
            raise ValueError(f"{path} has version {found}, this service reads version {VERSION}")
        with self.transaction() as write:
            write.execute("insert or replace into meta values ('version', ?)", (VERSION,))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The one connection that writes; what is done with it is on disk afterwards, or not done at all."""
        with self._writing:
            self._write.execute("begin immediate")
            try:
                yield self._write
                self._write.execute("commit")
            except BaseException:
                if self._write.in_transaction:
                    self._write.execute("rollback")
                raise

    def meta(self, key: str, default: int) -> int:
        """A number by its name."""
        found = self._one("select value from meta where key = ?", key)
        return default if found is None else found

    def next_boot(self) -> int:
        """A number that no earlier start of the service had."""
        boot = self.meta("boot", 0) + 1
        with self.transaction() as write:
            write.execute("insert or replace into meta values ('boot', ?)", (boot,))
        return boot

    # --- rows -------------------------------------------------------------------------------------

    def rows(self, query: int, after: int, limit: int) -> list[tuple[int, str]]:
        """Rows of a query by number, from the one after `after`."""
        return self._read().execute(_READ_ROWS, (query, after, limit)).fetchall()

    def oldest_row(self, query: int) -> int:
        """The number of the oldest row that is kept, or of the next one."""
        found = self._one("select min(n) from rows where query = ?", query)
        return self.newest_row(query) + 1 if found is None else found

    def newest_row(self, query: int) -> int:
        """The number of the newest row that there has been; 0: none."""
        return self._one("select n from newest where query = ?", query) or 0

    def letters(self, after: int, limit: int) -> list[tuple[int, str]]:
        """Dead letters by number, from the one after `after`."""
        found = self._read().execute("select n, text from letters where n > ? order by n limit ?", (after, limit))
        return found.fetchall()

    def newest_letter(self) -> int:
        """The number of the newest dead letter that there has been; 0: none."""
        return self.newest_row(LETTERS)

    def failures(self) -> dict[int, tuple[int, int, str]]:
        """Of queries that have failed: the number of the record at which, that of the last row, the reason."""
        found = self._read().execute("select query, number, n, error from failed")
        return {query: (number, n, error) for query, number, n, error in found}

    def last_row(self, query: int, number: int) -> int:
        """The number of the last row of a query that has failed at a record, or fails there now."""
        failed_at, last, _ = self.failures().get(query, (-1, 0, ""))
        return last if failed_at == number else self.newest_row(query)

    def delivered(self, sink: str) -> tuple[int, bytes] | None:
        """The number of the last row that a sink has taken, and its note for itself; None before the first."""
        found: tuple[int, bytes] | None = self._read().execute(_DELIVERED, (sink,)).fetchone()
        return found

    # --- snapshots --------------------------------------------------------------------------------

    def snapshot(self) -> bytes | None:
        """The newest snapshot."""
        parts = self._read().execute("select body from snapshot order by part").fetchall()
        return b"".join(body for (body,) in parts) if parts else None

    def close(self) -> None:
        """Close all connections; no other thread uses them any more."""
        for connection in (*self._readers, self._write):
            connection.close()

    def _one(self, query: str, *values: int | str) -> int | None:
        found: tuple[int | None] | None = self._read().execute(query, values).fetchone()
        return None if found is None else found[0]

    def _read(self) -> sqlite3.Connection:
        known: sqlite3.Connection | None = getattr(self._reading, "connection", None)
        if known is None:
            known = self._reading.connection = self._connected()
            self._readers.append(known)
        return known

    def _connected(self) -> sqlite3.Connection:
        found = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=30)
        found.execute("pragma journal_mode = wal")
        found.execute("pragma synchronous = full")
        return found
