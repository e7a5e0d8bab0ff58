"""The data folder of a service: its lock, its log, its database with the snapshot, opened and compared.

lock              held while the service runs
log/              what was accepted (`spaseq.service.log`)
service.sqlite    rows, dead letters, the newest snapshot (`spaseq.service.store`)
kb/               copies of knowledge bases
noted             the event that was being matched when the service died
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from spaseq.errors import InputError, RunError
from spaseq.service.core.snapshots import VERSION, Saved, load
from spaseq.service.core.state import State
from spaseq.service.core.watch import Watch
from spaseq.service.log.files import DiskFolder, Files, sync_folder
from spaseq.service.log.groups import UNLINKED
from spaseq.service.log.segmented import Place, SegmentedLog
from spaseq.service.log.segments import WAYS, missing
from spaseq.service.store.damage import DATABASE, damaged
from spaseq.service.store.database import Connect, Database, connected
from spaseq.service.store.private import FOLDER, make_private

LOG, COPIES = "log", "kb"
"""The names of the folders in it."""
REPAIRED = "log.old"
"""That of a log which has been repaired, while the new one takes its place."""


_logger = logging.getLogger("spaseq.service")


class DataFolder:
    """An open data folder whose log goes as far as all that was made of it.

    saved   the snapshot
    place   in the log, up to which the snapshot goes
    copies  the folder of copies of knowledge bases
    watch   notes in the folder what is being matched

    InputError if another service has it, RunError if it is damaged; raises OSError and sqlite3.Error.
    """

    def __init__(self, data: Path, files: Files | None = None, connect: Connect = connected) -> None:
        _make(data)
        if (data / REPAIRED).exists():
            raise RunError(f"a repair of {data} was ended", hint="`spaseq service check DATA --repair` goes on with it")
        self._lock = _locked(data)
        make_private(data, DATABASE)
        files = files or DiskFolder(data / LOG)
        self.copies, self.watch = data / COPIES, Watch(data)
        try:
            self.database = Database(data / DATABASE, is_new=not files.names(), connect=connect)
            self.log = SegmentedLog(files, self.database.folder)
            self.saved, self.place = self._snapshot()
            self._compare()
            if cut := self.log.cut_torn():
                _logger.warning("the log ends with %d bytes of a group that was never acknowledged: cut off", cut)
        except BaseException:
            os.close(self._lock)
            raise

    def read_again(self) -> None:
        """Read the snapshot again: a service has been made of it that comes to nothing."""
        self.saved, self.place = self._snapshot()

    def close(self) -> None:
        """Close all; a second call does nothing."""
        if self._lock < 0:
            return
        lock, self._lock = self._lock, -1
        with ExitStack() as stack:
            stack.callback(os.close, lock)
            stack.callback(self.database.close)
            stack.callback(self.log.close)

    def _snapshot(self) -> tuple[Saved, Place]:
        if (found := self.database.snapshot()) is None:
            return Saved(VERSION, State(), [], [], []), Place(0, UNLINKED)
        number, link, parts = found
        return load(parts), Place(number, link)

    def _compare(self) -> None:
        """RunError if log, snapshot and rows are not of one piece."""
        self.log.check(self.place, "the snapshot")
        if self.log.noted_until < self.place.number:
            raise RunError("the note log/ends is older than the snapshot", hint=WAYS)
        self.log.check(Place(*self.database.newest_place()), "a row or a dead letter")
        self.log.check(Place(self.database.meta("read", 0), UNLINKED), "a dead letter")
        if self.place.number + 1 < self.log.begin:
            missing(self.place.number + 1, self.log.begin - 1, "the snapshot ends before them")
        for query in (query for group in self.saved.groups for query in group.queries if not query.shadow):
            if query.rows > (newest := self.database.newest_row(query.number)):
                raise damaged(f"rows {newest + 1} to {query.rows} of query '{query.name}' are missing")


@contextmanager
def locked(data: Path) -> Iterator[None]:
    """Hold the lock of a data folder; InputError if a service holds it."""
    lock = _locked(data)
    try:
        yield
    finally:
        os.close(lock)


def _make(data: Path) -> None:
    """Make the folder if it is not there, and have its name on disk."""
    if not data.exists():
        data.mkdir(mode=FOLDER, parents=True)
        sync_folder(data.parent)


def _locked(data: Path) -> int:
    """The open lock of a data folder; InputError if another service holds it."""
    lock = os.open(data / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise InputError(f"another service uses the data folder {data}", hint="give another one with --data") from error
    return lock
