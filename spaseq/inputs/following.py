"""A file that is read as it grows, for ever."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sparql_gpm.errors import BrokenOff
from spaseq.errors import InputError
from spaseq.inputs.compression import compression_of
from spaseq.inputs.paths import STANDARD_INPUT, InputFile, is_elsewhere, unreadable

POLL_S = 0.01
"""Seconds between two looks at a file that has no more bytes."""
_WHOLE = frozenset({"parquet", "arrow", "turtle", "ntriples", "jsonld"})
"""Formats of which a file is one event, or says at its end what is in it."""


class GrowingFile:
    """The bytes of a file, and those that are appended; it never ends.

    Raises BrokenOff if the file has been cut: what has been read is in it no more.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._offset = 0

    def read(self, size: int, /) -> bytes:
        """At least one byte, as soon as there is one."""
        while not self.ready(POLL_S):
            pass
        found = os.pread(self._descriptor, size, self._offset)
        self._offset += len(found)
        return found

    def ready(self, seconds: float, /) -> bool:
        """False if no byte comes within this time."""
        end = time.monotonic() + seconds
        while (size := os.fstat(self._descriptor).st_size) == self._offset:
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(POLL_S, left))
        if size < self._offset:
            raise BrokenOff("the file was cut while it was followed")
        return True

    def start(self, size: int) -> bytes:
        """The first bytes that there are."""
        return os.pread(self._descriptor, size, 0)


@contextmanager
def growing(file: InputFile) -> Iterator[GrowingFile]:
    """A file that is followed; InputError if it cannot be read."""
    try:
        descriptor = os.open(file.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise unreadable(file.path, error) from error
    try:
        yield GrowingFile(descriptor)
    finally:
        os.close(descriptor)


def is_followed(path: str) -> bool:
    """True for a regular file; pipes and devices go on by themselves."""
    return path != STANDARD_INPUT and not is_elsewhere(path) and stat.S_ISREG(os.stat(path).st_mode)


def check_followed(path: str, files: tuple[InputFile, ...]) -> None:
    """Raises InputError for an input that cannot be followed."""
    if len(files) != 1:
        hint = "name one file; 'spaseq serve' follows the files of a pattern"
        raise InputError(f"--follow: {path} is {len(files):,} files", hint=hint)
    (file,) = files
    if file.path == STANDARD_INPUT:
        return
    if is_elsewhere(file.path) or compression_of(file.path) is not None or file.format in _WHOLE:
        raise InputError(f"--follow: {file.path} cannot be read as it grows", hint="plain N-Quads, TriG and lines can")
