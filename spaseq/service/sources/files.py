"""Files that grow, are rotated and are cut, as those of a log."""

from __future__ import annotations

import asyncio
import glob
import logging
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from spaseq.service.peers.pauses import Failed, State, keep_up
from spaseq.service.peers.threads import in_thread
from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sources.followed_file import FilePlace, FollowedFile, places_of, text_of
from spaseq.service.sources.handing import Handing
from spaseq.service.sources.intake import Intake

POLL_S = 0.1
QUIET_S = 1.0
"""After so long without a byte the last event of N-Quads is whole, and a file that was renamed has ended."""
FILES_MAX = 256
"""Files that are followed at a time."""
_log = logging.getLogger(__name__)


class FilesSource:
    """The lines of files by a path with `*` and `?`, older files first.

    A file is known by its inode and its first bytes, so one that is renamed is read to its end, also after a restart,
    before the one that has taken its name is begun; one that is cut or written anew is read from its beginning. The
    position has the bytes that are taken of each.
    """

    def __init__(self, stream: str, settings: SourceSettings) -> None:
        assert settings.files is not None
        self._pattern, self._format = settings.files, settings.body_format
        self._latest = settings.start == "latest"
        self._what = f"stream {stream}, files {settings.files}"

    async def run(self, intake: Intake) -> None:
        """Read what is appended."""
        await keep_up(self._what, lambda done: self._session(intake, done), intake.report, (OSError,))

    async def _session(self, intake: Intake, succeeded: Callable[[], None]) -> None:
        position = intake.position()
        skip = self._latest and position is None
        files, handing = _Files(self._pattern, self._format, position, skip), Handing(intake, succeeded)
        reported = ""
        try:
            while True:
                found = await in_thread(files.next_piece)
                if skip:
                    await handing.hand(b"", self._format, files.position)
                    skip = False
                state: State = "running" if files.any else "waiting"
                if state != reported:
                    intake.report(state, None if files.any else "there is no such file")
                    reported = state
                if found:
                    await handing.hand(found, self._format, files.position)
                else:
                    await asyncio.sleep(POLL_S)
        finally:
            files.close()


class _Files:
    """The files of a pattern, and the places in them."""

    def __init__(self, pattern: str, body_format: str, position: bytes | None, skip: bool) -> None:
        self._pattern, self._format, self._skip = pattern, body_format, skip
        self._places = places_of(position, pattern)
        self._open: dict[int, FollowedFile] = {}
        self._grown: dict[int, tuple[int, float]] = {}

    @property
    def any(self) -> bool:
        """True if there is a file."""
        return bool(self._open)

    def close(self) -> None:
        """Close all."""
        for file in self._open.values():
            file.close()
        self._open.clear()

    @property
    def position(self) -> bytes:
        """The position after the last text."""
        return text_of(self._places, self._pattern)

    def next_piece(self) -> bytes:
        """The next text; empty if there is none yet."""
        there = self._there()
        self._find_renamed(there)
        for inode in [*self._open]:
            if text := self._read(inode, there.get(inode)):
                return text
        if all(there.get(inode) == file.place.path for inode, file in self._open.items()):
            for inode, path in there.items():
                if inode not in self._open:
                    self._begin(inode, path)
            self._skip = False
        return b""

    def _there(self) -> dict[int, str]:
        """The files of the pattern by inode, the oldest first."""
        found = []
        for path in glob.glob(self._pattern):
            with suppress(FileNotFoundError):
                status = os.stat(path)
                if stat.S_ISREG(status.st_mode):
                    found.append((status.st_ino not in self._places, status.st_mtime_ns, path, status.st_ino))
        if len(found) > FILES_MAX:
            raise Failed(f"there are {len(found)} files, more than {FILES_MAX}: move those away that have been read")
        return {inode: path for _, _, path, inode in sorted(found)}

    def _find_renamed(self, there: dict[int, str]) -> None:
        """Open the files that were read before a restart and have other names now; forget those that are gone."""
        for inode, place in [*self._places.items()]:
            if inode in there or inode in self._open:
                continue
            path = _path_of(inode, os.path.dirname(place.path))
            file = None if path is None else FollowedFile(path, place, self._format)
            if file is not None and file.is_same():
                self._open[inode] = file
                continue
            if file is not None:
                file.close()
            _log.warning("%s is gone: what came after byte %d of it is lost", place.path, place.offset)
            del self._places[inode]

    def _begin(self, inode: int, path: str) -> None:
        """Open a file at its place, or at its beginning."""
        self._open[inode] = file = FollowedFile(path, self._places.get(inode, FilePlace(path)), self._format)
        self._check(file)
        if self._skip:
            file.skip()
        self._places[inode] = file.place

    def _read(self, inode: int, path: str | None) -> bytes:
        """The next text of a file, which has the path now, or none of the pattern's."""
        file = self._open[inode]
        self._check(file)
        quiet = self._is_quiet(inode, file.size)
        text = file.read(quiet, ended=quiet and path is None)
        if not text and quiet:
            if path is None:
                file.close()
                del self._open[inode], self._places[inode], self._grown[inode]
                return b""
            file.place = replace(file.place, path=path)
        self._places[inode] = file.place
        return text

    def _check(self, file: FollowedFile) -> None:
        if not file.is_same():
            _log.warning("%s was cut or written anew: it is read from its beginning", file.place.path)
            file.rewind()

    def _is_quiet(self, inode: int, size: int) -> bool:
        """True if a file has had this size for QUIET_S."""
        now = time.monotonic()
        known, since = self._grown.get(inode, (-1, now))
        if known != size:
            since = now
        self._grown[inode] = size, since
        return now - since >= QUIET_S


def _path_of(inode: int, folder: str) -> str | None:
    """The path of a file in a folder; None if it is not there."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        return next((entry.path for entry in entries if entry.inode() == inode and entry.is_file()), None)
    return None
