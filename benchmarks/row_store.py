"""What storing rows costs in SQLite, with and without checksums, and in a segment file of the log's format.

python benchmarks/row_store.py [--rows 100000] [--runs 5]

Each store takes the same rows, some at a time, on disk when it returns; the time of the processor is compared, as the
disk takes as long in each.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from spaseq.service.log.files import DiskFolder
from spaseq.service.log.segmented import SegmentedLog
from spaseq.service.store.database import Database, connected
from spaseq.service.store.writes import Row, store_rows

AT_ONCE = (1, 10, 100, 1_000)
SMALL = 20
"""By how much fewer rows are stored where they come one by one."""
QUERY = 7
TEXT = (
    '{"n": %d, "query": "pairs", "time": "2026-01-26T15:57:02Z", "start": "2026-01-26T15:55:12Z", "bindings": '
    '{"k": {"type": "uri", "value": "http://example.org/k%d"}}, "events": {"A": ["urn:a%d"], "B": ["urn:b%d"]}}'
)
Store = Callable[[Path, list[list[Row]]], float]


def pieces(rows: int, at_once: int) -> list[list[Row]]:
    """Rows in pieces of `at_once`."""
    found: list[Row] = [(QUERY, n, 1, n, n, TEXT % (n, n % 100, n, n)) for n in range(1, rows + 1)]
    return [found[begin : begin + at_once] for begin in range(0, rows, at_once)]


def with_checksums(folder: Path, some: list[list[Row]]) -> float:
    """The database as the service has it."""
    database = Database(folder / "rows.sqlite", is_new=True)
    begin = time.process_time()
    for piece in some:
        with database.transaction() as write:
            store_rows(write, piece, {QUERY: piece[-1][1]})
    spent = time.process_time() - begin
    database.close()
    return spent


def plain(folder: Path, some: list[list[Row]]) -> float:
    """The tables of release 0.1.0."""
    connection = connected(folder / "rows.sqlite")
    connection.execute(
        "create table rows (query integer, n integer, at integer, text text, primary key (query, n)) without rowid"
    )
    connection.execute("create table newest (query integer primary key, n integer)")
    begin = time.process_time()
    for piece in some:
        connection.execute("begin immediate")
        connection.executemany("insert into rows values (?, ?, ?, ?)", [(*row[:3], row[5]) for row in piece])
        connection.execute(
            "insert into newest values (?, ?) on conflict do update set n = max(n, excluded.n)", (QUERY, piece[-1][1])
        )
        connection.execute("commit")
    spent = time.process_time() - begin
    connection.close()
    return spent


def segments(folder: Path, some: list[list[Row]]) -> float:
    """Groups of the log's format, without an index by which rows are found again."""
    log = SegmentedLog(DiskFolder(folder), 1)
    begin = time.process_time()
    for piece in some:
        log.append([row[5].encode() for row in piece])
    spent = time.process_time() - begin
    log.close()
    return spent


STORES: dict[str, Store] = {"SQLite with checksums": with_checksums, "SQLite": plain, "segments": segments}


def measured(rows: int, runs: int) -> Iterator[tuple[str, list[float]]]:
    """For each store, the median of the microseconds of the processor a row, by how many come at once."""
    for name, store in STORES.items():
        found = []
        for at_once in AT_ONCE:
            number = rows // SMALL if at_once == 1 else rows
            some, spent = pieces(number, at_once), []
            for _ in range(runs):
                with tempfile.TemporaryDirectory(dir=".") as folder:
                    spent.append(store(Path(folder), some) / number * 1e6)
            found.append(median(spent))
        yield name, found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    table = Table(
        "processor, µs a row", *(f"{each:,} at once" for each in AT_ONCE), title=f"SQLite {sqlite3.sqlite_version}"
    )
    for name, found in measured(given.rows, given.runs):
        table.add_row(name, *(f"{each:.2f}" for each in found))
    Console().print(table)


if __name__ == "__main__":
    main()
