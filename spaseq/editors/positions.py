"""Places in a text: offsets in code points, lines and columns of problems, and positions of LSP."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from spaseq.errors import Problem

_LINE_END = re.compile(r"\r\n|\r|\n")
_BYTES = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""The unit in which a client counts the characters of a line; LSP's default is UTF-16."""


@dataclass(frozen=True, slots=True)
class Place:
    """A position of LSP: the line and the character in it, in the client's units, both from 0."""

    line: int
    character: int


class Places:
    """The positions of a text; its lines end as LSP has it, with a line feed, a carriage return or both."""

    def __init__(self, text: str, encoding: Encoding = "utf-16") -> None:
        self._text = text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
        self._encoding, self._bytes = f"{encoding}-le" if encoding != "utf-8" else encoding, _BYTES[encoding]

    def place(self, offset: int) -> Place:
        """The position of an offset."""
        line = bisect_right(self._starts, offset) - 1
        return Place(line, self._units(self._text[self._starts[line] : offset]))

    def offset(self, place: Place) -> int:
        """The offset of a position; behind the end of a line it is that end."""
        if place.line >= len(self._starts):
            return len(self._text)
        start = self._starts[place.line]
        end = self._starts[place.line + 1] if place.line + 1 < len(self._starts) else len(self._text)
        line = self._text[start:end].rstrip("\r\n")
        taken = 0
        for index, character in enumerate(line):
            if taken >= place.character:
                return start + index
            taken += self._units(character)
        return start + len(line)

    def length(self, start: int, end: int) -> int:
        """The length of a piece of one line, in the client's units."""
        return self._units(self._text[start:end])

    def pieces(self, start: int, end: int) -> list[tuple[int, int]]:
        """The part of each line in [start, end), without line ends and empty parts."""
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, max(start, end - 1)) - 1
        found = []
        for line in range(first, last + 1):
            begin = max(start, self._starts[line])
            stop = min(end, self._starts[line + 1]) if line + 1 < len(self._starts) else end
            found.append((begin, begin + len(self._text[begin:stop].rstrip("\r\n"))))
        return [piece for piece in found if piece[0] < piece[1]]

    def _units(self, piece: str) -> int:
        return len(piece.encode(self._encoding, "surrogatepass")) // self._bytes


def span_of(problem: Problem, text: str) -> tuple[int, int]:
    """The offsets of a problem, whose lines are those of `str.splitlines`."""
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    start = min(starts[min(problem.line - 1, len(starts) - 1)] + problem.column - 1, len(text))
    return start, min(start + problem.length, len(text))
