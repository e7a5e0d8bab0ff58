"""Damage in words: errors, and lines in the place of rows that are not as they were written."""

from __future__ import annotations

import json
import re
import sqlite3

from spaseq.errors import RunError
from spaseq.service.log.segments import WAYS

DATABASE = "service.sqlite"
"""The name of the database in the data folder."""
_IN_A_PLACE = re.compile(r'\{"n": \d+, "problem": ')
_DAMAGED = re.compile("malformed|integer overflow")
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def damaged(what: str) -> RunError:
    """The error of a damaged database."""
    return RunError(f"{DATABASE} is damaged: {what}", hint=WAYS)


def is_damage(error: sqlite3.Error) -> bool:
    """True of an error that no other try mends."""
    code = getattr(error, "sqlite_errorcode", None)
    return _DAMAGED.search(str(error)) is not None or (code is not None and code & 0xFF in _DAMAGE)


def in_its_place(n: int, what: str) -> str:
    """The line in the place of a row, or of a dead letter, that is damaged; `what` it is."""
    problem = {"type": "about:blank", "title": "Damaged", "status": 500, "detail": f"{what} {n} is damaged on disk"}
    return f'{{"n": {n}, "problem": {json.dumps(problem)}}}'


def is_in_a_place(text: str) -> bool:
    """True of the text that stands in the place of a damaged row."""
    return _IN_A_PLACE.match(text) is not None
