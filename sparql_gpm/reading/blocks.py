"""Blocks of whole lines of a byte stream, and the faults that pyoxigraph reports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sparql_gpm.errors import BrokenOff

BLOCK_BYTES = 1 << 20
LINE_BYTES_MAX = 64 << 20
"""The longest line, statement or graph block, or document of one event that is read, if nothing else is said."""
TOO_LONG = "a %s of %s bytes: longer than --max-line allows"

_WHERE = re.compile(r"^Parser error at line \d+ .*?column.*?: |^Parser error[^:]*: ", re.DOTALL)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ByteStream(Protocol):
    """A source of bytes: `read(n)` returns at most n bytes, fewer when no more are there yet, and b"" only at the end.

    It raises BrokenOff when the input is truncated, for instance inside a damaged archive.
    """

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes."""
        ...


@runtime_checkable
class WaitingStream(ByteStream, Protocol):
    """A source of bytes that come while it is read."""

    def ready(self, seconds: float, /) -> bool:
        """False if no byte, nor the end, comes within this time."""
        ...


@dataclass(frozen=True, slots=True)
class ParseFault:
    """A fault in a text; line and column are counted from 1 in that text."""

    line: int
    column: int
    reason: str
    kind: str


def parse_fault(error: SyntaxError | ValueError) -> ParseFault:
    """The fault of a parser's error, without the position that its message repeats."""
    reason = _WHERE.sub("", str(error.msg if isinstance(error, SyntaxError) else error))
    if not isinstance(error, SyntaxError):
        return ParseFault(1, 1, reason, "syntax")
    kind = "encoding" if reason.startswith("Invalid UTF-8") else "syntax"
    return ParseFault(error.lineno or 1, error.offset or 1, reason, kind)


@dataclass(frozen=True, slots=True)
class LongPiece:
    """A piece of a line that is too long, its newline left out.

    last        it ends the line
    newline     the line ends with it and a newline, not with the input
    """

    text: bytes
    last: bool
    newline: bool


class Blocks:
    """The stream cut after a newline into blocks; the last may lack one. Lines that are too long come in pieces.

    line_bytes_max  the length of a line from which on it is too long
    pausing         the stream is live and has no more bytes just now: complete events should be yielded
    broken_off      the error that ended the stream too early, if one did
    reads           the blocks that are read from the stream at once, as one
    quiet_s         after so many seconds without a byte of a live stream an empty block says so; None: none does
    quiet           this is such a block, and the last line is whole
    whole           so is the last line of what has been read
    """

    def __init__(
        self,
        stream: ByteStream,
        live: bool,
        line_bytes_max: int = LINE_BYTES_MAX,
        quiet_s: float | None = None,
        reads: int = 1,
    ) -> None:
        self._stream, self._live, self._reads_at_once = stream, live, reads
        self._quiet_s = quiet_s
        self.quiet = False
        self.whole = True
        self.line_bytes_max = line_bytes_max
        self.pausing = False
        self.broken_off: BrokenOff | None = None

    def __iter__(self) -> Iterator[bytes | LongPiece]:
        waiting: list[bytes | memoryview] = []
        length, skipping = 0, False
        for block in self._reads():
            if not block:
                self.quiet = not length and not skipping
                yield block
                self.quiet = False
                continue
            if skipping:
                end = block.find(b"\n")
                yield LongPiece(block[:end] if end >= 0 else block, end >= 0, newline=end >= 0)
                if end < 0:
                    continue
                block, skipping = block[end + 1 :], False
            end = block.rfind(b"\n") + 1
            self.whole = end == len(block)
            if end:
                waiting.append(memoryview(block)[:end] if waiting else block[:end])
                yield from self._lines(b"".join(waiting))
                waiting, length = [], 0
            waiting.append(block[end:])
            length += len(block) - end
            if length > self.line_bytes_max:
                yield LongPiece(b"".join(waiting), last=False, newline=False)
                waiting, length, skipping = [], 0, True
        self.pausing = False
        if skipping:
            yield LongPiece(b"", last=True, newline=False)
        elif last := b"".join(waiting):
            yield from self._lines(last)

    @property
    def idle(self) -> bool:
        """True if the stream is live and says that it has no more bytes just now, and the last line is whole."""
        return self.pausing and self.whole and self._quiet_s is not None and self._has_nothing(0.0)

    def _lines(self, text: bytes) -> Iterator[bytes | LongPiece]:
        """Lines, those that are too long apart."""
        start = 0
        if len(text) > self.line_bytes_max:
            for found in re.finditer(rb"^[^\n]{%d,}" % (self.line_bytes_max + 1), text, re.MULTILINE):
                if found.start() > start:
                    yield text[start : found.start()]
                yield LongPiece(found[0], last=True, newline=found.end() < len(text))
                start = found.end() + 1
        if start < len(text):
            yield text[start:]

    def _reads(self) -> Iterator[bytes]:
        first, size = True, self._reads_at_once * BLOCK_BYTES
        try:
            while True:
                if self.pausing and self._is_quiet():
                    yield b""
                if not (block := self._stream.read(size)):
                    break
                self.pausing = self._live and len(block) < size
                yield block.removeprefix(_BYTE_ORDER_MARK) if first else block
                first = False
        except BrokenOff as error:
            self.broken_off = error

    def _is_quiet(self) -> bool:
        """True if nothing comes for a while."""
        return self._quiet_s is not None and self._has_nothing(self._quiet_s)

    def _has_nothing(self, seconds: float) -> bool:
        """True if nothing comes within this time; False of a stream that cannot tell."""
        return isinstance(self._stream, WaitingStream) and not self._stream.ready(seconds)
