"""The depth of JSON: parsers of deeper documents need a stack of their size, and end the process without it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

import numpy as np

JSON_DEPTH_MAX = 500
"""Objects and arrays one in the other."""
_PIECE_BYTES = 1 << 20
_OPENING = b"{["
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[][{}]', re.DOTALL)


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, none at the end."""


def check_depth(text: bytes) -> None:
    """Raises SyntaxError, with its line and column, where a text is deeper than JSON_DEPTH_MAX."""
    if not _may_be_deep(text) or _deepest(_STRING.sub(b"", text), 0)[0] <= JSON_DEPTH_MAX:
        return
    depth = 0
    for found in _MARK.finditer(text):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(found[0], 0)
        if depth > JSON_DEPTH_MAX:
            before = text[: found.start()]
            error = too_deep()
            error.lineno, error.offset = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
            raise error


def is_deep(stream: Readable) -> bool:
    """True if a document, read piece by piece, is deeper than JSON_DEPTH_MAX."""
    depth = 0
    for piece in _without_strings(stream):
        deepest, depth = _deepest(piece, depth)
        if deepest > JSON_DEPTH_MAX:
            return True
    return False


def too_deep() -> SyntaxError:
    """The error of a document that is too deep."""
    return SyntaxError(f"JSON of more than {JSON_DEPTH_MAX} objects and arrays one in the other")


def _may_be_deep(text: bytes) -> bool:
    return text.count(b"{") + text.count(b"[") > JSON_DEPTH_MAX


def _deepest(text: bytes, before: int) -> tuple[int, int]:
    """The greatest depth in a text without strings, and that at its end, given that before it."""
    brackets = np.frombuffer(text.translate(None, _NO_BRACKETS), dtype=np.uint8)
    if not len(brackets):
        return before, before
    steps = np.where(np.isin(brackets, tuple(_OPENING)), 1, -1)
    depths = before + np.cumsum(steps)
    return max(before, int(depths.max())), int(depths[-1])


def _without_strings(stream: Readable) -> Iterator[bytes]:
    """The pieces of a document, whose strings are left out; one that is not closed yet waits for the next piece."""
    waiting = b""
    while piece := stream.read(_PIECE_BYTES):
        bare = _STRING.sub(b"", waiting + piece)
        quote = bare.find(b'"')
        waiting = bare[quote:] if quote >= 0 else b""
        yield bare[:quote] if quote >= 0 else bare
