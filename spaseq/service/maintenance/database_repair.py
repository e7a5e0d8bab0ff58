"""A database written anew from what is sound of another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from spaseq.service.log.files import sync_folder
from spaseq.service.log.groups import UNLINKED
from spaseq.service.maintenance.database_check import AT_ONCE, CheckedDatabase
from spaseq.service.store.damage import in_its_place
from spaseq.service.store.database import Connect, connected
from spaseq.service.store.reading import sound_entries
from spaseq.service.store.tables import SMALL, VERSION, Connection, checked, insert, statements
from spaseq.service.store.writes import LETTERS, store

_FILES = ("", "-wal", "-shm")
"""What the names of the files of a database end with."""


def repair_database(path: Path, found: CheckedDatabase, folder: int, connect: Connect = connected) -> None:
    """Write a database anew, whose data folder has a number. A row that is damaged is said to be so in its place.

    Raises OSError and sqlite3.Error.
    """
    new = path.with_name(f"{path.name}.new")
    _remove(new)
    with closing(connect(new)) as write:
        for statement in statements():
            write.execute(statement)
        write.execute("begin")
        if path.exists() and found.entries:
            with closing(connect(path)) as read:
                for query, (oldest, newest) in found.kept.items():
                    _copy(read, write, query, oldest, newest)
        for table in SMALL:
            if table != "snapshot" or found.saved is not None:
                for entry in found.entries.get(table, ()):
                    store(write, table, *entry[:-1])
        for query, (oldest, newest) in found.kept.items():
            store(write, "kept", query, oldest, newest)
        if not any(key == "read" for key, *_ in found.entries.get("meta", ())):
            store(write, "meta", "read", found.places[-1].number if found.places else 0)
        store(write, "meta", "version", VERSION)
        store(write, "meta", "folder", folder)
        write.execute("commit")
    _remove(path)
    new.rename(path)
    sync_folder(path.parent)


def _copy(read: Connection, write: Connection, query: int, oldest: int, newest: int) -> None:
    """Copy the rows of a query, or the dead letters."""
    table = "letters" if query == LETTERS else "rows"
    for first in range(oldest, newest + 1, AT_ONCE):
        last = min(newest, first + AT_ONCE - 1)
        write.executemany(insert(table), _rows(read, query, first, last))


def _rows(read: Connection, query: int, first: int, last: int) -> Iterator[tuple[Any, ...]]:
    table, keys = ("letters", ()) if query == LETTERS else ("rows", (query,))
    sound = {entry[-6]: entry for entry in sound_entries(read, query, first, last)}
    for n in range(first, last + 1):
        text = in_its_place(n, "dead letter" if query == LETTERS else "row")
        yield sound.get(n) or checked(table, *keys, n, 0, 0, UNLINKED, text)


def _remove(path: Path) -> None:
    for end in _FILES:
        path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
