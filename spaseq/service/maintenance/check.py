"""`spaseq service check`: a data folder read once, from its first byte to its last."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spaseq.errors import InputError
from spaseq.service.core.copies import copies, is_whole, mark_of
from spaseq.service.core.folder import COPIES, LOG, REPAIRED, locked
from spaseq.service.log.files import DiskFolder, sync_folder
from spaseq.service.log.segments import folder_of
from spaseq.service.maintenance.database_check import CheckedDatabase, check_database
from spaseq.service.maintenance.findings import Findings
from spaseq.service.maintenance.log_check import CheckedLog, check_log
from spaseq.service.store.damage import DATABASE

NEW = "log.new"
"""The name of a log that is being repaired, until it takes the place of the old one."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A data folder that was read, and what is wrong with it; `folder`: its number, 0 if nothing says it."""

    data: Path
    findings: Findings
    folder: int
    database: CheckedDatabase
    log: CheckedLog


def check_is_data_folder(data: Path) -> None:
    """InputError if it is none."""
    if not any((data / name).exists() for name in (LOG, REPAIRED, DATABASE)):
        raise InputError(f"{data} is no data folder of a service", hint="name the folder that --data names")


@contextmanager
def held(data: Path) -> Iterator[None]:
    """Have a data folder alone; InputError if it is none, or a service uses it."""
    check_is_data_folder(data)
    with locked(data):
        finish_repair(data)
        yield


def finish_repair(data: Path) -> None:
    """Let a repaired log take the place of the old one, if that has been put aside for it. Raises OSError."""
    if (data / REPAIRED).exists():
        if not (data / LOG).exists():
            (data / NEW).rename(data / LOG)
        sync_folder(data)
        shutil.rmtree(data / REPAIRED)


def check(data: Path, findings: Findings) -> Checked:
    """Read a data folder that the caller holds. Raises OSError."""
    database = check_database(data / DATABASE, findings)
    files = DiskFolder(data / LOG)
    folder = database.folder or folder_of(files)
    snapshot = 0 if database.saved is None else database.saved.state.number
    log = check_log(files, folder, database.places, snapshot if folder else 0, findings)
    _check_copies(data, database, findings)
    return Checked(data, findings, folder, database, log)


def _check_copies(data: Path, database: CheckedDatabase, findings: Findings) -> None:
    """The copies of knowledge bases are named by their digests; those in use are there."""
    paths = copies(data / COPIES)
    for path in paths:
        if not is_whole(path):
            findings.add(f"{COPIES}/{path.name}", "it is not as it was copied", f"{COPIES}/{path.name}")
    if database.saved is not None:
        used = {each.copy for each in database.saved.state.knowledge.values() if each.copy}
        there = {path.name for path in paths}
        for name in sorted(name for name in used - there if not mark_of(data / COPIES / name).exists()):
            findings.add(f"{COPIES}/{name}", "it is missing", f"{COPIES}/{name}")
