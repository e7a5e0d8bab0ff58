"""Files that settings name: regular ones of bounded size, of which nothing else is read."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from arrays.wanted import check_wanted

TEXT_BYTES_MAX = 16_000_000
"""The bytes of a template, or of a context of JSON-LD."""
_PIECE_BYTES = 1 << 20
_GZIP = zlib.MAX_WBITS | 16
_PACKED_BYTES = 4 << 10
"""Bytes of gzip that are unpacked at once: what is behind the end of a member is copied."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a fifo"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class UnusableFile(ValueError):
    """A file that is not read; the text says why."""


@contextmanager
def _opened(path: str) -> Iterator[int]:
    """A regular file, opened so that nothing waits for the other end of it; raises UnusableFile and OSError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:  # of a socket, and of a device that is not there
            raise _irregular(path, "a socket or a device") from error
        raise
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise _irregular(path, next((kind for is_kind, kind in _KINDS if is_kind(mode)), "something else"))
        yield descriptor
    finally:
        os.close(descriptor)


def check_regular(path: str) -> None:
    """Raises UnusableFile for what is no regular file, and OSError for one that cannot be opened."""
    with _opened(path):
        pass


def pieces_of(path: str, bytes_max: int, bound: str) -> Iterator[bytes]:
    """The bytes of a regular file; raises UnusableFile as soon as there are more, naming the bound, and OSError."""
    with _opened(path) as descriptor:
        _check_size(path, os.fstat(descriptor).st_size, bytes_max, bound)
        read = 0
        while piece := os.read(descriptor, _PIECE_BYTES):
            check_wanted()
            read += len(piece)
            _check_size(path, read, bytes_max, bound)
            yield piece


def check_unpacked(path: str, bytes_max: int, bound: str) -> None:
    """Raises UnusableFile if a file of gzip has more bytes after decompression; what is no gzip its reader says."""
    member, unpacked = zlib.decompressobj(_GZIP), 0
    try:
        for part in _parts(pieces_of(path, bytes_max, bound)):
            rest = part
            while rest:
                if member.eof:
                    member, rest = zlib.decompressobj(_GZIP), rest.lstrip(b"\0")
                unpacked += len(member.decompress(rest, _PIECE_BYTES))
                _check_size(path, unpacked, bytes_max, f"{bound}, after decompression")
                rest = member.unused_data if member.eof else member.unconsumed_tail
    except zlib.error:
        return


def _parts(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for at in range(0, len(piece), _PACKED_BYTES):
            yield piece[at : at + _PACKED_BYTES]


def text_of(path: str) -> str:
    """The text of a template or a context; raises UnusableFile, OSError and UnicodeDecodeError."""
    return b"".join(pieces_of(path, TEXT_BYTES_MAX, "a template or context")).decode()


def _check_size(path: str, size: int, bytes_max: int, bound: str) -> None:
    if size > bytes_max:
        raise UnusableFile(f"'{path:.200}' has more than {bytes_max:,} bytes ({bound})")


def _irregular(path: str, kind: str) -> UnusableFile:
    return UnusableFile(f"'{path:.200}' is {kind}: a regular file is expected")
