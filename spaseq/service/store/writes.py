"""Writes into the database, for one transaction each."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from spaseq.service.store.database import LETTERS

SNAPSHOT_PART_BYTES = 64 << 20
"""A snapshot is stored in parts of this size: SQLite bounds a value at 10^9 bytes."""
Row = tuple[int, int, int, str]
"""The number of the query, that of the row, the time of the wall clock, the text."""
Letter = tuple[int, int, str]
"""The number, the time of the wall clock, the text."""
_NEWEST = "insert into newest values (?, ?) on conflict do update set n = max(n, excluded.n)"


def store_rows(write: sqlite3.Connection, rows: Iterable[Row], newest: Mapping[int, int]) -> None:
    """Insert rows; `newest` has the last number of each query."""
    write.executemany("insert into rows values (?, ?, ?, ?)", rows)
    write.executemany(_NEWEST, newest.items())


def store_letters(write: sqlite3.Connection, letters: Sequence[Letter], read: int) -> None:
    """Insert the dead letters of all records up to `read`."""
    write.executemany("insert into letters values (?, ?, ?)", letters)
    if letters:
        write.execute(_NEWEST, (LETTERS, letters[-1][0]))
    write.execute("insert or replace into meta values ('read', ?)", (read,))


def store_failure(write: sqlite3.Connection, query: int, number: int, newest: int, error: str) -> None:
    """Remember that a query has failed."""
    write.execute("insert or replace into failed values (?, ?, ?, ?)", (query, number, newest, error))


def store_delivered(write: sqlite3.Connection, sink: str, n: int, note: bytes) -> None:
    """Remember the last row that a sink has taken, and its note for itself."""
    write.execute("insert or replace into delivered values (?, ?, ?)", (sink, n, note))


def store_snapshot(write: sqlite3.Connection, number: int, body: bytes) -> None:
    """Replace the snapshot."""
    write.execute("delete from snapshot")
    parts = range(0, max(1, len(body)), SNAPSHOT_PART_BYTES)
    write.executemany(
        "insert into snapshot values (?, ?, ?)",
        ((part, number, body[at : at + SNAPSHOT_PART_BYTES]) for part, at in enumerate(parts)),
    )


def forget_rows(write: sqlite3.Connection, query: int, rows: int | None, before: int | None) -> None:
    """Delete all but so many rows of a query, and those from before a time of the wall clock."""
    if rows is not None:
        newest = "(select n from newest where query = ?)"
        write.execute(f"delete from rows where query = ? and n <= {newest} - ?", (query, query, rows))
    if before is not None:
        write.execute("delete from rows where query = ? and at < ?", (query, before))


def forget_letters(write: sqlite3.Connection, most: int) -> None:
    """Delete all but so many dead letters."""
    write.execute("delete from letters where n <= (select max(n) from letters) - ?", (most,))


def forget_query(write: sqlite3.Connection, query: int) -> None:
    """Delete what is stored of a query that is gone."""
    for table in ("rows", "newest", "failed"):
        write.execute(f"delete from {table} where query = ?", (query,))
