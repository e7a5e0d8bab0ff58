"""The prepared form of a knowledge base on disk: memory-mapped columns.

    8 bytes   b"SPASEQKB"
    4 bytes   version, little-endian as everything here
    4 bytes   length of the header
    4 bytes   CRC-32 of the header
    header    JSON: for each array its type, place, length and CRC-32; the size of the file; whether RDFS was applied
    arrays    each at a multiple of 64

Terms are numbered from 1 in the order of the hashes of their N-Triples texts, so a term is found by
binary search; triples are sorted by predicate, subject, object.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
import weakref
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from kb.errors import KnowledgeBaseError

MAGIC = b"SPASEQKB"
VERSION = 2
SUFFIX = ".kb"
ALIGNMENT = 64
HEAD = struct.Struct("<8sII")
CHECKSUM = struct.Struct("<I")
_CHECKED_BYTES = 1 << 20
"""Bytes that are read at a time for a checksum."""
COLUMNS = ("texts", "offsets", "hashes", "numbers", "subjects", "predicates", "objects")


class PreparedFile:
    """A prepared file: columns that are mapped, each compared with its checksum when it is first used.

    Checksums are computed from bytes that are read: those of a file that is cut off meanwhile are wrong, while access
    to its mapping would end the process. Raises KnowledgeBaseError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                self._file = os.dup(file.fileno())
                weakref.finalize(self, os.close, self._file)
                self._state = _state_of(os.fstat(self._file))
                text = self._header(file)
                header = json.loads(text)
                self._mapped = mmap.mmap(self._file, 0, access=mmap.ACCESS_READ)
            if header["size"] != len(self._mapped):
                raise ValueError("the file has been cut off")
            self.content = hashlib.blake2b(text).hexdigest()
            """The same for files of the same content: the header has the checksums of all columns."""
            self.entailed = bool(header["entailed"])
            self._sections: dict[str, tuple[str, int, int, int]] = header["arrays"]
            self._columns: dict[str, NDArray[Any]] = {}
        except OSError as error:
            reason = error.strerror or str(error)
            raise KnowledgeBaseError(reason, str(path), hint="it must exist and be readable") from error
        except (ValueError, struct.error) as error:
            raise self._unusable(str(error)) from error

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            kind, start, length, checksum = self._sections[name]
            column = np.frombuffer(self._mapped, kind, length, start)
            if self._checksum(start, column.nbytes) != checksum:
                raise self._unusable(f"its {name} are damaged")
            self._columns[name] = column
        return self._columns[name]

    def length(self, name: str) -> int:
        """The length of a column, which is not read for that."""
        return self._sections[name][2]

    def verify(self) -> None:
        """Compares every column with its checksum."""
        for name in COLUMNS:
            self[name]

    def is_overwritten(self) -> bool:
        """True if the file that is mapped has another size or time of modification than when it was opened."""
        return _state_of(os.fstat(self._file)) != self._state

    def is_replaced(self) -> bool:
        """True if another file has the path now; False also while there is none."""
        try:
            return _state_of(self._path.stat()) != self._state
        except OSError:
            return False

    def _header(self, file: IO[bytes]) -> bytes:
        magic, version, stated = HEAD.unpack(file.read(HEAD.size))
        length = min(stated, os.fstat(file.fileno()).st_size)  # of a damaged file, any number
        if magic != MAGIC:
            raise ValueError("not a prepared knowledge base")
        if version != VERSION:
            entail = " --entail rdfs" if b'"entailed": true' in file.read(length) else ""
            raise self._unusable(f"it has version {version} of the format, and {VERSION} is read", entail)
        (checksum,) = CHECKSUM.unpack(file.read(CHECKSUM.size))
        header = file.read(length)
        if zlib.crc32(header) != checksum:
            raise ValueError("its header is damaged")
        return header

    def _checksum(self, start: int, size: int) -> int:
        found, end = 0, start + size
        for begin in range(start, end, _CHECKED_BYTES):
            found = zlib.crc32(os.pread(self._file, min(_CHECKED_BYTES, end - begin), begin), found)
        return found

    def _unusable(self, reason: str, options: str = "") -> KnowledgeBaseError:
        hint = f"rebuild it with: spaseq kb build FILE… -o {self._path}{options}"
        return KnowledgeBaseError(f"cannot be used: {reason}", str(self._path), hint=hint)


def hash_of(text: bytes) -> int:
    """The hash of the text of a term."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _state_of(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns
