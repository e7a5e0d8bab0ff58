"""Blocks of whole lines of a byte stream, and the faults that pyoxigraph reports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from sparql_gpm.errors import RDFSyntaxError

BLOCK_BYTES = 1 << 20
UNIT_BYTES_MAX = 256 << 20
"""The longest line, or top-level statement of TriG; a longer one is cut there."""

_WHERE = re.compile(r"^Parser error at line \d+ .*?column.*?: |^Parser error[^:]*: ", re.DOTALL)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ByteStream(Protocol):
    """A source of bytes: `read(n)` returns at most n bytes, fewer when no more are there yet, and b"" only at the end.

    It raises RDFSyntaxError when the input is truncated, for instance inside a damaged archive.
    """

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes."""
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
        return ParseFault(1, 1, reason, "triple term")
    kind = "encoding" if reason.startswith("Invalid UTF-8") else "syntax"
    return ParseFault(error.lineno or 1, error.offset or 1, reason, kind)


class Blocks:
    """The stream cut after a newline into blocks; the last may lack one.

    pausing     the stream is live and has no more bytes just now: complete events should be yielded
    broken_off  the reason why the stream ended too early, or ""
    """

    def __init__(self, stream: ByteStream, live: bool) -> None:
        self._stream, self._live = stream, live
        self.pausing = False
        self.broken_off = ""

    def __iter__(self) -> Iterator[bytes]:
        waiting: list[bytes] = []
        length = 0
        for block in self._reads():
            end = block.rfind(b"\n") + 1
            if not end and length < UNIT_BYTES_MAX:
                waiting.append(block)
                length += len(block)
                continue
            waiting.append(block[:end])
            yield b"".join(waiting)
            waiting, length = [block[end:]], len(block) - end
        self.pausing = False
        if last := b"".join(waiting):
            yield last

    def _reads(self) -> Iterator[bytes]:
        first = True
        try:
            while block := self._stream.read(BLOCK_BYTES):
                self.pausing = self._live and len(block) < BLOCK_BYTES
                yield block.removeprefix(_BYTE_ORDER_MARK) if first else block
                first = False
        except RDFSyntaxError as error:
            self.broken_off = error.message
