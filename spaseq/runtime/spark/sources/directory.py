"""Directory streams: the ranges of bytes between two places. Files are read in natural order and never change.

A place is a file and a byte in it, so that a checkpoint is small however many files there are. A file that appears must
therefore sort after those that were begun, as segments of a log do (another one is an error, not left out), and be
complete when it appears (written elsewhere, or under a hidden name, then moved in).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from spaseq.errors import RunError
from spaseq.inputs.file_ranges import FileRange, ranges_of
from spaseq.inputs.formats import format_of
from spaseq.inputs.paths import files_of, natural_order


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
        return [name for name in files_of(self._path) if format_of(name) and os.path.isfile(name)]

    def end(self) -> FilePosition:
        """The place after all files; its line is not counted."""
        files = self.files()
        return FilePosition(files[-1], os.path.getsize(files[-1]), files=len(files)) if files else FilePosition()

    def after(self, part: FileRange) -> FilePosition:
        """The place after a range."""
        files = _up_to(part.file, self.files())
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
            order = natural_order(name)
            if order >= natural_order(start.file) and (end is None or order <= natural_order(end.file)):
                begin, line = (start.byte, start.line) if name == start.file else (0, 0)
                stop = end.byte if end is not None and name == end.file else None
                yield from ranges_of(name, begin, stop, line, bytes_max)

    def _check(self, files: list[str], place: FilePosition) -> None:
        if _up_to(place.file, files) > place.files:
            reason = f"a file has appeared in {self._path} that sorts before {place.file}, which was already read"
            raise RunError(
                reason, hint="give each new file a name that sorts after the others, and move that file away"
            )


def _up_to(last: str, files: list[str]) -> int:
    """The number of files up to this one."""
    return sum(natural_order(name) <= natural_order(last) for name in files)
