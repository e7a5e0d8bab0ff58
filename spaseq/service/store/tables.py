"""The tables of the database: every entry has a checksum, and a table whose entries nothing else names has a total.

So a value that has changed is noticed when it is read, and an entry that is not there when the database is opened; of
rows the numbers say which are not there.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Protocol, TypeAlias

import msgspec

VERSION = 2
"""Of the tables; one more when an older service could not read them. Release 0.1.0 wrote version 1."""
_COLUMNS = {
    "meta": ("key text primary key", "value integer"),
    "rows": ("query integer", "n integer", "at integer", "number integer", "link integer", "text text"),
    "kept": ("query integer primary key", "oldest integer", "newest integer"),
    "failed": ("query integer primary key", "number integer", "n integer", "error text"),
    "delivered": ("sink text primary key", "n integer", "note blob"),
    "letters": ("n integer primary key", "at integer", "number integer", "link integer", "text text"),
    "snapshot": ("name text primary key", "number integer", "link integer", "body blob"),
}
"""Of each table, all columns but the last one, the checksum."""
SMALL = ("meta", "kept", "failed", "delivered", "snapshot")
"""Tables whose entries are found by their first column."""
TOTALLED = ("failed", "delivered", "snapshot")
"""Tables that have a total: how many entries there are, and the sum of their checksums."""
KEYS = ("version", "folder", "read")
"""Of the table meta, all of them."""
Value: TypeAlias = int | str | bytes | None


class Cursor(Protocol):
    """The rows of a statement: sqlite3's, or those of tests."""

    def __iter__(self) -> Iterator[Any]:
        """The rows, one after the other."""

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """All that are left."""


class Connection(Protocol):
    """A connection: sqlite3's, or the one with which tests lose what was not synced. Raises sqlite3.Error."""

    @property
    def in_transaction(self) -> bool:
        """True between `begin` and `commit`."""

    def execute(self, sql: str, values: Sequence[Value] = (), /) -> Cursor:
        """Carry out a statement."""

    def executemany(self, sql: str, values: Iterable[Sequence[Value]], /) -> Cursor:
        """Carry out a statement with each of these."""

    def close(self) -> None:
        """End."""


def checked(table: str, *values: Value) -> tuple[Value, ...]:
    """An entry of a table, with its checksum."""
    return *values, zlib.crc32(msgspec.msgpack.encode((table, values)))


def is_sound(table: str, entry: Sequence[Value]) -> bool:
    """True if an entry is as it was written, for all that can be known."""
    try:
        return checked(table, *entry[:-1])[-1] == entry[-1]
    except (UnicodeError, msgspec.MsgspecError, TypeError, OverflowError):
        return False


def statements() -> Iterator[str]:
    """The statements that make the tables, in order."""
    yield "CREATE TABLE totals (name text primary key, entries integer, checksums integer) without rowid"
    for table, columns in _COLUMNS.items():
        keys = ", primary key (query, n)" if table == "rows" else ""
        yield f"CREATE TABLE {table} ({', '.join(columns)}, checksum integer{keys}) without rowid"
    for table in TOTALLED:
        yield f"insert into totals values ('{table}', 0, 0)"
        for event, entries, sums in (
            ("insert", "+ 1", "+ new.checksum"),
            ("delete", "- 1", "- old.checksum"),
            ("update", "", "- old.checksum + new.checksum"),
        ):
            yield (
                f"CREATE TRIGGER {table}_{event} after {event} on {table} begin update totals "
                f"set entries = entries {entries}, checksums = checksums {sums} where name = '{table}'; end"
            )


@cache
def insert(table: str) -> str:
    """The statement that writes an entry of a table."""
    return f"insert into {table} values ({', '.join('?' * (len(_COLUMNS[table]) + 1))})"


def key_of(table: str) -> str:
    """The column by which the entries of a small table are found."""
    return _COLUMNS[table][0].split()[0]


@cache
def put(table: str) -> str:
    """The statement that writes an entry of a table, in place of one with its key, which is the first column."""
    key, others = key_of(table), [column.split()[0] for column in _COLUMNS[table][1:]]
    changes = ", ".join(f"{name} = excluded.{name}" for name in [*others, "checksum"])
    return f"{insert(table)} on conflict ({key}) do update set {changes}"
