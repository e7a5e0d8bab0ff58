"""A folder in memory that forgets what was not synced, and fails where a test says so."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO


@dataclass(slots=True)
class _Content:
    """Bytes of a file: those on disk, and those that are only written."""

    synced: bytes = b""
    written: bytes = b""


@dataclass(slots=True)
class FaultyFiles:
    """A folder; `fail` is asked before each operation, by its name, for an errno or 0, and may tear a write.

    tear    bytes of a failing write that are written all the same
    """

    fail: Callable[[str], int] = lambda operation: 0
    tear: Callable[[int], int] = lambda size: 0
    contents: dict[str, _Content] = field(default_factory=dict)

    def names(self) -> list[str]:
        return sorted(self.contents)

    def append_to(self, name: str) -> FaultyFile:
        self.check("open")
        return FaultyFile(self, self.contents.setdefault(name, _Content()))

    def open(self, name: str) -> BinaryIO:
        return io.BytesIO(self.contents[name].written)

    def size(self, name: str) -> int:
        return len(self.contents[name].written)

    def remove(self, name: str) -> None:
        self.contents.pop(name, None)

    def sync_folder(self) -> None:
        self.check("sync folder")

    def check(self, operation: str) -> None:
        if code := self.fail(operation):
            raise OSError(code, errno.errorcode[code])

    def crashed(self, kept: Callable[[int], int]) -> FaultyFiles:
        """What a machine that lost its power finds: of what was not synced, so many bytes of each file."""
        found = FaultyFiles()
        for name, content in self.contents.items():
            synced, written = content.synced, content.written
            if written.startswith(synced):
                synced = written[: len(synced) + kept(len(written) - len(synced))]
            found.contents[name] = _Content(synced, synced)
        return found


@dataclass(slots=True)
class FaultyFile:
    """An open file of such a folder."""

    files: FaultyFiles
    content: _Content

    def write(self, data: bytes) -> None:
        try:
            self.files.check("write")
        except OSError:
            self.content.written += data[: self.files.tear(len(data))]
            raise
        self.content.written += data

    def sync(self) -> None:
        self.files.check("sync")
        self.content.synced = self.content.written

    def truncate(self, size: int) -> None:
        self.files.check("truncate")
        self.content.written = self.content.written[:size]

    def close(self) -> None:
        self.files.check("close")
