"""One file that grows: its whole lines, and its identity, so that it is known by another name as well."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from zlib import crc32

from spaseq.inputs.cutting import last_start
from spaseq.service.sources.positions import position_in, position_text

HEAD_BYTES = 256
"""The bytes at the beginning by which a file is known to be the same one."""
PIECE_BYTES = 1_000_000
EVENT_BYTES_MAX = 16_000_000
"""Bytes of a line; a longer one is taken as it is, and is malformed then."""


@dataclass(frozen=True, slots=True)
class FilePlace:
    """The place in a file: `offset` bytes are taken, of which the first `head` have a checksum."""

    path: str
    offset: int = 0
    head: int = 0
    checksum: int = 0


def places_of(text: bytes | None, pattern: str) -> dict[int, FilePlace]:
    """The places in files by their inode, from the text of a position."""
    found = position_in(text, f"files {pattern}", dict[int, tuple[str, int, int, int]]) or {}
    return {inode: FilePlace(*place) for inode, place in found.items()}


def text_of(places: dict[int, FilePlace], pattern: str) -> bytes:
    """The text of a position."""
    found = {str(inode): (each.path, each.offset, each.head, each.checksum) for inode, each in places.items()}
    return position_text(f"files {pattern}", found)


class FollowedFile:
    """An open file, read from a place on; `place` is behind what was taken."""

    def __init__(self, path: str, place: FilePlace, body_format: str) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.place = replace(place, path=path)
        self._format = body_format

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    @property
    def size(self) -> int:
        """The bytes that the file has now."""
        return os.fstat(self._file).st_size

    def is_same(self) -> bool:
        """True if what was taken still stands at the beginning: the file was neither cut nor written anew."""
        head = os.pread(self._file, self.place.head, 0)
        return self.size >= self.place.offset and crc32(head) == self.place.checksum

    def rewind(self) -> None:
        """Begin anew."""
        self.place = FilePlace(self.place.path)

    def skip(self) -> None:
        """Leave out the whole lines that are there."""
        size = self.size
        begin = max(0, size - PIECE_BYTES)
        end = begin + os.pread(self._file, size - begin, begin).rfind(b"\n") + 1
        self._go_to(max(end, self.place.offset))

    def read(self, quiet: bool, ended: bool) -> bytes:
        """The next piece of whole lines, or of whole events of N-Quads; empty if there is none yet.

        quiet   nothing has come for a while: the last event is whole, though none follows
        ended   nothing will come: the last line is whole, though it has no end
        """
        text = self._piece()
        is_last = self.place.offset + len(text) >= self.size
        end = self._end(text)
        if is_last and quiet:
            end = text.rfind(b"\n") + 1
        if (is_last and ended) or (not end and len(text) >= EVENT_BYTES_MAX):
            end = len(text)
        if not end:
            return b""
        found = self._headed(text[:end])
        self._go_to(self.place.offset + end)
        return found if found.endswith(b"\n") or not found else found + b"\n"

    def _piece(self) -> bytes:
        """About PIECE_BYTES behind the place, more where that has no end of anything."""
        size = PIECE_BYTES
        while True:
            text = os.pread(self._file, size, self.place.offset)
            if len(text) < size or size >= EVENT_BYTES_MAX or self._end(text):
                return text
            size = min(2 * size, EVENT_BYTES_MAX)

    def _end(self, text: bytes) -> int:
        """The byte behind what is certainly whole."""
        lines = text.rfind(b"\n") + 1
        return last_start(text[:lines]) if self._format == "nquads" else lines

    def _headed(self, text: bytes) -> bytes:
        """The text, after the first line of the file if that names the columns; empty if it is nothing else."""
        if self._format != "csv":
            return text
        if self.place.offset == 0:
            return text if text.rstrip().count(b"\n") else b""
        start = os.pread(self._file, PIECE_BYTES, 0)
        return start[: start.find(b"\n") + 1] + text

    def _go_to(self, offset: int) -> None:
        head = min(offset, HEAD_BYTES)
        self.place = FilePlace(self.place.path, offset, head, crc32(os.pread(self._file, head, 0)))
