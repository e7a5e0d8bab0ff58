"""Rights of a data folder: its owner's alone, whoever made the folder and whatever the umask is."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
"""The rights of folders and of files."""
_logger = logging.getLogger("spaseq.service")


def make_private(data: Path, database: str) -> None:
    """Make the database of a data folder, if it is not there, and take from others what they may do with all in it.

    SQLite gives the files beside a database the rights of the database. Raises OSError.
    """
    os.close(os.open(data / database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE))
    for above, folders, files in os.walk(data):
        _narrow(above, FOLDER)
        for name in folders:
            if os.path.islink(path := os.path.join(above, name)):
                _narrow(path, FOLDER)
        for name in files:
            _narrow(os.path.join(above, name), FILE)


def _narrow(path: str, rights: int) -> None:
    """Take away rights; those of another owner's file stay, which is said."""
    try:
        found = stat.S_IMODE(os.stat(path).st_mode)
        if found & ~rights & 0o777:
            os.chmod(path, found & rights)
    except FileNotFoundError:
        return
    except PermissionError as error:
        _logger.warning("%s stays open to others: %s", path, error.strerror)
