"""The depth of JSON: parsers of deeper documents need a stack of their size, and end the process without it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Protocol

import numpy as np

JSON_DEPTH_MAX = 500
"""Objects and arrays one in the other."""
_PIECE_BYTES = 1 << 20
_OPENING = b"{["
_FEW = 64 << 10
"""Objects times bytes up to which a text is not looked through."""
_LONG_BYTES = 256
_NO_MARKS = bytes(byte for byte in range(256) if byte not in b"{}[],:")
_OBJECT_STEPS = np.zeros(256, dtype=np.int32)
_OBJECT_STEPS[list(b"{}")] = 1, -1
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_INSIDE = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[][{}]', re.DOTALL)


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, none at the end."""


def check_depth(text: bytes) -> None:
    """Raises SyntaxError, with its line and column, where a text is deeper than JSON_DEPTH_MAX."""
    if not _may_be_deep(text) or not is_deep(BytesIO(text)):
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


def marks_in_objects(text: bytes, longest: int) -> int:
    """Brackets, commas and colons of the outermost object that has most, each counted once for every object around it.

    A parser that holds an object until its end, to see whether a context comes last, holds so much for it; a short text
    has few, counted as 0, unless it has a long string.
    """
    if text.count(b"{") * len(text) * max(1, longest // _LONG_BYTES) <= _FEW:
        return 0
    most = open_marks = depth = 0
    for piece in _without_strings(BytesIO(text)):
        marks = np.frombuffer(piece.translate(None, _NO_MARKS), dtype=np.uint8)
        depths = depth + np.cumsum(_OBJECT_STEPS[marks], dtype=np.int64)
        if not len(depths):
            continue
        sums = open_marks + np.cumsum(depths)
        ends = sums[depths <= 0]
        last = int(ends[-1]) if len(ends) else 0
        most = max(most, int(np.diff(ends, prepend=0).max(initial=0)), int(sums[-1]) - last)
        open_marks, depth = int(sums[-1]) - last, max(0, int(depths[-1]))
    return most


def longest_iri(text: bytes) -> int:
    """The length of the longest string without a space: no other is an IRI."""
    return max((len(found[0]) for found in _STRING.finditer(text) if b" " not in found[0]), default=0)


def _without_strings(stream: Readable) -> Iterator[bytes]:
    """The pieces of a document, whose strings are left out."""
    is_inside, escape = False, b""
    while piece := stream.read(_PIECE_BYTES):
        begin = 0
        if is_inside:
            piece = escape + piece
            begin = _INSIDE.match(piece).end()  # type: ignore[union-attr]  # it matches nothing at least
            escape = piece[begin:] if piece[begin : begin + 1] == b"\\" else b""
            if escape or begin == len(piece):
                continue
            is_inside, begin = False, begin + 1
        bare = _STRING.sub(b"", piece[begin:])
        quote = bare.find(b'"')
        if quote >= 0:
            is_inside, escape = True, b"\\" if _ends_in_escape(piece) else b""
            bare = bare[:quote]
        yield bare


def _ends_in_escape(text: bytes) -> bool:
    """True if the last byte begins an escape."""
    return (len(text) - len(text.rstrip(b"\\"))) % 2 == 1
