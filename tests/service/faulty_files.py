"""A folder in memory that forgets what was not synced, and fails where a test says so."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import BinaryIO

from tests.service.unsynced import Change, after_power_loss


@dataclass(slots=True)
class _Content:
    """Bytes of a file: those on disk, and those that are only written.

    changes     since the last sync
    notes       that were written over each other since then, where it is one
    """

    synced: bytes = b""
    written: bytes = b""
    changes: list[Change] = field(default_factory=list)
    notes: list[bytes] = field(default_factory=list)

    def sync(self) -> None:
        """Let what is written be on disk."""
        self.synced = self.written
        self.changes.clear()
        self.notes.clear()

    def crashed(self, kept: Callable[[int], int]) -> bytes:
        """The bytes of which so many are kept that were not synced; a note is whole."""
        if self.notes:
            return [self.synced, *self.notes][kept(len(self.notes))]
        if self.written.startswith(self.synced):
            return self.written[: len(self.synced) + kept(len(self.written) - len(self.synced))]
        return self.synced

    def lost_power(self, dice: Random) -> bytes:
        """The bytes that a machine finds that has lost its power."""
        if self.notes:
            return dice.choice([self.synced, *self.notes])
        return after_power_loss(self.synced, self.changes, dice)


@dataclass(slots=True)
class FaultyFiles:
    """A folder; `fail` is asked before each operation, by its name, for an errno or 0, and may tear a write.

    tear            bytes of a failing write that are written all the same
    synced_names    the files by the names that are on disk
    fail_others     is asked before each operation that reads or deletes
    """

    fail: Callable[[str], int] = lambda operation: 0
    tear: Callable[[int], int] = lambda size: 0
    fail_others: Callable[[str], int] = lambda operation: 0
    contents: dict[str, _Content] = field(default_factory=dict)
    synced_names: dict[str, _Content] = field(default_factory=dict)

    def names(self) -> list[str]:
        self.check_other("names")
        return sorted(self.contents)

    def append_to(self, name: str) -> FaultyFile:
        self.check("open")
        return FaultyFile(self, self.contents.setdefault(name, _Content()))

    def open(self, name: str) -> BinaryIO:
        self.check_other("open")
        return _Reading(self, self.contents[name].written)

    def note(self, name: str, data: bytes, synced: bool = False) -> None:
        self.check("note")
        content = self.contents.setdefault(name, _Content())
        content.written = data
        content.notes.append(data)
        if synced:
            self.check("sync note")
            content.sync()
            self.sync_folder()

    def close(self) -> None:
        pass

    def size(self, name: str) -> int:
        self.check_other("size")
        return len(self.contents[name].written)

    def remove(self, name: str) -> None:
        self.check("remove")
        self.check_other("remove")
        self.contents.pop(name, None)

    def sync_folder(self) -> None:
        self.check("sync folder")
        self.synced_names = self.contents.copy()

    def check(self, operation: str) -> None:
        if code := self.fail(operation):
            raise OSError(code, os.strerror(code))

    def check_other(self, operation: str) -> None:
        if code := self.fail_others(operation):
            raise OSError(code, os.strerror(code))

    def crashed(self, kept: Callable[[int], int]) -> FaultyFiles:
        """A folder in which of each file so many bytes are kept that were not synced."""
        return _found({name: content.crashed(kept) for name, content in self.contents.items()})

    def lost_power(self, dice: Random) -> FaultyFiles:
        """What a machine finds that has lost its power; of files whose names were not synced, maybe nothing."""
        found = {}
        for name in sorted({*self.contents, *self.synced_names}):
            content = dice.choice((self.contents.get(name), self.synced_names.get(name)))
            if content is not None:
                found[name] = content.lost_power(dice)
        return _found(found)


def _found(contents: dict[str, bytes]) -> FaultyFiles:
    found = {name: _Content(data, data) for name, data in contents.items()}
    return FaultyFiles(contents=found, synced_names=found.copy())


class _Reading(io.BytesIO):
    """An open file of such a folder, which is read."""

    def __init__(self, files: FaultyFiles, data: bytes) -> None:
        super().__init__(data)
        self._files = files

    def read(self, size: int | None = -1, /) -> bytes:
        self._files.check_other("read")
        return super().read(size)


@dataclass(slots=True)
class FaultyFile:
    """An open file of such a folder."""

    files: FaultyFiles
    content: _Content

    def write(self, data: bytes) -> None:
        try:
            self.files.check("write")
        except OSError:
            self._write(data[: self.files.tear(len(data))])
            raise
        self._write(data)

    def sync(self) -> None:
        self.files.check("sync")
        self.content.sync()

    def truncate(self, size: int) -> None:
        self.files.check("truncate")
        self.content.written = self.content.written[:size]
        self.content.changes.append((size, None))

    def close(self) -> None:
        self.files.check("close")

    def _write(self, data: bytes) -> None:
        self.content.changes.append((len(self.content.written), data))
        self.content.written += data
