"""`spaseq service check`, `backup`, `restore`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from spaseq.service.maintenance import backup as backups
from spaseq.service.maintenance.check import check, held
from spaseq.service.maintenance.findings import Findings
from spaseq.service.maintenance.findings import Progress as Told
from spaseq.service.maintenance.repair import repair
from spaseq.service.store.faults import told

UNCHANGED = "nothing is changed: ask again when the disk works"


def check_folder(data: Path, mend: bool) -> int:
    """Say what is wrong with a data folder, and repair it; the exit code. InputError, RunError."""
    with held(data), _shown() as progress, told(str(data), UNCHANGED):
        checked = check(data, Findings(progress))
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
    with _shown() as progress, told(str(file), UNCHANGED):
        size = backups.backup(data, file, progress)
    print(f"{file}: {size:,} bytes")


def restore_backup(file: Path, data: Path) -> None:
    """Make a data folder from a backup; InputError, RunError."""
    with _shown() as progress, told(str(file), UNCHANGED):
        backups.restore(file, data, progress)
    print(f"{data}: restored from {file}")


@contextmanager
def _shown() -> Iterator[Told]:
    """Progress on a terminal."""
    console = Console(file=sys.stderr)
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("")
        yield lambda what, done, of: progress.update(task, description=what, completed=done, total=of)


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
