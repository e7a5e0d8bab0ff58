"""TriG text cut into units: directives, statements of the default graph, graph blocks.

Only the lexical grammar is read (strings, IRIs, comments, braces, dots), and a unit ends where a valid document has
nothing unfinished. So a document of any size is read a unit at a time, and a syntax error discards one unit. Each byte
is scanned once, whatever the length of a unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sparql_gpm.reading.blocks import Blocks, LongPiece
from sparql_gpm.reading.raw_text import RawText

_MARK = re.compile(
    rb'''
      """ (?: [^"\\]++ | \\. | "{1,2}(?!") )*+ """
    | \'\'\' (?: [^'\\]++ | \\. | '{1,2}(?!') )*+ \'\'\'
    | """ | \'\'\'
    | " [^"\\\r\n]*+ (?: \\. [^"\\\r\n]*+ )*+ "
    | ' [^'\\\r\n]*+ (?: \\. [^'\\\r\n]*+ )*+ '
    | < [^<>"{}|^`\\\x00-\x20]*+ (?: \\[uU] [^<>"{}|^`\\\x00-\x20]*+ )*+ >
    | \#[^\r\n]*+ (?: \s++ \#[^\r\n]*+ )*+
    | (?: \\. )++
    | \{\|? | \|\} | \}
    | \.(?: (?=[\s\#@<"'\[(]|\Z) | (?<=\s\.)(?=[A-Za-z_:]) )
    ''',
    re.VERBOSE | re.DOTALL,
)
"""Tokens that matter; every alternative begins with a literal, so that `re` finds the next one fast."""
_STRING_END = {
    b'"""': re.compile(rb'(?:[^"\\]++|\\.|"{1,2}(?!"))*+"""', re.DOTALL),
    b"'''": re.compile(rb"(?:[^'\\]++|\\.|'{1,2}(?!'))*+'''", re.DOTALL),
}
_BEGINNING = re.compile(
    rb"""^[ \t]*(?: @?(?:prefix|base|version)\b | graph\b | \{
       | (?: <[^<>"{}|^`\x00-\x20]*+> | [^\s{<"'.;,()\[\]]*+:[^\s{<"'();,\[\]]*+ )\s*+\{ )""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
"""A line that begins a directive or a graph block."""
_NOTHING = re.compile(rb"(?:\s++|#[^\r\n]*+)*+")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_SPACE_MAX = 64 << 10
"""Space inside a line that is too long, above which it counts as part of a unit that may have ended before it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a document, and its place."""

    text: bytes
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class LongUnit:
    """A unit that is too long; one with a string that is never closed ends at the next graph block or directive."""

    raw: RawText
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Begun:
    """The rest of a document.

    line, column    where it begins
    behind          the byte before it
    lexed           so many of its bytes, up to the brace that shows that the unit before it lacks its end; 0: it has it
    """

    rest: Iterable[bytes | LongPiece]
    line: int = 1
    column: int = 1
    behind: bytes = b"\n"
    lexed: int = 0


class Units:
    """The units of a document, in order, or those that are left where others have read its beginning.

    line    the line that the last unit ends on
    """

    def __init__(self, blocks: Blocks, begun: Begun | None = None) -> None:
        begun = begun or Begun(blocks)
        self._blocks, self._rest = blocks, begun.rest
        self._ends = _Ends(begun.lexed, begun.behind)
        self._waiting: list[bytes] = []
        self._length = 0
        self._skipped: LongUnit | None = None
        self.line, self._column = begun.line, begun.column
        self._last = self._space = b""

    def __iter__(self) -> Iterator[Unit | LongUnit | None]:
        """Each unit; None after each block, where the stream may pause."""
        for block in self._rest:
            if isinstance(block, LongPiece):
                yield from self._long(block)
                continue
            start = self._resumption(block)
            if start:
                self._add(block[:start])
                yield from self._taken()
                self._ends, block, start = _Ends(), block[start:], 0
            for end in self._ends.of(block):
                self._add(block[start:end])
                yield from self._taken()
                start = end
            self._add(block[start:])
            yield None
        yield from self._taken()

    @property
    def is_between(self) -> bool:
        """True if no unit has begun that has not ended."""
        return self._skipped is None and _NOTHING.fullmatch(b"".join(self._waiting)) is not None

    def _long(self, piece: LongPiece) -> Iterator[Unit | LongUnit]:
        """A piece of a line that is too long, and the unit that ends with the line, if one does."""
        text = self._space + piece.text
        solid = text.rstrip()
        self._last = solid[-1:] or self._last
        ended, newline = piece.last and self._ends.after(self._last), b"\n" * piece.newline
        if not ended and (piece.last or len(text) - len(solid) > _SPACE_MAX):
            solid = text
        self._space = text[len(solid) :]
        self._skip(solid)
        if ended:
            yield from self._taken()
            self._advance(self._space + newline)
        elif newline:
            self._skip(newline)
        if piece.last:
            self._last = self._space = b""

    def _resumption(self, block: bytes) -> int:
        """The place where reading resumes in an overlong string, which is probably never closed; else 0."""
        if self._skipped is None or not self._ends.quote:
            return 0
        found = _BEGINNING.search(block)
        return found.start() if found else 0

    def _add(self, text: bytes) -> None:
        self._waiting.append(text)
        self._length += len(text)
        if self._skipped is not None or self._length > self._blocks.line_bytes_max:
            self._skip(b"")

    def _skip(self, text: bytes) -> None:
        """More of a unit that is too long; what waits comes before it."""
        if self._skipped is None:
            self._waiting = [self._after_nothing(b"".join(self._waiting))]
            self._skipped = LongUnit(RawText(), self.line, self._column)
        for piece in (*self._waiting, text):
            self._skipped.raw.add(piece)
            self._advance(piece)
        self._waiting, self._length = [], 0

    def _taken(self) -> Iterator[Unit | LongUnit]:
        """The unit that ends here, if there is any."""
        if self._skipped is not None:
            yield self._skipped
            self._skipped = None
            return
        text = self._after_nothing(b"".join(self._waiting))
        self._waiting, self._length = [], 0
        if text:
            yield Unit(text, self.line, self._column)
            self._advance(text)

    def _after_nothing(self, text: bytes) -> bytes:
        """The text without space and comments at its beginning."""
        nothing = _NOTHING.match(text)
        begin = nothing.end() if nothing else 0
        self._advance(text[:begin])
        return text[begin:]

    def _advance(self, text: bytes) -> None:
        self.line += line_ends(text)
        self._column = column_at(text, len(text), self._column)


class _Ends:
    """The ends of units: after a closing brace or a dot outside braces.

    Graph blocks do not nest: a brace inside a block begins a new unit at the start of its line, and the block before it
    lacks its end.
    """

    def __init__(self, lexed: int = 0, behind: bytes = b"\n") -> None:
        self._inside, self._behind = lexed > 0, behind
        self.lexed = lexed
        self.quote = b""

    def after(self, last: bytes) -> bool:
        """True if a unit ends with a line that is too long to be scanned, by the line's last character."""
        if last in (b"{", b"}"):
            self._inside, self.quote = last == b"{", b""
        return last in (b"}", b".") and not self._inside and not self.quote

    def of(self, block: bytes) -> Iterator[int]:
        """The ends in the next block; blocks end with a line, so that only long strings reach over their ends."""
        at, self.lexed = self.lexed, 0
        if self.quote:
            closed = _STRING_END[self.quote].match(block)
            if closed is None:
                return
            at, self.quote = closed.end(), b""
        text, self._behind = self._behind + block, b"\n"
        for end in self.after_place(text, at + 1, 0):
            yield end - 1

    def after_place(self, text: bytes, at: int, begin: int) -> Iterator[int]:
        """The ends in the text behind a place outside strings; the last one before it may be at `begin`."""
        looked, line_start = begin, 0
        for mark in _MARK.finditer(text, at):
            match mark[0]:
                case b"{":
                    line_start = text.rfind(b"\n", looked, mark.start()) + 1 or line_start
                    looked = mark.start()
                    if self._inside and line_start > begin:
                        self.lexed = mark.end()
                        yield line_start
                        begin, self.lexed = line_start, 0
                    self._inside = True
                case b"}":
                    self._inside = False
                    begin = mark.end()
                    yield begin
                case b".":
                    if not self._inside:
                        begin = mark.end()
                        yield begin
                case b'"""' | b"'''":
                    self.quote = mark[0]
                    return


def first_end(text: bytes, begin: int, lexed: int) -> tuple[int, int] | None:
    """The end of the unit that begins at a place, and the place behind the brace that shows it to lack its end, else 0.

    None if the text does not have its end.

    lexed   that place for the unit before
    """
    ends = _Ends(lexed)
    ends.lexed = 0
    end = next(ends.after_place(text, max(begin, lexed), begin), None)
    return None if end is None else (end, ends.lexed)


def line_ends(text: bytes) -> int:
    """The number of line ends in a text."""
    return len(_LINE_END.findall(text)) if b"\r" in text else text.count(b"\n")


def column_at(text: bytes, place: int, column: int) -> int:
    """The column of a place in a text that begins in a column, both in code points from 1."""
    start = max(text.rfind(b"\n", 0, place), text.rfind(b"\r", 0, place)) + 1
    return (1 if start else column) + len(text[start:place].decode(errors="replace"))
