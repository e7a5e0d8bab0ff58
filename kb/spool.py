"""Columns in temporary files: as long as the disk has room for, whatever the memory."""

from __future__ import annotations

import os
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from kb.errors import KnowledgeBaseError

_COPIED_BYTES = 1 << 20
"""Bytes of a spool that are copied at a time."""


class Spool:
    """A column of numbers in a temporary file without a name, which ends with it.

    KnowledgeBaseError where the folder cannot be written.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = np.dtype(kind)
        self._folder = folder
        self._length = 0
        with self._writing(), tempfile.TemporaryFile(dir=folder) as file:
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)

    def __len__(self) -> int:
        return self._length

    def append(self, values: Any) -> None:
        """Add values at the end."""
        self.put(self._length, values)

    def put(self, place: int, values: Any) -> None:
        """Write values from a place on, which may lie behind the end."""
        array = np.ascontiguousarray(values, dtype=self.kind)
        rest, at = memoryview(array.view(np.uint8).data), place * self.kind.itemsize
        with self._writing():
            while rest:
                written = os.pwrite(self._file, rest, at)
                rest, at = rest[written:], at + written
        self._length = max(self._length, place + len(array))

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """The values of a range of places."""
        size = self.kind.itemsize
        return np.frombuffer(os.pread(self._file, (end - begin) * size, begin * size), dtype=self.kind)

    def first_not_below(self, value: Any, begin: int, end: int) -> int:
        """The first place in a sorted range whose value is not below this one; its end if there is none."""
        while begin < end:
            middle = (begin + end) // 2
            if int(self.read(middle, middle + 1)[0]) < value:
                begin = middle + 1
            else:
                end = middle
        return begin

    def copy(self, target: IO[bytes]) -> int:
        """Write all to another file; the CRC-32 of what was written."""
        checksum, size = 0, self._length * self.kind.itemsize
        for begin in range(0, size, _COPIED_BYTES):
            piece = os.pread(self._file, min(_COPIED_BYTES, size - begin), begin)
            checksum = zlib.crc32(piece, checksum)
            target.write(piece)
        return checksum

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise KnowledgeBaseError(reason, str(self._folder), hint="it could not be written") from error
