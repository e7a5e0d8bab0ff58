"""Kinds of damage to one file of a data folder."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from random import Random

from spaseq.service.store.damage import DATABASE

_VALUES = (None, "", "x", "7", 1.5, b"", b"\x93", -1, 0, 1, 3, 2**31, 2**62, -(2**63))
"""What may stand in the place of a value of the database."""


def flip(data: bytearray, dice: Random) -> None:
    """Change one bit."""
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def cut(data: bytearray, dice: Random) -> None:
    """Lose the end."""
    del data[dice.randrange(len(data)) :]


def zero(data: bytearray, dice: Random) -> None:
    """Zeros in place of a region."""
    begin, size = _region(data, dice)
    data[begin : begin + size] = bytes(size)


def swap(data: bytearray, dice: Random) -> None:
    """Two regions in each other's place."""
    begin, size = _region(data, dice)
    other = dice.randrange(len(data) - size + 1)
    data[begin : begin + size], data[other : other + size] = data[other : other + size], data[begin : begin + size]


def duplicate(data: bytearray, dice: Random) -> None:
    """A region twice."""
    begin, size = _region(data, dice)
    data[begin:begin] = data[begin : begin + size]


def _region(data: bytearray, dice: Random) -> tuple[int, int]:
    size = min(len(data), dice.choice([16, 100, 512, 4096]))
    return dice.randrange(len(data) - size + 1), size


INSIDE: dict[str, Callable[[bytearray, Random], None]] = {
    each.__name__: each for each in (flip, cut, zero, swap, duplicate)
}
OTHERS = ("older", "foreign")
"""The same file of another folder."""
KINDS = (*INSIDE, "missing", "value", *OTHERS)


def damage(folder: Path, others: Mapping[str, Path], kind: str, dice: Random) -> str:
    """Damage one file of a folder, in one place; says which. "" if that changes nothing. `others` by their kind."""
    files = sorted(
        each for each in folder.rglob("*") if each.is_file() and each.name not in ("lock", "service.sqlite-shm")
    )
    path = folder / DATABASE if kind == "value" else dice.choice(files)
    name, before = str(path.relative_to(folder)), path.read_bytes()
    if kind == "missing":
        path.unlink()
        return f"{kind} {name}"
    if kind == "value":
        what = _change_value(path, dice)
        return what and f"{kind} {name}: {what}"
    if kind in INSIDE:
        data = bytearray(before)
        if data:
            INSIDE[kind](data, dice)
        path.write_bytes(data)
    else:
        other = others[kind] / name
        if not other.exists():
            return ""
        shutil.copyfile(other, path)
    return "" if path.read_bytes() == before else f"{kind} {name}"


def _change_value(path: Path, dice: Random) -> str:
    """Put another value, of any type, into an entry of a table: bits that are changed seldom make one."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        tables = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        table = dice.choice(sorted(tables))
        columns = [(name, bool(key)) for _, name, _, _, _, key in database.execute(f"pragma table_info({table})")]
        entries = database.execute(f"select {', '.join(name for name, is_key in columns if is_key)} from {table}")
        if not (found := entries.fetchall()):
            return ""
        keys = dict(zip((name for name, is_key in columns if is_key), dice.choice(found), strict=True))
        column, other = dice.choice(columns)[0], dice.choice(_VALUES)
        where = " and ".join(f"{name} = ?" for name in keys)
        changed = f"update or ignore {table} set {column} = ? where {where} and {column} is not ?"
        count = database.execute(changed, (other, *keys.values(), other)).rowcount
    return f"{table} {keys}: {column} is {other!r}" if count else ""
