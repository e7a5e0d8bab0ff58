"""Faults of the disk: those that pass, which are tried again, and what is said of them and of damage."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from spaseq.errors import RunError
from spaseq.service.errors import Refused
from spaseq.service.log.segments import WAYS
from spaseq.service.store.damage import DATABASE, damaged, is_damage

AGAIN_S = 5
"""Seconds after which a refused request may be asked again."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_OF_DISKS = frozenset({errno.EIO, errno.EMFILE, errno.ENFILE, errno.EROFS, errno.ENOMEM, errno.ESTALE}) | _FULL
_PASSING = frozenset(
    {
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM,
    }
)


def is_passing(error: BaseException) -> bool:
    """True of a fault of the disk after which the same may be tried again; of damage, or a defect, it is False."""
    if isinstance(error, sqlite3.Error):
        return not is_damage(error) and _code(error) in _PASSING
    return isinstance(error, OSError) and error.errno is not None and not isinstance(error, ConnectionError)


def is_of_the_disk(error: OSError) -> bool:
    """True of a fault for which no file is to blame that a request names."""
    return error.errno in _OF_DISKS


def in_words(error: BaseException) -> str:
    """A fault of the disk, with the name of the file."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
    return f"{DATABASE}: {error}"


def refusal(error: BaseException, what: str = "") -> Refused:
    """The answer to a request that a fault of the disk stops; `what` cannot be done."""
    detail = ": ".join(filter(None, (what, in_words(error))))
    is_full = _code(error) == sqlite3.SQLITE_FULL if isinstance(error, sqlite3.Error) else _errno(error) in _FULL
    if is_full:
        return Refused(507, "The disk is full", detail)
    return Refused(503, "The disk fails", detail, headers={"Retry-After": str(AGAIN_S)})


def of_damage(error: RunError) -> Refused | None:
    """The answer to a request that meets damage; None: the error is of something else."""
    return Refused(500, "Damaged", f"{error.message}; {error.hint}") if error.hint == WAYS else None


@contextmanager
def refused() -> Iterator[None]:
    """Let faults of the disk, and damage, be answers to a request: Refused."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if isinstance(error, sqlite3.Error) and is_damage(error):
            raise of_damage(damaged(str(error))) or error from error
        if not is_passing(error):
            raise
        raise refusal(error) from error
    except RunError as error:
        if (found := of_damage(error)) is None:
            raise
        raise found from error


@contextmanager
def told(what: str, hint: str) -> Iterator[None]:
    """Let a fault of the disk be an error with its reason, `what` it stops, and the way out: RunError."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if not is_passing(error):
            raise
        raise RunError(f"{what}: {in_words(error)}", hint=hint) from error


def starting() -> AbstractContextManager[None]:
    """Let a fault of the disk be the reason for which a service does not start: RunError."""
    return told("the data folder cannot be used", "what is accepted is safe: start it again when the disk works")


def _errno(error: BaseException) -> int | None:
    return error.errno if isinstance(error, OSError) else None


def _code(error: sqlite3.Error) -> int:
    """The primary code of SQLite's error."""
    unsaid = sqlite3.SQLITE_IOERR if isinstance(error, sqlite3.OperationalError) else sqlite3.SQLITE_OK
    return int(getattr(error, "sqlite_errorcode", unsaid)) & 0xFF
