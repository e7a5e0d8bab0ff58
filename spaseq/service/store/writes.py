"""Writes into the database, for one transaction each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from spaseq.service.store.tables import Connection, Value, checked, insert, put

SNAPSHOT_PART_BYTES = 64 << 20
"""A part of a snapshot is stored in pieces of this size: SQLite bounds a value at 10^9 bytes."""
LETTERS = 0
"""Stands for the dead letters where queries have their number."""
Row = tuple[int, int, int, int, int, str]
"""The number of the query, that of the row, the time of the wall clock, the place in the log, the text."""
Letter = tuple[int, int, int, int, str]
"""The number, the time of the wall clock, the place in the log, the text."""
_KEPT = "select oldest, newest from kept where query = ?"


def store(write: Connection, table: str, *values: Value) -> None:
    """Write one entry of a table, in place of one with its key."""
    write.execute(put(table), checked(table, *values))


def store_rows(write: Connection, rows: Iterable[Row], newest: Mapping[int, int]) -> None:
    """Insert rows; `newest` has the last number of each query."""
    write.executemany(insert("rows"), (checked("rows", *row) for row in rows))
    for query, n in newest.items():
        _store_newest(write, query, n)


def store_letters(write: Connection, letters: Sequence[Letter], read: int) -> None:
    """Insert the dead letters of all records up to `read`."""
    write.executemany(insert("letters"), (checked("letters", *letter) for letter in letters))
    if letters:
        _store_newest(write, LETTERS, letters[-1][0])
    store(write, "meta", "read", read)


def store_snapshot(write: Connection, number: int, link: int, parts: Mapping[str, bytes]) -> None:
    """Replace the snapshot by another one, up to a place in the log, its parts by name."""
    write.execute("delete from snapshot")
    for name, body in parts.items():
        for piece, at in enumerate(range(0, max(1, len(body)), SNAPSHOT_PART_BYTES)):
            store(write, "snapshot", f"{name} {piece}", number, link, body[at : at + SNAPSHOT_PART_BYTES])


def forget_rows(write: Connection, query: int, rows: int | None, before: int | None) -> None:
    """Delete all but so many rows of a query, and those up to the first that is not from before a time.

    The time is that of the wall clock, which may have been set back: what is kept has no gap.
    """
    oldest, newest = write.execute(_KEPT, (query,)).fetchone() or (1, 0)
    kept = oldest if rows is None else max(oldest, newest - rows + 1)
    if before is not None:
        aged = "select n from rows where query = ? and n >= ? and at >= ? order by n limit 1"
        (kept,) = write.execute(aged, (query, kept, before)).fetchone() or (newest + 1,)
    if kept > oldest:
        write.execute("delete from rows where query = ? and n < ?", (query, kept))
        store(write, "kept", query, kept, newest)


def forget_letters(write: Connection, most: int) -> None:
    """Delete all but so many dead letters."""
    oldest, newest = write.execute(_KEPT, (LETTERS,)).fetchone() or (1, 0)
    if newest - most + 1 > oldest:
        write.execute("delete from letters where n <= ?", (newest - most,))
        store(write, "kept", LETTERS, newest - most + 1, newest)


def forget_query(write: Connection, query: int) -> None:
    """Delete what is stored of a query that is gone; how many rows it had is known until the next snapshot."""
    _, newest = write.execute(_KEPT, (query,)).fetchone() or (1, 0)
    for table in ("rows", "failed"):
        write.execute(f"delete from {table} where query = ?", (query,))
    if newest:
        store(write, "kept", query, newest + 1, newest)


def forget_others(write: Connection, queries: Set[int]) -> None:
    """Delete what is known of queries that no snapshot has any more."""
    known = {query for (query,) in write.execute("select query from kept").fetchall()}
    write.executemany("delete from kept where query = ?", ((query,) for query in known - queries - {LETTERS}))


def forget_sinks(write: Connection, sinks: Iterable[str]) -> None:
    """Delete the positions of sinks, by their names there."""
    write.executemany("delete from delivered where sink = ?", ((sink,) for sink in sinks))


def _store_newest(write: Connection, query: int, n: int) -> None:
    oldest, newest = write.execute(_KEPT, (query,)).fetchone() or (1, 0)
    store(write, "kept", query, oldest, max(n, newest))
