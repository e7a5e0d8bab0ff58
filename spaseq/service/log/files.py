"""The file operations of the log, behind an interface, so that tests can make every one of them fail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol


class AppendFile(Protocol):
    """An open file that grows at its end."""

    def write(self, data: bytes) -> None:
        """Append all of the data; OSError if it could not, and then a part of it may stand in the file."""

    def sync(self) -> None:
        """Return once what was written is on disk; OSError if that is not certain."""

    def truncate(self, size: int) -> None:
        """Cut the file, and go on there."""

    def close(self) -> None:
        """Close the file."""


class Files(Protocol):
    """The folder of a log."""

    def names(self) -> list[str]:
        """The names of the files in it."""

    def append_to(self, name: str) -> AppendFile:
        """The file, made if it is not there, open at its end."""

    def open(self, name: str) -> BinaryIO:
        """The file, open for reading."""

    def note(self, name: str, data: bytes, synced: bool = False) -> None:
        """Write a small file, or write over it in place: it has the old data then, or the new.

        synced  return once it is on disk, under its name
        """

    def size(self, name: str) -> int:
        """Its length in bytes."""

    def remove(self, name: str) -> None:
        """Delete it."""

    def sync_folder(self) -> None:
        """Return once the names of all files are on disk."""

    def close(self) -> None:
        """Give back what is open for notes."""


class DiskFile:
    """A file on disk."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, data: bytes) -> None:
        """Append all of the data."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]

    def sync(self) -> None:
        """Return once what was written is on disk."""
        os.fdatasync(self._file)

    def truncate(self, size: int) -> None:
        """Cut the file, and go on there."""
        os.ftruncate(self._file, size)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class DiskFolder:
    """A folder on disk, made if it is not there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._notes: dict[str, int] = {}
        path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def names(self) -> list[str]:
        """The names of the files in it."""
        return sorted(entry.name for entry in os.scandir(self._path) if entry.is_file())

    def append_to(self, name: str) -> DiskFile:
        """The file, open at its end."""
        return DiskFile(self._path / name)

    def open(self, name: str) -> BinaryIO:
        """The file, open for reading."""
        return (self._path / name).open("rb")

    def note(self, name: str, data: bytes, synced: bool = False) -> None:
        """Write a small file."""
        if name not in self._notes:
            self._notes[name] = os.open(self._path / name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.pwrite(self._notes[name], data, 0)
        if synced:
            os.fdatasync(self._notes[name])
            self.sync_folder()

    def close(self) -> None:
        """Close the notes."""
        for file in self._notes.values():
            os.close(file)
        self._notes.clear()

    def size(self, name: str) -> int:
        """Its length in bytes."""
        return (self._path / name).stat().st_size

    def remove(self, name: str) -> None:
        """Delete it."""
        (self._path / name).unlink(missing_ok=True)

    def sync_folder(self) -> None:
        """Return once the names of all files are on disk."""
        sync_folder(self._path)


def sync_folder(path: Path | str) -> None:
    """Return once the names in a folder are on disk. Raises OSError."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Let an error of an operation on an open file name the file."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = name
        raise
