"""The frames of a Jelly stream as bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparql_gpm.errors import BrokenOff
from sparql_gpm.interning.pages import zeros
from sparql_gpm.reading.blocks import BLOCK_BYTES, ByteStream
from sparql_gpm.reading.protobuf import BadMessage, varint

Bytes = NDArray[np.uint8]
WORD = 8
"""As in `arrays.words`, which imports numba."""
READ_AT_ONCE = 4
"""Blocks that are read and scanned as one: an event at the end of each is read in Python."""
_HINT_BYTES = 3
_VARINT_BYTES_MAX = 10
_FIRST_FIELD = 0x0A
"""The tag of the first field of a frame, and of the first field of a row."""


class Frames:
    """The frames of a stream, one after the other.

    data, size  so many bytes are held, in an array that is used again, and there is room for a word behind them
    at          the place there of the next frame; a reader may move it behind whole frames
    delimited   each frame has its length before it; else all of the input is one
    whole       the next frame is held, and not too long
    broken_off  the error that ended the stream inside a frame, if one did
    """

    def __init__(self, stream: ByteStream, bytes_max: int) -> None:
        self._stream, self._bytes_max = stream, bytes_max
        self.data: Bytes = zeros((WORD,), np.uint8)
        self.size = self.at = self._begin = self._length = 0
        self._ended = False
        self.whole = False
        self.broken_off: BrokenOff | None = None
        self._fill(_HINT_BYTES)
        self.delimited = _is_delimited(self._between(0, min(_HINT_BYTES, self.size)))

    def hold(self) -> bool:
        """Hold the next frame, unless it is too long; False if there is none."""
        if not self._fill(1):
            return False
        if not self.delimited:
            self._fill(self._bytes_max + 1)
            self._begin, self._length = self.at, self.size - self.at
        elif not self._read_length():
            return False
        self.whole = self._length <= self._bytes_max
        if self.whole and not self._fill(self._begin - self.at + self._length):
            self._break("a frame ends too early")
            return False
        return True

    @property
    def frame(self) -> bytes:
        """The next frame, which is whole."""
        return self._between(self._begin, self._begin + self._length)

    def _between(self, begin: int, end: int) -> bytes:
        return self.data[begin:end].tobytes()

    def next(self) -> bytes | int | None:
        """The next frame; the length of one that is too long, in its place; None behind the last."""
        if not self.hold():
            return None
        end = self._begin + self._length
        if self.whole:
            self.at = end
            return self.frame
        self._skip(end - self.at)
        return self._length

    def _read_length(self) -> bool:
        for size in range(1, _VARINT_BYTES_MAX + 1):
            if not self._fill(size) or self.data.item(self.at + size - 1) < 0x80:
                break
        try:
            number = self._between(self.at, min(self.at + _VARINT_BYTES_MAX, self.size))
            self._length, length = varint(number, 0, len(number))
        except BadMessage as error:
            self._break(f"the length of a frame cannot be read: {error}")
            return False
        self._begin = self.at + length
        return True

    def _fill(self, size: int) -> bool:
        """Hold so many bytes that are not yet taken; False if there are fewer."""
        if self.size - self.at >= size:
            return True
        length = self.size - self.at
        self.data[:length] = self.data[self.at : self.size]
        self.size, self.at, self._begin = length, 0, self._begin - self.at
        while self.size < size and not self._ended:
            try:
                part = self._stream.read(max(READ_AT_ONCE * BLOCK_BYTES, size - self.size))
            except BrokenOff as error:
                self.broken_off, part = error, b""
            self._ended = not part
            self._append(part)
        return self.size >= size

    def _append(self, part: bytes) -> None:
        end = self.size + len(part)
        if end + WORD > len(self.data):
            longer = zeros((max(end + WORD, 2 * self.size),), np.uint8)
            longer[: self.size] = self.data[: self.size]
            self.data = longer
        self.data[self.size : end] = np.frombuffer(part, dtype=np.uint8)
        self.size = end

    def _skip(self, size: int) -> None:
        """Pass over so many bytes."""
        while size > self.size - self.at:
            size -= self.size - self.at
            self.size = self.at = 0
            if not self._fill(1):
                self._break("a frame ends too early")
                return
        self.at += size

    def _break(self, reason: str) -> None:
        self.at = self.size
        self.broken_off = self.broken_off or BrokenOff(reason)


def _is_delimited(start: bytes) -> bool:
    """True if frames have their lengths before them, by the first bytes, as the format's specification says."""
    first, second, third = start[:_HINT_BYTES].ljust(_HINT_BYTES, b"\0")
    return first != _FIRST_FIELD or (second == _FIRST_FIELD and third != _FIRST_FIELD)
