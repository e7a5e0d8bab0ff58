"""The depth of Turtle and TriG: parsers of deeper documents take memory for each level, or end the process."""

from __future__ import annotations

import re

import numpy as np

from sparql_gpm.reading.json_depth import Readable
from sparql_gpm.terms import TRIPLE_TERM_DEPTH_MAX

NESTED_MAX = 1_000
"""Collections, blank node property lists, annotations and reified triples one in the other; a reified triple is two."""
STRINGS = re.compile(
    rb'''
      """ ( (?: [^"\\]++ | \\. | "{1,2}(?!") )*+ ) """
    | \'\'\' ( (?: [^'\\]++ | \\. | '{1,2}(?!') )*+ ) \'\'\'
    | " ( [^"\\\r\n]*+ (?: \\. [^"\\\r\n]*+ )*+ ) "
    | ' ( [^'\\\r\n]*+ (?: \\. [^'\\\r\n]*+ )*+ ) '
    | < [^<>"{}|^`\\\x00-\x20]*+ (?: \\[uU] [^<>"{}|^`\\\x00-\x20]*+ )*+ >
    | \#[^\r\n]*+
    | <<\( | \)>> | (?: \\. )++
    ''',
    re.VERBOSE | re.DOTALL,
)
"""Strings, IRIs, comments, escapes, and the brackets of triple terms."""
_TRIPLE_TERM = b"<<("
_OPENING, _CLOSING = b"([{<", b")]}>"
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in _OPENING + _CLOSING)
_NO_ROUND_ONES = bytes(byte for byte in range(256) if byte not in b"([{)]}")
_STEP = dict.fromkeys(_OPENING, 1) | dict.fromkeys(_CLOSING, -1)
_STEPS = np.array([_STEP.get(byte, 0) for byte in range(256)], dtype=np.int32)
_PIECE_BYTES = 1 << 20


def check_nesting(text: bytes) -> None:
    """Raises SyntaxError, with its line and column, for a text of Turtle or TriG that is deeper than NESTED_MAX."""
    if text.count(b"(") + text.count(b"[") + text.count(b"<<") + text.count(b"{|") <= NESTED_MAX:
        return
    if not _is_deep(STRINGS.sub(b"", text).translate(None, _NO_BRACKETS)):
        return
    depth = begin = 0
    for found in STRINGS.finditer(text + b"#"):
        for at in range(begin, found.start()):
            depth = max(0, depth + _STEP.get(text[at], 0))
            if depth > NESTED_MAX:
                what = "collections, blank node property lists, annotations or reified triples"
                raise located(f"{what} more than {NESTED_MAX:,} deep", text[:at])
        begin = found.end()


def check_triple_terms(text: bytes) -> None:
    """Raises SyntaxError for triple terms so deep that their parser would end the process."""
    if text.count(_TRIPLE_TERM) <= TRIPLE_TERM_DEPTH_MAX:
        return
    depth = 0
    for found in STRINGS.finditer(text):
        depth += {_TRIPLE_TERM: 1, b")>>": -1}.get(found[0], 0)
        if depth > TRIPLE_TERM_DEPTH_MAX:
            raise located(f"triple terms more than {TRIPLE_TERM_DEPTH_MAX} deep", text[: found.start()])


def may_be_deep(stream: Readable, by_line: bool) -> bool:
    """True if a document, read piece by piece, may be too deep: what stands in its strings counts, too.

    by_line     it has no brackets but those of triple terms
    """
    depth, triple_terms, last = _Depth(), 0, b""
    while piece := stream.read(_PIECE_BYTES):
        triple_terms += (last + piece).count(b"<<")
        brackets = b"" if by_line else piece.translate(None, _NO_ROUND_ONES)
        if triple_terms > TRIPLE_TERM_DEPTH_MAX or depth.exceeds(brackets):
            return True
        last = piece[-1:]
    return False


def _is_deep(brackets: bytes) -> bool:
    """True if brackets are more than NESTED_MAX deep."""
    depth = _Depth()
    return any(depth.exceeds(brackets[at : at + _PIECE_BYTES]) for at in range(0, len(brackets), _PIECE_BYTES))


class _Depth:
    """The depth of brackets, piece by piece; one that closes more than is open counts nothing."""

    def __init__(self) -> None:
        self._depth = self._lowest = 0

    def exceeds(self, brackets: bytes) -> bool:
        """True if the next ones are more than NESTED_MAX deep."""
        if not brackets:
            return False
        depths = self._depth + np.cumsum(_STEPS[np.frombuffer(brackets, np.uint8)], dtype=np.int64)
        floors = np.minimum(self._lowest, np.minimum.accumulate(depths))
        self._depth, self._lowest = int(depths[-1]), int(floors[-1])
        return int((depths - floors).max()) > NESTED_MAX


def located(reason: str, before: bytes) -> SyntaxError:
    """The error of a text whose fault stands behind these bytes."""
    error = SyntaxError(reason)
    error.lineno, error.offset = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
    return error
