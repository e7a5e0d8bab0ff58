"""TriG text cut into units: directives, statements of the default graph, graph blocks.

Only the lexical grammar is read (strings, IRIs, comments, braces, dots), and a unit ends where a valid document has
nothing unfinished. So a document of any size is read a unit at a time, and a syntax error discards one unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sparql_gpm.reading.blocks import UNIT_BYTES_MAX, Blocks

_MARK = re.compile(
    rb'''
      """ (?: [^"\\] | \\. | "{1,2}(?!") )* """
    | \'\'\' (?: [^'\\] | \\. | '{1,2}(?!') )* \'\'\'
    | """ | \'\'\'
    | " [^"\\\r\n]* (?: \\. [^"\\\r\n]* )* "
    | ' [^'\\\r\n]* (?: \\. [^'\\\r\n]* )* '
    | < [^<>"{}|^`\\\x00-\x20]* (?: \\[uU] [^<>"{}|^`\\\x00-\x20]* )* >
    | \#[^\r\n]*
    | \\.
    | \{\|? | \|\} | \}
    | \.(?: (?=[\s\#@<"'\[(]|\Z) | (?<=\s\.)(?=[A-Za-z_:]) )
    ''',
    re.VERBOSE | re.DOTALL,
)
"""Tokens that matter; every alternative begins with a literal, so that `re` finds the next one fast."""
_NOTHING = re.compile(rb"(?:\s+|#[^\r\n]*)*")
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a document, and where it begins.

    too_long    it was cut off at UNIT_BYTES_MAX
    """

    text: bytes
    line: int
    column: int
    too_long: bool = False


class Units:
    """The units of a document, in order. `line` is the line that the last unit ends on."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self.line = 1
        self._column = 1

    def __iter__(self) -> Iterator[Unit | None]:
        """Each unit; None after each block, where the stream may pause."""
        rest = b""
        for block in self._blocks:
            text, start = rest + block, 0
            for end in _ends(text):
                yield from self._unit(text[start:end])
                start = end
            rest = text[start:]
            if len(rest) > UNIT_BYTES_MAX:
                yield from self._unit(rest, too_long=True)
                rest = b""
            yield None
        yield from self._unit(rest)

    def _unit(self, text: bytes, too_long: bool = False) -> Iterator[Unit]:
        nothing = _NOTHING.match(text)
        begin = nothing.end() if nothing else 0
        self._advance(text[:begin])
        if begin < len(text):
            yield Unit(text[begin:], self.line, self._column, too_long)
            self._advance(text[begin:])

    def _advance(self, text: bytes) -> None:
        last = text
        if b"\r" in text:
            lines = _LINE_END.split(text)
            self.line += len(lines) - 1
            self._column, last = (1 if len(lines) > 1 else self._column), lines[-1]
        elif newlines := text.count(b"\n"):
            self.line += newlines
            self._column, last = 1, text[text.rfind(b"\n") + 1 :]
        self._column += len(last.decode(errors="replace"))


def _ends(text: bytes) -> Iterator[int]:
    """The ends of units: after a closing brace or a dot outside braces.

    Graph blocks do not nest: a brace inside a block begins a new unit at the start of its line, and the block before it
    lacks its end.
    """
    begin, inside = 0, False
    for mark in _MARK.finditer(text):
        match mark[0]:
            case b"{":
                line_start = text.rfind(b"\n", 0, mark.start()) + 1
                if inside and line_start > begin:
                    yield line_start
                    begin = line_start
                inside = True
            case b"}":
                inside = False
                begin = mark.end()
                yield begin
            case b".":
                if not inside:
                    begin = mark.end()
                    yield begin
            case b'"""' | b"'''":
                return
