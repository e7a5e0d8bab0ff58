"""`spaseq service check`, `backup`, `restore`."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from spaseq.errors import RunError
from spaseq.service.maintenance import backup as backups
from spaseq.service.maintenance.check import check, held
from spaseq.service.maintenance.findings import Findings
from spaseq.service.maintenance.findings import Progress as Told
from spaseq.service.maintenance.repair import repair
from spaseq.service.store.faults import in_words, is_passing


def check_folder(data: Path, mend: bool) -> int:
    """Say what is wrong with a data folder, and repair it; the exit code. InputError, RunError."""
    with held(data), _shown() as told, _of_disk(data):
        checked = check(data, Findings(told))
        wrong = checked.findings.wrong
        lost = repair(checked) if mend else []
    for note in checked.findings.notes:
        print(note)
    for each in wrong:
        print(each)
    for what in lost:
        print(f"lost: {what}")
    if mend:
        losses = _counted(len(lost), "loss", "losses") if lost else "nothing is lost"
        print(f"{data}: {'repaired' if wrong else 'sound'}, {losses}")
        return 1 if lost else 0
    records = _counted(checked.log.next - checked.log.first, "record")
    print(f"{data}: {_counted(len(wrong), 'fault') if wrong else 'sound'}, {records} in the log")
    return 1 if wrong else 0


def make_backup(data: Path, file: Path) -> None:
    """Copy a data folder into a file; InputError, RunError."""
    with _shown() as told, _of_disk(file):
        size = backups.backup(data, file, told)
    print(f"{file}: {size:,} bytes")


def restore_backup(file: Path, data: Path) -> None:
    """Make a data folder from a backup; InputError, RunError."""
    with _shown() as told, _of_disk(file):
        backups.restore(file, data, told)
    print(f"{data}: restored from {file}")


@contextmanager
def _shown() -> Iterator[Told]:
    """Progress on a terminal."""
    console = Console(file=sys.stderr)
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("")
        yield lambda what, done, of: progress.update(task, description=what, completed=done, total=of)


@contextmanager
def _of_disk(path: Path) -> Iterator[None]:
    """Let what the disk refuses be an error with its reason."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if not is_passing(error):
            raise
        hint = "nothing is changed: ask again when the disk works"
        raise RunError(f"{path}: {in_words(error)}", hint=hint) from error


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
