"""Entries of the tables, compared with their checksums."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from spaseq.service.store.damage import damaged, is_damage
from spaseq.service.store.tables import Connection, Value, is_sound
from spaseq.service.store.writes import LETTERS

Entry = tuple[Any, ...]


def as_written(table: str, entry: Entry) -> Entry:
    """An entry that is as it was written; else RunError."""
    if not is_sound(table, entry):
        raise damaged(f"the checksum of an entry of the table {table} is wrong")
    return entry


def sound_entries(read: Connection, query: int, first: int, last: int) -> Iterator[Entry]:
    """The rows of a query, or the dead letters, between two numbers that are as they were written; sqlite3.Error.

    Whatever befell pages between them: then halves are read, down to single entries.
    """
    table, where, keys = _named(query)
    wanted = f"select * from {table} where {where}n between ? and ? order by n"
    try:
        entries = read.execute(wanted, (*keys, first, last)).fetchall()
    except (sqlite3.Error, UnicodeError) as error:
        if isinstance(error, sqlite3.Error) and not is_damage(error):
            raise
        if first < last:
            half = (first + last) // 2
            yield from sound_entries(read, query, first, half)
            yield from sound_entries(read, query, half + 1, last)
        return
    for entry in entries:  # where pages stand in other places, SQLite gives other entries than it was asked for
        if is_sound(table, entry) and entry[: len(keys)] == keys and first <= entry[-6] <= last:
            yield entry


def newest_entry(read: Connection, query: int) -> Entry | None:
    """The last row of a query, or the last dead letter; None without one, or if it is damaged. sqlite3.Error."""
    table, where, keys = _named(query)
    entry: Entry | None = read.execute(
        f"select * from {table} where {where}n > 0 order by n desc limit 1", keys
    ).fetchone()
    return entry if entry is not None and is_sound(table, entry) else None


def are_all_there(read: Connection, query: int, first: int, last: int) -> bool:
    """True if a query, or the dead letters, has an entry for each number between its least and its greatest one.

    Where it has not, one of those numbers may be anything. Raises sqlite3.Error.
    """
    table, where, keys = _named(query)
    (count,) = read.execute(
        f"select count(*) from {table} where {where}n between ? and ?", (*keys, first, last)
    ).fetchone()
    return bool(count == last - first + 1)


def _named(query: int) -> tuple[str, str, tuple[int, ...]]:
    """The table of the rows of a query, or of the dead letters, a condition for them, and its values."""
    return ("letters", "", ()) if query == LETTERS else ("rows", "query = ? and ", (query,))


def numbers_there(read: Connection) -> Iterator[tuple[int, int, int]]:
    """Of the dead letters and of each query that has rows: LETTERS or its number, the least and the greatest number.

    RunError if the order of pages is damaged; raises sqlite3.Error.
    """
    first, last = read.execute("select min(n), max(n) from letters").fetchone()
    if first is not None:
        yield LETTERS, _whole(first), _whole(last)
    (query,) = read.execute("select min(query) from rows").fetchone()
    while query is not None:
        first, last = read.execute("select min(n), max(n) from rows where query = ?", (query,)).fetchone()
        if first is None:
            raise damaged("rows stand in other places than they were written")
        yield _whole(query), _whole(first), _whole(last)
        (query,) = read.execute("select min(query) from rows where query > ?", (query,)).fetchone()


def _whole(number: Value) -> int:
    """The number of a row or of a query; RunError where damage has made something else of it."""
    if isinstance(number, int):
        return number
    raise damaged(f"the number of a row, or of its query, is {number!r}")


def snapshot_parts(entries: Iterable[Entry]) -> tuple[int, int, dict[str, bytes]] | None:
    """The place of a snapshot, number and hash, and its parts by name, each empty if it is damaged; None of nothing.

    RunError if all are damaged.
    """
    pieces: dict[str, list[tuple[int, bytes]]] = {}
    place = None
    for entry in entries:
        name, _, piece = str(entry[0]).rpartition(" ")
        whole = is_sound("snapshot", entry)
        pieces.setdefault(name, []).append((int(piece) if whole else -1, entry[3] if whole else b""))
        place = entry[1:3] if whole else place
    if not pieces:
        return None
    if place is None:
        raise damaged("no part of its snapshot is as it was written")
    sorted_pieces = {name: sorted(those) for name, those in pieces.items()}
    parts = {
        name: b"".join(body for _, body in those) if [number for number, _ in those] == [*range(len(those))] else b""
        for name, those in sorted_pieces.items()
    }
    return *place, parts


@contextmanager
def damage_named() -> Iterator[None]:
    """Let errors of SQLite that no other try mends be those of a damaged database."""
    try:
        yield
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        raise damaged(str(error)) from error
