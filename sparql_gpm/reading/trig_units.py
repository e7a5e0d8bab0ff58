"""TriG text cut into units: directives, statements of the default graph, graph blocks.

Only the lexical grammar is read (strings, IRIs, comments, braces, dots), and a unit ends where a valid document has
nothing unfinished. So a document of any size is read a unit at a time, and a syntax error discards one unit. Each byte
is scanned once, whatever the length of a unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sparql_gpm.reading.blocks import Blocks, LongPiece
from sparql_gpm.reading.raw_text import RawText

_MARK = re.compile(
    rb'''
    (?: [^"'<\#\\{}.|]++
      | """ (?: [^"\\]++ | \\. | "{1,2}(?!") )*+ """
      | \'\'\' (?: [^'\\]++ | \\. | '{1,2}(?!') )*+ \'\'\'
      | (?!""") " (?: [^"\\\r\n]*+ (?: \\. [^"\\\r\n]*+ )*+ " )?+
      | (?!\'\'\') ' (?: [^'\\\r\n]*+ (?: \\. [^'\\\r\n]*+ )*+ ' )?+
      | < (?: [^<>"{}|^`\\\x00-\x20]*+ (?: \\[uU] [^<>"{}|^`\\\x00-\x20]*+ )*+ > )?+
      | \#[^\r\n]*+
      | \\. | \{\| | \|\} | [|\\]
      | \.(?! [\s\#@<"'\[(] | \Z | (?<=\s\.)[A-Za-z_:] )
    )*+
    ( """ | \'\'\' | [{}.] | \Z )
    ''',
    re.VERBOSE | re.DOTALL,
)
"""The next mark, behind tokens that do not matter; it is found from every place, so that no byte is looked at again."""
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
DIRECTIVE = re.compile(rb"@?(?:prefix|base|version)\b", re.IGNORECASE)
"""The beginning of a unit that is a directive."""
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
class Run:
    """Consecutive units of a document.

    text            of all of them, with what stands before each
    ends            the end of each
    line, column    the place at which the text begins
    """

    text: bytes
    ends: list[int]
    line: int
    column: int

    def __iter__(self) -> Iterator[Unit]:
        start, line, column = 0, self.line, self.column
        for end in self.ends:
            begin = start_of(self.text, start, end)
            line, column = _after(self.text[start:begin], line, column)
            if text := self.text[begin:end]:
                yield Unit(text, line, column)
                line, column = _after(text, line, column)
            start = end


def start_of(text: bytes, start: int, end: int) -> int:
    """The place behind space and comments."""
    nothing = _NOTHING.match(text, start, end)
    return nothing.end() if nothing else start


class Units:
    """The units of a document, in order. `line` is the line that the last unit of the last run ends on."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._ends = _Ends()
        self._waiting: list[bytes] = []
        self._length = 0
        self._skipped: LongUnit | None = None
        self.line = 1
        self._column = 1
        self._last = self._space = b""

    def __iter__(self) -> Iterator[Unit | LongUnit | None]:
        """Each unit; None after each block, where the stream may pause."""
        for each in self.runs():
            if isinstance(each, Run):
                yield from each
            else:
                yield each

    def runs(self) -> Iterator[Run | Unit | LongUnit | None]:
        """The units that end in a block together, apart from those that may be too long; None after each block."""
        for block in self._blocks:
            if isinstance(block, LongPiece):
                yield from self._long(block)
                continue
            start = self._resumption(block)
            if start:
                self._add(block[:start])
                yield from self._taken()
                self._ends, block, start = _Ends(), block[start:], 0
            ends = list(self._ends.of(block))
            if ends and self._skipped is None and self._length + len(block) <= self._blocks.line_bytes_max:
                yield self._run(block, ends)
            else:
                for end in ends:
                    self._add(block[start:end])
                    yield from self._taken()
                    start = end
            self._add(block[ends[-1] if ends else 0 :])
            yield None
        yield from self._taken()

    def _run(self, block: bytes, ends: list[int]) -> Run:
        """The units that end in a block, of which some of the first waits."""
        text = b"".join((*self._waiting, block[: ends[-1]]))
        run = Run(text, [self._length + end for end in ends], self.line, self._column)
        self._waiting, self._length = [], 0
        self._advance(text)
        return run

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
        begin = start_of(text, 0, len(text))
        self._advance(text[:begin])
        return text[begin:]

    def _advance(self, text: bytes) -> None:
        self.line, self._column = _after(text, self.line, self._column)


def _after(text: bytes, line: int, column: int) -> tuple[int, int]:
    """The place behind a text that begins at a place."""
    last = text
    if b"\r" in text:
        lines = _LINE_END.split(text)
        line += len(lines) - 1
        column, last = (1 if len(lines) > 1 else column), lines[-1]
    elif newlines := text.count(b"\n"):
        line += newlines
        column, last = 1, text[text.rfind(b"\n") + 1 :]
    return line, column + len(last.decode(errors="replace"))


class _Ends:
    """The ends of units: after a closing brace or a dot outside braces.

    Graph blocks do not nest: a brace inside a block begins a new unit at the start of its line, and the block before it
    lacks its end.
    """

    def __init__(self) -> None:
        self._inside = False
        self.quote = b""

    def after(self, last: bytes) -> bool:
        """True if a unit ends with a line that is too long to be scanned, by the line's last character."""
        if last in (b"{", b"}"):
            self._inside, self.quote = last == b"{", b""
        return last in (b"}", b".") and not self._inside and not self.quote

    def of(self, block: bytes) -> Iterator[int]:
        """The ends in the next block; blocks end with a line, so that only long strings reach over their ends."""
        at, begin = 0, -1
        if self.quote:
            closed = _STRING_END[self.quote].match(block)
            if closed is None:
                return
            at, self.quote = closed.end(), b""
        text = b"\n" + block
        for mark in _MARK.finditer(text, at + 1):
            match mark[1]:
                case b"{":
                    line_start = text.rfind(b"\n", 0, mark.end())
                    if self._inside and line_start > begin:
                        yield line_start
                        begin = line_start
                    self._inside = True
                case b"}":
                    self._inside = False
                    begin = mark.end() - 1
                    yield begin
                case b".":
                    if not self._inside:
                        begin = mark.end() - 1
                        yield begin
                case b'"""' | b"'''":
                    self.quote = mark[1]
                    return
