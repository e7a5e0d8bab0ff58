"""The database read once, with what is wrong in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from spaseq.errors import RunError
from spaseq.service.core.snapshots import Saved, load
from spaseq.service.log.groups import UNLINKED
from spaseq.service.log.segmented import Place
from spaseq.service.maintenance.findings import Findings, numbers
from spaseq.service.store.damage import DATABASE
from spaseq.service.store.database import connected
from spaseq.service.store.faults import is_passing
from spaseq.service.store.migration import RELEASED_PART
from spaseq.service.store.reading import are_all_there, numbers_there, snapshot_parts, sound_entries
from spaseq.service.store.tables import KEYS, SMALL, TOTALLED, VERSION, Connection, is_sound, key_of, statements
from spaseq.service.store.writes import LETTERS

AT_ONCE = 10_000
"""Rows that are read at a time."""
RELEASED_NOTE = (
    "release 0.1.0 wrote it: its rows have no checksums and its log is no chain yet, so it is checked as far as it can "
    "be; it gets both at its first start"
)


@dataclass(slots=True)
class CheckedDatabase:
    """The outcome of the check of a database.

    folder      the number of the data folder; 0: not known, or release 0.1.0 wrote it
    entries     sound ones of the small tables, by table
    kept        of queries by number, those of the oldest and newest row, as far as anything says so
    damaged     of queries by number, those of rows that are damaged
    saved       the snapshot; None: there is none, or it is damaged
    places      from which rows, dead letters and the snapshot come, by number
    """

    folder: int = 0
    entries: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    kept: dict[int, tuple[int, int]] = field(default_factory=dict)
    damaged: dict[int, list[int]] = field(default_factory=dict)
    saved: Saved | None = None
    places: list[Place] = field(default_factory=list)

    @property
    def lost_rows(self) -> int:
        """So many rows and dead letters are damaged."""
        return sum(map(len, self.damaged.values()))


def check_database(path: Path, findings: Findings) -> CheckedDatabase:
    """Read a database in a file. Raises OSError and sqlite3.Error where the disk fails."""
    found = CheckedDatabase()
    if not path.exists():
        findings.add(DATABASE, "it is missing", "all rows, and the snapshot")
        return found
    try:
        with closing(connected(path)) as connection:
            _Check(connection, findings, found).run()
    except sqlite3.DatabaseError as error:
        if is_passing(error):
            raise
        findings.add(DATABASE, str(error), "all rows, and the snapshot")
    return found


@dataclass(slots=True)
class _Check:
    """The check of an open database."""

    connection: Connection
    findings: Findings
    found: CheckedDatabase

    def run(self) -> None:
        """Read all."""
        for (what,) in self.connection.execute("pragma quick_check(20)").fetchall():
            if what != "ok":
                self.findings.add(DATABASE, what)
        tables = {name for (name,) in self.connection.execute("select name from sqlite_master").fetchall()}
        if "totals" not in tables and "newest" in tables:
            self._released()
            return
        schema = {sql for (sql,) in self.connection.execute("select sql from sqlite_master").fetchall()}
        if any(each not in schema for each in statements() if each.startswith("CREATE")):
            self.findings.add(DATABASE, "it lacks tables", "what was in them")
            return
        for table in SMALL:
            self._small(table)
        meta = {key: value for key, value, _ in self.found.entries["meta"]}
        self.found.folder = meta.get("folder", 0)
        if meta.keys() != set(KEYS) or meta["version"] != VERSION:
            self.findings.add(DATABASE, f"the table meta lacks {', '.join({*KEYS} - meta.keys()) or 'its version'}")
        places = dict[int, int]()
        self._snapshot(places)
        self._rows(places)
        self.found.places = sorted({Place(meta.get("read", 0), UNLINKED), *(Place(*each) for each in places.items())})

    def _released(self) -> None:
        """Read a database of release 0.1.0."""
        self.findings.notes.append(f"{DATABASE}: {RELEASED_NOTE}")
        parts = self.connection.execute("select number, body from snapshot order by part").fetchall()
        if parts:
            self._load({RELEASED_PART: b"".join(body for _, body in parts)})
            self.found.places = [Place(parts[0][0], UNLINKED)]
        kept = "select query, min(n), max(n), count(*) from rows group by query"
        for query, oldest, newest, count in self.connection.execute(kept).fetchall():
            if newest - oldest + 1 != count:
                self.findings.add(DATABASE, f"{newest - oldest + 1 - count} rows of query {query} are missing")

    def _small(self, table: str) -> None:
        """Read a small table from both ends, as far as its pages can be read, and compare it with its totals."""
        key = key_of(table)
        entries = {entry[0]: entry for order in ("", " desc") for entry in self._until_damage(table, key + order)}
        self.found.entries[table] = [entry for entry in entries.values() if is_sound(table, entry)]
        sound = len(self.found.entries[table]), sum(entry[-1] for entry in self.found.entries[table])
        if table in TOTALLED:
            totals = "select entries, checksums from totals where name = ?"
            noted = self.connection.execute(totals, (table,)).fetchone()
        else:
            noted = len(entries), sound[1]
        if noted != sound:
            of = noted[0] if noted else "an unknown number of"
            what = f"{sound[0]} of {of} entries of the table {table} are as they were written"
            self.findings.add(
                DATABASE, what, f"entries of the table {table}" if not noted or noted[0] != sound[0] else ""
            )

    def _until_damage(self, table: str, order: str) -> Iterator[tuple[Any, ...]]:
        with _damage_passed_over():
            yield from self.connection.execute(f"select * from {table} order by {order}")

    def _snapshot(self, places: dict[int, int]) -> None:
        try:
            found = snapshot_parts(self.found.entries["snapshot"])
        except RunError as error:
            self.findings.add(DATABASE, error.message, "the snapshot")
            return
        if found is not None:
            number, link, parts = found
            places[number] = link
            self._load(parts)

    def _load(self, parts: dict[str, bytes]) -> None:
        try:
            self.found.saved = load(parts)
        except RunError as error:
            self.findings.add(DATABASE, error.message, "what was declared, up to the snapshot")

    def _rows(self, places: dict[int, int]) -> None:
        """Read rows and dead letters, and what says how many there are."""
        self.found.kept = {query: (oldest, newest) for query, oldest, newest, _ in self.found.entries["kept"]}
        for query, first, last in self._numbers_there():
            oldest, newest = self.found.kept.get(query, (first, 0))
            if not oldest <= first <= last <= newest:
                self.findings.add(DATABASE, f"rows {first} to {last} of query {query} are not those that are kept")
                if self._are_all_there(query, first, last):
                    self.found.kept[query] = min(oldest, first), max(newest, last)
        names = {LETTERS: "dead letter"}
        if self.found.saved is not None:
            for each in (query for group in self.found.saved.groups for query in group.queries if not query.shadow):
                oldest, newest = self.found.kept.get(each.number, (1, 0))
                self.found.kept[each.number] = oldest, max(newest, each.rows)
                names[each.number] = f"row of query '{each.name}'"
        total, done = sum(newest - oldest + 1 for oldest, newest in self.found.kept.values()), 0
        for query, (oldest, newest) in sorted(self.found.kept.items()):
            for first in range(oldest, newest + 1, AT_ONCE):
                self.findings.on_progress("rows", done, total)
                last = min(newest, first + AT_ONCE - 1)
                done += last - first + 1
                self._page(query, first, last, names.get(query, f"row of query {query}"), places)

    def _numbers_there(self) -> Iterator[tuple[int, int, int]]:
        try:
            with _damage_passed_over():
                yield from numbers_there(self.connection)
        except RunError as error:
            self.findings.add(DATABASE, error.message)

    def _are_all_there(self, query: int, first: int, last: int) -> bool:
        with _damage_passed_over():
            return are_all_there(self.connection, query, first, last)
        return False

    def _page(self, query: int, first: int, last: int, kind: str, places: dict[int, int]) -> None:
        missing = set(range(first, last + 1))
        for entry in sound_entries(self.connection, query, first, last):
            missing.discard(entry[-6])
            if entry[-3] != UNLINKED and places.setdefault(entry[-4], entry[-3]) != entry[-3]:
                self.findings.add(DATABASE, f"{kind} {entry[-6]} is of another log")
        if missing:
            self.found.damaged.setdefault(query, []).extend(sorted(missing))
        for _, those in groupby(enumerate(sorted(missing)), key=lambda each: each[1] - each[0]):
            run = [n for _, n in those]
            which = numbers(run[0], run[-1], kind)
            self.findings.add(DATABASE, f"{which}: damaged, or missing", which)


@contextmanager
def _damage_passed_over() -> Iterator[None]:
    """Read as far as SQLite can; raises sqlite3.DatabaseError where only the disk fails just now."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if is_passing(error):
            raise
