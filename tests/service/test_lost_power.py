"""The database on a disk that loses its power: what was committed before is there, in order, and no part of more."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaseq.errors import RunError
from spaseq.service.store.database import Connect, Database, connected
from spaseq.service.store.tables import Connection, checked, insert
from spaseq.service.store.writes import store_letters, store_rows, store_snapshot
from tests.service.lost_power import Disk, PowerLost
from tests.service.unsynced import SECTOR_BYTES, after_power_loss

QUERY = 7
LIVES = 4


@dataclass(slots=True)
class Life:
    """What a database is to have: transactions that were begun, and those of them that were committed for certain."""

    begun: int = 0
    committed: int = 0


def lived(database: Database, life: Life, dice: Random) -> None:
    """Commit some transactions, of some rows, a dead letter and sometimes a snapshot each."""
    for _ in range(dice.randint(0, 12)):
        number = life.begun + 1
        with database.transaction() as write:
            life.begun = number
            rows = [(QUERY, 3 * number - each, 0, number, 0, text(number, dice)) for each in (2, 1, 0)]
            store_rows(write, rows, {QUERY: 3 * number})
            store_letters(write, [(number, 0, number, 0, text(number, dice))], number)
            if dice.randrange(4) == 0:
                store_snapshot(write, number, 0, {"declared": dice.randbytes(dice.randrange(20_000))})
        life.committed = number
        if dice.randrange(5) == 0:
            database._write.execute("pragma wal_checkpoint(truncate)")


def text(number: int, dice: Random) -> str:
    return f"{number} " + "x" * dice.choice([1, 100, 3000])


def check(database: Database, life: Life) -> int:
    """All that was committed is there, and of what was begun all or nothing; the last transaction."""
    rows, letters = database.rows(QUERY, 0, 10**6), database.letters(0, 10**6)
    last = len(letters)
    assert life.committed <= last <= life.begun
    assert [(n, found.split()[0]) for n, found in letters] == [(n, f"{n}") for n in range(1, last + 1)]
    assert [(n, found.split()[0]) for n, found in rows] == [(n, f"{(n + 2) // 3}") for n in range(1, 3 * last + 1)]
    assert database.meta("read", 0) == last
    assert (snapshot := database.snapshot()) is None or snapshot[0] <= last
    assert [row[0] for row in database._write.execute("pragma integrity_check").fetchall()] == ["ok"]
    return last


def survive(seed: int, disk: Disk) -> None:
    """Some lives of a database, each of which ends as power is lost, at any operation of its disk."""
    dice, life = Random(seed), Life()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(LIVES):
            disk.fail = dying(dice.randint(0, 150))
            database = None
            with suppress(PowerLost):
                database = Database(Path(folder) / "service.sqlite", life.committed == 0, disk.connect)
                life.begun = life.committed = check(database, life)
                lived(database, life, dice)
            disk.lose_power(dice)
            if database is not None:
                database.close()
            disk.power_on()
            disk.fail = lambda operation: 0
        database = Database(Path(folder) / "service.sqlite", life.committed == 0, disk.connect)
        check(database, life)
        database.close()
    disk.close()


def dying(at: int) -> Callable[[str], int]:
    """Let power be lost at an operation of a disk."""
    left = at

    def fail(operation: str) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise PowerLost
        return 0

    return fail


@given(st.integers(0, 2**32))
def test_what_was_committed_survives_the_loss_of_power_at_any_operation(seed: int) -> None:
    survive(seed, Disk())


def test_a_disk_whose_syncs_have_no_effect_loses_what_was_committed() -> None:
    lost = 0
    for seed in range(10):
        try:
            survive(seed, Disk(syncs=False))
        except (AssertionError, RunError):
            lost += 1
    assert lost > 5


def test_an_operation_that_fails_is_an_error_of_sqlite3_and_the_transaction_is_not_there(tmp_path: Path) -> None:
    disk = Disk()
    database = Database(tmp_path / "service.sqlite", True, disk.connect)
    for code in (apsw.SQLITE_FULL, apsw.SQLITE_IOERR_WRITE):
        disk.fail = lambda operation, code=code: code if operation == "write" else 0
        with pytest.raises(sqlite3.Error) as caught, database.transaction() as write:
            store_letters(write, [(1, 0, 1, 0, "x")], 1)
        disk.fail = lambda operation: 0
        assert isinstance(caught.value, sqlite3.OperationalError) and caught.value.sqlite_errorcode == code
        assert database.letters(0, 10) == []
    database.close()
    disk.close()


@pytest.mark.parametrize("forgets", [False, True])
def test_connections_of_both_kinds_give_the_same(forgets: bool, tmp_path: Path) -> None:
    disk = Disk()
    connect: Connect = disk.connect if forgets else connected
    connection: Connection = connect(tmp_path / "service.sqlite")
    assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
    assert connection.execute("pragma synchronous").fetchone() == (2,)
    connection.execute("create table letters (n, at, number, link, text text, checksum)")
    connection.execute("begin")
    assert connection.in_transaction
    connection.executemany(insert("letters"), [checked("letters", n, 0, 0, -1, "é") for n in (1, 2)])
    connection.execute("insert into letters values (3, 1.5, null, x'00ff', cast(x'41ff42' as text), -5)")
    connection.execute("commit")
    assert not connection.in_transaction
    found = connection.execute("select * from letters where n > ? order by n", (1,))
    assert list(found) == [(2, *checked("letters", 2, 0, 0, -1, "é")[1:]), (3, 1.5, None, b"\0\xff", "A\udcffB", -5)]
    assert found.fetchone() is None
    connection.close()
    disk.close()


def test_a_file_that_lost_its_power_has_what_was_synced_and_any_sectors_of_what_came_behind() -> None:
    changes = [(100, b"a" * SECTOR_BYTES), (50, None), (1000, b"b" * 100)]
    seen = {after_power_loss(b"s" * 80, changes, Random(seed)) for seed in range(300)}
    assert b"s" * 80 in seen
    assert b"s" * 50 + bytes(950) + b"b" * 100 in seen
    assert b"s" * 80 + bytes(20) + b"a" * (SECTOR_BYTES - 100) in seen
    assert b"s" * 80 + bytes(SECTOR_BYTES - 80) + b"a" * 100 in seen
    assert all(each.startswith(b"s" * 50) for each in seen)
