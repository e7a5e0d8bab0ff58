"""Connections to a database whose disk fails where a test says so."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from spaseq.service.store.database import connected
from spaseq.service.store.tables import Connection, Cursor, Value

CODES = {
    errno.EIO: sqlite3.SQLITE_IOERR,
    errno.ENOSPC: sqlite3.SQLITE_FULL,
    errno.EDQUOT: sqlite3.SQLITE_FULL,
    errno.EMFILE: sqlite3.SQLITE_CANTOPEN,
    errno.EROFS: sqlite3.SQLITE_READONLY,
}
"""SQLite's codes for what the system says."""


class FaultyDisk:
    """The disk of a database; `fail` is asked before each operation, by its name, for an errno or 0."""

    def __init__(self) -> None:
        self.fail: Callable[[str], int] = lambda operation: 0

    def connect(self, path: Path) -> Connection:
        """See `Connect`."""
        self.check("connect")
        return FaultyConnection(self, connected(path))

    def check(self, operation: str) -> None:
        if code := self.fail(operation):
            error = sqlite3.OperationalError(f"disk says {errno.errorcode[code]}")
            error.sqlite_errorcode = CODES[code]
            raise error


class FaultyConnection:
    """A connection over such a disk; operations are the first words of statements."""

    def __init__(self, disk: FaultyDisk, connection: sqlite3.Connection) -> None:
        self._disk, self._connection = disk, connection

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, sql: str, values: Sequence[Value] = (), /) -> Cursor:
        self._disk.check(sql.split()[0].lower())
        return self._connection.execute(sql, values)

    def executemany(self, sql: str, values: Iterable[Sequence[Value]], /) -> Cursor:
        self._disk.check(sql.split()[0].lower())
        return self._connection.executemany(sql, values)

    def close(self) -> None:
        self._connection.close()
