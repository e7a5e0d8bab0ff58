"""The database of the service: rows and dead letters by number, and the newest snapshot, in SQLite.

One thread writes, in one transaction for what belongs together; any thread reads. What is read is compared with its
checksum: a row that is damaged is said to be so in its place, and anything else that is damaged is an error.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import randbits
from threading import Lock, local
from typing import Any

from spaseq.errors import RunError
from spaseq.service.log.groups import UNLINKED
from spaseq.service.store.damage import DATABASE, damaged, in_its_place
from spaseq.service.store.migration import migrate
from spaseq.service.store.reading import (
    as_written,
    damage_named,
    newest_entry,
    numbers_there,
    snapshot_parts,
    sound_entries,
)
from spaseq.service.store.tables import KEYS, TOTALLED, VERSION, Connection, Value, statements
from spaseq.service.store.writes import LETTERS, store

Connect = Callable[[Path], Connection]
SETTINGS = "pragma journal_mode = wal", "pragma synchronous = full"
"""Of every connection."""
BUSY_S = 30
"""For which one connection waits for another."""


def connected(path: Path) -> sqlite3.Connection:
    """A connection to a database in a file."""
    found = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_S)
    found.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")  # what is damaged can be read, too
    try:
        for setting in SETTINGS:
            found.execute(setting)
    except sqlite3.Error:
        found.close()
        raise
    return found


class Database:
    """The database in a file, made if the data folder `is_new`. Raises sqlite3.Error, and RunError for damage.

    folder      a number of its data folder, unlike that of any other
    """

    def __init__(self, path: Path, is_new: bool, connect: Connect = connected) -> None:
        self._connect = partial(connect, path)
        self._writing = Lock()
        self._reading = local()
        self._readers: list[Connection] = []
        with damage_named():
            self._write = self._connect()
            self._prepare(is_new)
            self._check()
        self.folder = self.meta("folder", 0)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """The one connection that writes; what is done with it is on disk afterwards, or not done at all.

        After a fault of the disk the same may be tried again.
        """
        with self._writing, damage_named():
            if self._write.in_transaction:  # what failed before could not even be rolled back
                self._write.execute("rollback")
            self._write.execute("begin immediate")
            try:
                yield self._write
                self._write.execute("commit")
            except BaseException:
                if self._write.in_transaction:
                    with suppress(sqlite3.Error):
                        self._write.execute("rollback")
                raise

    def meta(self, key: str, default: int) -> int:
        """A number by its name."""
        found = self._entry("meta", "key = ?", key)
        return default if found is None else found[1]

    # --- rows -------------------------------------------------------------------------------------

    def rows(self, query: int, after: int, limit: int) -> list[tuple[int, str]]:
        """Rows of a query that are kept, by number, from the one after `after`."""
        return self._numbered(query, after, limit, "row")

    def oldest_row(self, query: int) -> int:
        """The number of the oldest row that is kept, or of the next one."""
        return self._kept(query)[0]

    def newest_row(self, query: int) -> int:
        """The number of the newest row that there has been; 0: none."""
        return self._kept(query)[1]

    def rows_before(self, query: int, record: int) -> int:
        """The number of the last row of a query that comes from before a record."""
        asked = "select n from rows where query = ? and number < ? order by n desc limit 1"
        with damage_named():
            found = self._read().execute(asked, (query, record)).fetchone()
        return self._kept(query)[0] - 1 if found is None else int(found[0])

    def letters(self, after: int, limit: int) -> list[tuple[int, str]]:
        """Dead letters that are kept, by number, from the one after `after`."""
        return self._numbered(LETTERS, after, limit, "dead letter")

    def newest_letter(self) -> int:
        """The number of the newest dead letter that there has been; 0: none."""
        return self.newest_row(LETTERS)

    def failures(self) -> dict[int, tuple[int, int, str]]:
        """Of queries that have failed: the number of the record at which, that of the last row, the reason."""
        return {query: (number, n, error) for query, number, n, error in self._entries("failed")}

    def last_row(self, query: int, number: int) -> int:
        """The number of the last row of a query that has failed at a record, or fails there now."""
        failed_at, last, _ = self.failures().get(query, (-1, 0, ""))
        return last if failed_at == number else self.newest_row(query)

    def delivered(self, sink: str) -> tuple[int, bytes] | None:
        """The number of the last row that a sink has taken, and its note for itself; None before the first."""
        found = self._entry("delivered", "sink = ?", sink)
        return None if found is None else (found[1], found[2])

    # --- snapshots --------------------------------------------------------------------------------

    def snapshot(self) -> tuple[int, int, dict[str, bytes]] | None:
        """Number and link of the place in the log up to which the newest snapshot goes, and its parts by name.

        A part is empty where it is damaged. None: there was no snapshot.
        """
        with damage_named():
            return snapshot_parts(self._read().execute("select * from snapshot").fetchall())

    # --- ends -------------------------------------------------------------------------------------

    def newest_place(self) -> tuple[int, int]:
        """Number and link of the newest place in the log from which a row or a dead letter comes; 0 for none.

        Of each query by its last row, unless that one is damaged.
        """
        read = self._read()
        with damage_named():
            last = (newest_entry(read, query) for query, _, _ in self._entries("kept"))
            return max((entry[-4:-2] for entry in last if entry is not None), default=(0, UNLINKED))

    def close(self) -> None:
        """Close all connections; no other thread uses them any more."""
        for connection in (*self._readers, self._write):
            connection.close()

    # --- inside -----------------------------------------------------------------------------------

    def _prepare(self, is_new: bool) -> None:
        """Make the tables, or those of release 0.1.0 anew."""
        tables = {
            name for (name,) in self._write.execute("select name from sqlite_master where type = 'table'").fetchall()
        }
        if "totals" in tables:
            return
        if not tables and not is_new:
            raise damaged("it is empty")
        with self.transaction() as write:
            if tables:
                migrate(write)
            else:
                for statement in statements():
                    write.execute(statement)
                store(write, "meta", "folder", randbits(62))
                store(write, "meta", "version", VERSION)
                store(write, "meta", "read", 0)

    def _check(self) -> None:
        """RunError unless all tables are there, with all entries, and what is read now is as it was written."""
        found = {sql for (sql,) in self._write.execute("select sql from sqlite_master").fetchall()}
        if missing := [each for each in statements() if each.startswith("CREATE") and each not in found]:
            raise damaged(f"it lacks what '{missing[0]:.40} …' made")
        for table in TOTALLED:
            noted = self._write.execute("select entries, checksums from totals where name = ?", (table,)).fetchone()
            counted = f"select count(*), coalesce(sum(checksum), 0) from {table}"
            if noted != self._write.execute(counted).fetchone():
                raise damaged(f"the table {table} has other entries than were written")
        meta = dict(self._entries("meta"))
        if meta.keys() != set(KEYS):
            raise damaged("the table meta has other entries than were written")
        if meta["version"] != VERSION:
            raise RunError(
                f"{DATABASE} has version {meta['version']}, this service reads 1 and {VERSION}",
                hint="start the service with the SPAseq that wrote it",
            )
        self._check_numbers({query: (oldest, newest) for query, oldest, newest in self._entries("kept")})
        self.failures()

    def _check_numbers(self, kept: Mapping[int, tuple[int, int]]) -> None:
        """RunError unless the numbers of all rows and dead letters are among those that are kept."""
        for query, first, last in numbers_there(self._write):
            oldest, newest = kept.get(query, (1, 0))
            if not oldest <= first <= last <= newest:
                what = "dead letters" if query == LETTERS else f"rows of query {query}"
                raise damaged(f"{what} from {first} to {last}, where those from {oldest} to {newest} are kept")

    def _numbered(self, query: int, after: int, limit: int, what: str) -> list[tuple[int, str]]:
        """Texts of rows, or dead letters, that are kept, by number; of each that is damaged that it is so."""
        with self._snapshotted() as read:
            oldest, newest = self._kept(query)
            first = max(after + 1, oldest)
            last = min(newest, first + limit - 1)
            found = {entry[-6]: entry[-2] for entry in sound_entries(read, query, first, last)} if first <= last else {}
        return [(n, found.get(n) or in_its_place(n, what)) for n in range(first, last + 1)]

    def _kept(self, query: int) -> tuple[int, int]:
        """The numbers of the oldest row that is kept and of the newest one, of a query."""
        found = self._entry("kept", "query = ?", query)
        return (1, 0) if found is None else (found[1], found[2])

    def _entry(self, table: str, where: str, key: Value) -> tuple[Any, ...] | None:
        """An entry of a table by its key."""
        with damage_named():
            found: tuple[Any, ...] | None = (
                self._read().execute(f"select * from {table} where {where}", (key,)).fetchone()
            )
        return None if found is None else as_written(table, found)

    def _entries(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All entries of a table, without their checksums."""
        with damage_named():
            entries = self._read().execute(f"select * from {table}").fetchall()
        return (as_written(table, entry)[:-1] for entry in entries)

    @contextmanager
    def _snapshotted(self) -> Iterator[Connection]:
        """A connection whose reads are of one moment; after a fault the next one is another connection."""
        read = self._read()
        try:
            with damage_named():
                read.execute("begin")
                yield read
                read.execute("commit")
        except BaseException:
            self._reading.connection = None
            self._readers.remove(read)
            with suppress(sqlite3.Error):
                read.close()
            raise

    def _read(self) -> Connection:
        known: Connection | None = getattr(self._reading, "connection", None)
        if known is None:
            known = self._reading.connection = self._connect()
            self._readers.append(known)
        return known
