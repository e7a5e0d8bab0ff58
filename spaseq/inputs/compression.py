"""Compressed inputs, known by the suffix of the name or by the first bytes."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sparql_gpm.errors import BrokenOff
from spaseq.errors import InputError

_BUFFER_BYTES = 64 << 10
_PIECE_BYTES = 2 << 10
"""Compressed bytes that are unpacked at once: a piece may become 64 MiB."""
THREAD_BYTES_MIN = 1 << 20
"""Compressed bytes from which on a file is decompressed by a thread of its own."""
_WINDOW_BYTES_MAX = 128 << 20
_GZIP = zlib.MAX_WBITS | 16
_TRAILER_FAULTS = ("incorrect data check", "incorrect length check")
"""Faults behind the last byte of the data."""
_NO_HEADER = "incorrect header check"


@dataclass(frozen=True, slots=True)
class Compression:
    """A compression: the suffix of its files, the first bytes of its data, and its reader."""

    suffix: str
    magic: bytes
    reader: Callable[[io.BufferedReader], io.RawIOBase]


class GzipReader(io.RawIOBase):
    """The decompressed bytes of members of gzip, up to the very byte at which the data is damaged; then BrokenOff.

    A read decompresses no more than it returns, so memory is bounded whatever the ratio of the compression.
    """

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw
        self._input = b""
        self._at = self._members = 0
        self._damage: BrokenOff | None = None
        self._begin_member()

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """At least one byte, unless at the end."""
        text = b""
        while not text and self._more():
            text = self._decompressed(len(buffer))
        buffer[: len(text)] = text
        return len(text)

    def _begin_member(self) -> None:
        self._member, self._begun, self._pending, self._produced = zlib.decompressobj(_GZIP), False, False, 0

    def _more(self) -> bool:
        """True if there is input, or output that waits in the member; raises BrokenOff after damage."""
        if self._damage is not None:
            raise self._damage
        while not (self._input or self._pending):
            read = self._raw.read1(_BUFFER_BYTES)
            if not read and self._begun:
                raise self._broken(f"the compressed data ends too early, at byte {self._at}")
            if not read:
                return False
            self._take(read)
        return True

    def _take(self, text: bytes) -> None:
        """The input to decompress next; zeros may pad the end of a member."""
        self._input = text.lstrip(b"\0") if self._members and not self._begun else text
        self._at += len(text) - len(self._input)

    def _decompressed(self, size: int) -> bytes:
        before, self._begun = self._member.copy(), True
        try:
            text = self._member.decompress(self._input, size)
        except zlib.error:
            return self._up_to_damage(before)
        left = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        self._at += len(self._input) - len(left)
        self._produced += len(text)
        self._pending = len(text) == size
        if self._member.eof:
            self._begin_member()
            self._members += 1
        self._take(left)
        return text

    def _up_to_damage(self, member: zlib._Decompress) -> bytes:
        """The bytes before the damage, found byte by byte: zlib gives none of a piece that has a fault."""
        text = bytearray()
        for at in range(len(self._input)):
            try:
                text += member.decompress(self._input[at : at + 1])
            except zlib.error as error:
                self._produced += len(text)
                reason = str(error).rpartition(": ")[2]
                where = self._at + at
                if reason == _NO_HEADER:  # found at the second byte
                    where, reason = where - 1, "it is no gzip data from there on"
                what = f"the compressed data is damaged at byte {where}: {reason}"
                self._damage = self._broken(what, reason in _TRAILER_FAULTS)
                break
        return bytes(text)

    def _broken(self, reason: str, complete: bool = False) -> BrokenOff:
        """The error; before the first byte of a further member all is there."""
        return BrokenOff(reason, complete or (self._members > 0 and not self._produced))


class ZstandardReader(io.RawIOBase):
    """The decompressed bytes of frames of Zstandard, as far as they are whole; then BrokenOff.

    Raises InputError where the package zstandard is missing.
    """

    def __init__(self, raw: io.BufferedReader) -> None:
        try:
            import zstandard
        except ImportError as error:
            hint = 'install it: pip install "spaseq[tables]"; or unpack the input first'
            raise InputError("reading .zst needs the Python package zstandard", hint=hint) from error
        self._raw, self._error = raw, zstandard.ZstdError
        self._new: Callable[[], Any] = lambda: zstandard.ZstdDecompressor(
            max_window_size=_WINDOW_BYTES_MAX
        ).decompressobj()
        self._frame, self._begun = self._new(), False
        self._ready = b""
        self._at = 0
        self._damage: BrokenOff | None = None

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """At least one byte, unless at the end."""
        while not self._ready and self._more():
            pass
        text, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(text)] = text
        return len(text)

    def _more(self) -> bool:
        """Decompress a further piece of the input; False at its end, BrokenOff where it is damaged or too short."""
        if self._damage is not None:
            raise self._damage
        read = self._frame.unused_data if self._frame.eof else b""
        if self._frame.eof:
            self._frame, self._begun = self._new(), False
        read = read or self._raw.read1(_PIECE_BYTES)
        if not read:
            if self._begun:
                raise BrokenOff(f"the compressed data ends too early, at byte {self._at}")
            return False
        self._begun = True
        try:
            self._ready = self._frame.decompress(read)
        except self._error as error:
            reason = str(error).rpartition(": ")[2]
            self._damage = BrokenOff(f"the compressed data is damaged behind byte {self._at}: {reason}")
        self._at += len(read)
        return True


COMPRESSIONS = (Compression(".gz", b"\x1f\x8b", GzipReader), Compression(".zst", b"\x28\xb5\x2f\xfd", ZstandardReader))


def compression_of(path: str) -> Compression | None:
    """The compression that the suffix of a file says."""
    return next((each for each in COMPRESSIONS if path.lower().endswith(each.suffix)), None)


def is_long_archive(path: str) -> bool:
    """True for a compressed file on this machine that is long enough for a thread of its own."""
    try:
        return compression_of(path) is not None and os.path.getsize(path) >= THREAD_BYTES_MIN
    except OSError:
        return False


def unpacked(raw: io.BufferedReader, path: str) -> io.BufferedReader:
    """The bytes of an input, decompressed if its name or its first bytes say that they are compressed."""
    found = compression_of(path) or next((each for each in COMPRESSIONS if raw.peek(4).startswith(each.magic)), None)
    return raw if found is None else io.BufferedReader(found.reader(raw), _BUFFER_BYTES)
