"""Directory streams: the ranges of bytes between two places. Files are read in name order and never change.

A place is a file and a byte in it, so that a checkpoint is small however many files there are. A file that appears must
therefore sort after those that were begun, as segments of a log do (another one is an error, not left out), and be
complete when it appears (written elsewhere, then moved in). Names that begin with `.` or `_` are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from spaseq.errors import RunError
from spaseq.inputs.file_ranges import FileRange, ranges_of
from spaseq.inputs.formats import format_of
from spaseq.inputs.paths import files_of


@dataclass(frozen=True, slots=True)
class FilePosition:
    """A place in a stream: after all earlier files and the first `byte` bytes of `file`.

    line    lines before that byte
    files   the number of files up to this one
    ended   the end of the stream has been signalled
    """

    file: str = ""
    byte: int = 0
    line: int = 0
    files: int = 0
    ended: bool = False

    @staticmethod
    def of(offset: dict[str, Any]) -> FilePosition:
        """The place in an offset of Spark's checkpoint."""
        return FilePosition(**offset)

    def offset(self) -> dict[str, Any]:
        """The offset for Spark's checkpoint."""
        return asdict(self)


class Directory:
    """The files that a PATH means now, and later."""

    def __init__(self, path: str) -> None:
        self._path = path

    def files(self) -> list[str]:
        """Their names, in order."""
        return [name for name in files_of(self._path) if _is_input(name)]

    def end(self) -> FilePosition:
        """The place after all files; its line is not counted."""
        files = self.files()
        return FilePosition(files[-1], os.path.getsize(files[-1]), files=len(files)) if files else FilePosition()

    def after(self, part: FileRange) -> FilePosition:
        """The place after a range."""
        files = sum(name <= part.file for name in self.files())
        if part.end is None:
            return FilePosition(part.file, max(1, os.path.getsize(part.file)), files=files)
        return FilePosition(part.file, part.end, part.line + part.lines(), files)

    def ranges(self, start: FilePosition, bytes_max: int, end: FilePosition | None = None) -> Iterator[FileRange]:
        """The ranges of about `bytes_max` from one place to another, or to the last file.

        Raises RunError if a file has appeared before one of the places.
        """
        files = self.files()
        self._check(files, start)
        if end is not None:
            self._check(files, end)
        for name in files:
            if name >= start.file and (end is None or name <= end.file):
                begin, line = (start.byte, start.line) if name == start.file else (0, 0)
                stop = end.byte if end is not None and name == end.file else None
                yield from ranges_of(name, begin, stop, line, bytes_max)

    def _check(self, files: list[str], place: FilePosition) -> None:
        if sum(name <= place.file for name in files) > place.files:
            reason = f"a file has appeared in {self._path} that sorts before {place.file}, which was already read"
            raise RunError(
                reason, hint="give each new file a name that sorts after the others, and move that file away"
            )


def _is_input(name: str) -> bool:
    hidden = os.path.basename(name).startswith((".", "_"))
    return not hidden and os.path.isfile(name) and format_of(name) is not None
