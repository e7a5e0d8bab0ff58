"""SQLite on a disk that forgets what was not synced: a VFS over the one of the system, and connections through it.

Files are the real ones, so that the write-ahead log of SQLite and its shared memory are as ever. Beside them the disk
remembers what of each is synced, and every change since; `lose_power` draws of that what a machine finds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from threading import RLock
from typing import Any

import apsw

from spaseq.service.store.database import BUSY_S, SETTINGS
from spaseq.service.store.tables import Value
from tests.service.unsynced import Change, after_power_loss, apply

_JOURNALS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
"""Files with whose first sync SQLite syncs the folder as well, if it may have made them."""
_KEPT = apsw.SQLITE_OPEN_MAIN_DB | _JOURNALS
"""Files that outlive a process."""
_names = count()


class PowerLost(Exception):
    """The machine has lost its power: nothing is done any more."""


@dataclass(slots=True, eq=False)
class _Content:
    """Bytes of a file: those on disk, and the changes since."""

    synced: bytearray = field(default_factory=bytearray)
    changes: list[Change] = field(default_factory=list)


class Disk:
    """The disk of a folder with databases.

    fail    is asked before each change, by its name, for a result code of SQLite or 0; it may raise PowerLost
    syncs   False: a broken disk, on which no sync has an effect
    """

    def __init__(self, syncs: bool = True) -> None:
        self.fail: Callable[[str], int] = lambda operation: 0
        self._syncs = syncs
        self._lock = RLock()
        self._names: dict[str, _Content] = {}
        self._synced_names: dict[str, _Content] = {}
        self._found: dict[str, bytes] | None = None
        self._ending = False
        self._open: list[apsw.Connection] = []
        self._vfs = _Vfs(f"lost power {next(_names)}", self)

    def connect(self, path: Path) -> Connection:
        """See `store.database.connected`."""
        with _AsSqlite3():
            self._open.append(connection := apsw.Connection(str(path), vfs=self._vfs.name))
            return Connection(self, connection)

    def lose_power(self, dice: Random) -> None:
        """Draw what a machine finds; from now on every change raises PowerLost, until the power is back."""
        with self._lock:
            self._found = {}
            for name in sorted({*self._names, *self._synced_names}):
                both = self._names.get(name), self._synced_names.get(name)
                if (content := dice.choice(both)) is not None:
                    self._found[name] = after_power_loss(content.synced, content.changes, dice)

    def power_on(self) -> None:
        """Let the folder have what was drawn."""
        for connection in self._open.copy():
            self.end(connection)
        with self._lock:
            assert self._found is not None
            for name in {*self._names, *self._synced_names, *self._found}:
                Path(f"{name}-shm").unlink(missing_ok=True)
                if name in self._found:
                    Path(name).write_bytes(self._found[name])
                else:
                    Path(name).unlink(missing_ok=True)
            self._names = {name: _Content(bytearray(found)) for name, found in self._found.items()}
            self._synced_names, self._found = self._names.copy(), None

    def close(self) -> None:
        """Forget all; all connections have been closed."""
        self._vfs.unregister()

    # --- changes ----------------------------------------------------------------------------------

    def opened(self, name: str, existed: bool) -> _Content:
        """The content of a file that has been opened, and maybe made."""
        with self._lock:
            if name not in self._names:
                self._names[name] = _Content()
                if existed:
                    self._names[name].synced[:] = Path(name).read_bytes()
                    self._synced_names[name] = self._names[name]
            return self._names[name]

    def changes(self, operation: str) -> bool:
        """True if a change is to be made; raises an error of SQLite, or PowerLost, if it fails."""
        if self._found is not None:
            if not self._ending:
                raise PowerLost
            return False
        if code := self.fail(operation):
            raise apsw.exception_for(code)
        return True

    def changed(self, content: _Content, change: Change) -> None:
        """A file has been changed."""
        with self._lock:
            content.changes.append(change)

    def synced(self, content: _Content, names: bool) -> None:
        """A file has been synced, and the names of all with it."""
        if not self._syncs:
            return
        with self._lock:
            for change in content.changes:
                apply(content.synced, change)
            content.changes.clear()
            if names:
                self._synced_names = self._names.copy()

    def deleted(self, name: str, synced: bool) -> None:
        """A file has been deleted, and maybe the names of all have been synced."""
        with self._lock:
            self._names.pop(name, None)
            if synced and self._syncs:
                self._synced_names = self._names.copy()

    def end(self, connection: apsw.Connection) -> None:
        """Close a connection; without power nothing is changed by that."""
        with self._lock:
            self._ending = True
            try:
                self._open.remove(connection)
                connection.close()
            finally:
                self._ending = False


class _Vfs(apsw.VFS):
    def __init__(self, name: str, disk: Disk) -> None:
        self.name, self._disk = name, disk
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        if name is None or not flags[0] & _KEPT:
            return apsw.VFSFile("", name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        existed = Path(path).exists()
        if not existed and not self._disk.changes("open"):
            raise apsw.CantOpenError
        syncs_names = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and flags[0] & _JOURNALS)
        file = _File("", name, flags)
        file.begin(self._disk, self._disk.opened(path, existed), syncs_names)
        return file

    def xDelete(self, name: str, syncdir: bool) -> None:
        if self._disk.changes("delete"):
            super().xDelete(name, syncdir)
            self._disk.deleted(name, syncdir)


class _File(apsw.VFSFile):
    def begin(self, disk: Disk, content: _Content, syncs_names: bool) -> None:
        """Go on with a content; `syncs_names`: the first sync syncs the names in the folder, too."""
        self._disk, self._content, self._syncs_names = disk, content, syncs_names

    def xWrite(self, data: bytes, offset: int) -> None:
        if self._disk.changes("write"):
            super().xWrite(data, offset)
            self._disk.changed(self._content, (offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        if self._disk.changes("truncate"):
            super().xTruncate(size)
            self._disk.changed(self._content, (size, None))

    def xSync(self, flags: int) -> None:
        if self._disk.changes("sync"):  # the real file need not be on disk
            self._disk.synced(self._content, self._syncs_names)
            self._syncs_names = False


class Connection:
    """A connection as the database has it (`store.tables.Connection`), on such a disk."""

    def __init__(self, disk: Disk, connection: apsw.Connection) -> None:
        self._disk, self._connection = disk, connection
        connection.set_busy_timeout(BUSY_S * 1000)
        for setting in SETTINGS:
            self.execute(setting)

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, sql: str, values: Sequence[Value] = (), /) -> Cursor:
        with _AsSqlite3():
            cursor = self._connection.execute(sql, values)
            try:
                return Cursor(cursor.fetchall())
            except UnicodeDecodeError:
                return Cursor(self._damaged(sql, values, len(cursor.description)))

    def executemany(self, sql: str, values: Iterable[Sequence[Value]], /) -> Cursor:
        with _AsSqlite3():
            return Cursor(self._connection.executemany(sql, values).fetchall())

    def close(self) -> None:
        self._disk.end(self._connection)

    def _damaged(self, sql: str, values: Sequence[Value], width: int) -> list[tuple[Any, ...]]:
        """The rows of a query in which a text is no UTF-8."""
        names = [f"c{number}" for number in range(width)]
        parts = ", ".join(f"typeof({name}), cast({name} as blob)" for name in names)
        rows = self._connection.execute(f"with found({', '.join(names)}) as ({sql}) select {parts} from found", values)
        return [tuple(_value(*row[at : at + 2]) for at in range(0, 2 * width, 2)) for row in rows]


class Cursor:
    """The rows of a statement, all of which have been read."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)


def _value(kind: str, data: bytes | None) -> Value | float:
    if data is None or kind == "blob":
        return data
    text = data.decode("utf-8", "surrogateescape")
    return int(text) if kind == "integer" else float(text) if kind == "real" else text


_CLASSES: dict[int, type[sqlite3.Error]] = {
    apsw.SQLITE_INTERNAL: sqlite3.InternalError,
    apsw.SQLITE_NOTFOUND: sqlite3.InternalError,
    apsw.SQLITE_CORRUPT: sqlite3.DatabaseError,
    apsw.SQLITE_NOTADB: sqlite3.DatabaseError,
    apsw.SQLITE_TOOBIG: sqlite3.DataError,
    apsw.SQLITE_CONSTRAINT: sqlite3.IntegrityError,
    apsw.SQLITE_MISMATCH: sqlite3.IntegrityError,
    apsw.SQLITE_MISUSE: sqlite3.InterfaceError,
    apsw.SQLITE_RANGE: sqlite3.InterfaceError,
}
"""The errors that are no OperationalError."""


class _AsSqlite3:
    """A time in which errors of apsw are those of sqlite3."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, apsw.Error):
            code = getattr(error, "extendedresult", apsw.SQLITE_MISUSE)
            found = _CLASSES.get(code & 0xFF, sqlite3.OperationalError)(str(error))
            found.sqlite_errorcode = code
            raise found from error
