"""`spaseq service check --repair`: what is sound of a data folder is kept, and what is lost stands in its log.

Log and database are written anew beside the old ones, as far as anything is wrong with them, and take their places when
they are on disk: a repair that is ended is gone on with by the next one.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from secrets import randbits
from typing import BinaryIO

from spaseq.service.core.clock import Clock, SystemClock
from spaseq.service.core.copies import give_up_copy
from spaseq.service.core.folder import COPIES, LOG, REPAIRED
from spaseq.service.core.meanings import can_take
from spaseq.service.core.records import Lost, decoded, encoded
from spaseq.service.core.state import State
from spaseq.service.log.ends import NAME as ENDS
from spaseq.service.log.ends import Ends
from spaseq.service.log.files import DiskFolder
from spaseq.service.log.groups import UNLINKED, Group, groups
from spaseq.service.log.groups import encoded as group_of
from spaseq.service.log.segmented import Place
from spaseq.service.log.segments import Segment, named
from spaseq.service.maintenance.check import NEW, Checked, check, finish_repair, held
from spaseq.service.maintenance.database_repair import repair_database
from spaseq.service.maintenance.findings import Findings
from spaseq.service.maintenance.log_check import Run
from spaseq.service.store.damage import DATABASE

_COPIED_BYTES = 1 << 20
LOSSES_MAX = 1_000
"""Losses that are told one by one; of more, how many there are."""
_logger = logging.getLogger("spaseq.service")


def repair(checked: Checked, clock: Clock | None = None) -> list[str]:
    """Mend what is wrong in a data folder that the caller holds; what is lost, in words. Raises OSError."""
    findings = checked.findings
    if not findings.wrong:
        return []
    folder = checked.folder or randbits(62)
    is_less = checked.log.lost_records or checked.database.saved is None
    lost = _told([*findings.lost, *(_not_taken(checked) if is_less else ())])
    for each in findings.wrong:
        if each.file.startswith(f"{COPIES}/"):
            give_up_copy(checked.data / each.file)
    if any(each.file.startswith(DATABASE) for each in findings.wrong):
        repair_database(checked.data / DATABASE, checked.database, folder)
    if lost or any(each.file.startswith(LOG) for each in findings.wrong):
        _repair_log(checked, folder, lost, (clock or SystemClock()).wall())
    return lost


def give_up(data: Path) -> None:
    """Repair a folder of which a service is to start with what is there; says on stderr what is lost. InputError."""
    with held(data):
        checked = check(data, Findings())
        for each in checked.findings.wrong:
            _logger.warning("%s", each)
        for lost in repair(checked):
            _logger.warning("lost: %s", lost)


def _told(lost: list[str]) -> list[str]:
    more = len(lost) - LOSSES_MAX
    return lost if more <= 0 else [*lost[:LOSSES_MAX], f"and {more:,} more"]


def _repair_log(checked: Checked, folder: int, lost: list[str], now: int) -> None:
    """Write the log anew, with a record of what is lost."""
    shutil.rmtree(checked.data / NEW, ignore_errors=True)
    writing = _Writing(checked, DiskFolder(checked.data / NEW), folder)
    for run in checked.log.runs:
        writing.copy(run)
    if lost:
        writing.go_on(encoded(Lost(now, tuple(lost), checked.log.lost_records, checked.database.lost_rows)))
    writing.close()
    (checked.data / LOG).rename(checked.data / REPAIRED)
    finish_repair(checked.data)


class _Writing:
    """A log that is written anew from the runs of another one."""

    def __init__(self, checked: Checked, files: DiskFolder, folder: int) -> None:
        self._old, self._files, self._folder = checked.data / LOG, files, folder
        self._path = checked.data / NEW
        self._last: Segment | None = None
        self._end = _begin(checked)
        self._link = UNLINKED
        ends = checked.log.ends
        noted = [] if ends is None or ends.folder != folder else [Place(ends.next - 1, ends.link)]
        self._covered = max([*checked.database.places, *noted], default=Place(0, UNLINKED))

    def copy(self, run: Run) -> None:
        """Let a run follow."""
        old = run.segment
        breaks = run.first > self._end or (UNLINKED not in (self._link, run.before) and self._link != run.before)
        segment = Segment(run.first, old.attempt, self._previous, self._end if breaks else 0)
        with (self._old / old.name).open("rb") as file:
            head, whole = file.read(old.begin), run.offset == old.begin and run.size == old.good - old.begin
            as_written = head == segment.head(self._folder) if head else segment.name == old.name and not breaks
            if not (whole and as_written and _is_linked(self._old / old.name, self._path / old.name)):
                self._write(segment, _piece(file, run.offset, run.size))
        self._last, self._end, self._link = segment, run.end, run.after

    def go_on(self, record: bytes) -> None:
        """Let a record follow, behind all that rows or the snapshot were made of."""
        first = max(self._end, self._covered.number + 1)
        segment = Segment(first, 0, self._previous, self._end if first > self._end else first)
        data, self._link = group_of(first, [record], self._covered.link if first > self._end else self._link)
        self._write(segment, [data])
        self._last, self._end = segment, first + 1

    def close(self) -> None:
        """Note the ends, and have all on disk."""
        first = min((each.first for each in named(self._files)), default=self._end)
        self._files.note(ENDS, Ends(self._folder, first, self._end, self._link).encoded(), synced=True)
        self._files.close()

    @property
    def _previous(self) -> tuple[int, int] | None:
        return None if self._last is None else (self._last.first, self._last.attempt)

    def _write(self, segment: Segment, pieces: Iterable[bytes]) -> None:
        file = self._files.append_to(segment.name)
        try:
            file.write(segment.head(self._folder))
            for piece in pieces:
                file.write(piece)
            file.sync()
        finally:
            file.close()


def _begin(checked: Checked) -> int:
    """The number of the first record that somebody needs, of those before the first that is there."""
    saved = checked.database.saved
    needed = [1 if saved is None else saved.state.number + 1]
    return min([*needed, *([] if checked.log.ends is None else [checked.log.ends.first]), checked.log.first])


def _not_taken(checked: Checked) -> Iterator[str]:
    """Records that need something which was declared in others that are lost, in words."""
    saved = checked.database.saved
    state = State() if saved is None else saved.state.copy()
    for run in checked.log.runs:
        with (checked.data / LOG / run.segment.name).open("rb") as file:
            for group in groups(file, run.offset):
                if not isinstance(group, Group) or group.first >= run.end:
                    break
                for number, data in enumerate(group.records, group.first):
                    if number <= state.number:
                        continue
                    if can_take(state, record := decoded(data)):
                        state.apply(number, record)
                    else:
                        yield f"record {number} of the log: what it needs was declared in a record that is lost"


def _is_linked(old: Path, new: Path) -> bool:
    """Have a file under another name, too; False where the file system has no such names."""
    try:
        os.link(old, new)
    except OSError:
        return False
    return True


def _piece(file: BinaryIO, offset: int, size: int) -> Iterator[bytes]:
    file.seek(offset)
    while size and (data := file.read(min(size, _COPIED_BYTES))):
        size -= len(data)
        yield data
