"""Queries in the one format: keywords in upper case, a line for each clause, blanks and indentation by rule.

The lines of SELECT, of SEQ( ) and inside brackets stay where they were written, so that the author's grouping is kept;
brackets with a break in them stand at the ends of lines. Comments stay where they are. Tokens never change but in the
case of words and the blanks inside of quantifiers, so a formatted query has the meaning of the query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sparql_gpm.syntax.signs import CLOSING
from spaseq.editors.classify import classified
from spaseq.editors.kinds import Kind
from spaseq.errors import Problem
from spaseq.lang.codes import Code
from spaseq.lang.lexemes import CLAUSES
from spaseq.lang.parse import check
from spaseq.lang.report import Report
from spaseq.lang.scan import scan

_INDENT = "  "
_OLD_LINE_END = re.compile(r"\r(?!\n)")
_SPACED = frozenset({"~", "=", "!=", "<", ">", "<=", ">=", "&&", "||"})
_ONE_LINE = frozenset({
    "BASE", "PREFIX", "REGISTER", "WITHIN", "PARTITION", "FROM", "WHERE", "DEFINE", "GROUP", "AFTER", "LIMIT",
})  # fmt: skip
"""The clauses whose own words stand on one line."""
_HINDERING = frozenset(
    kind.code
    for kind in (
        Code.EMPTY_QUERY, Code.SYNTAX, Code.UNKNOWN_WORD, Code.UNCLOSED_STRING, Code.UNCLOSED_BRACKET, Code.BAD_IRI,
        Code.UNEXPECTED_CHARACTER, Code.TOO_DEEP, Code.SPARQL_SYNTAX, Code.FOREIGN,
    )
)  # fmt: skip
"""The problems of a text that is not formatted: its tokens are not known."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A token as the format writes it.

    gap     the blanks between it and the token before
    clause  the kind of the clause that it begins, else ""
    within  the kind of the clause that it stands in
    """

    kind: Kind
    text: str
    gap: str
    clause: str
    within: str

    @property
    def broken(self) -> bool:
        """True if it stands on another line than the token before."""
        return "\n" in self.gap

    @property
    def opens(self) -> bool:
        """True for an opening bracket."""
        return self.kind is Kind.BRACKET and self.text in CLOSING


def hindrances(text: str) -> tuple[Problem, ...]:
    """The problems for which a text cannot be formatted; other errors do not matter."""
    return tuple(problem for problem in check(text)[1] if problem.code in _HINDERING)


def formatted(text: str) -> str:
    """The text of a query without hindrances in the one format; a text in the format stays as it is.

    Lines end as the first one does outside of the tokens: with a line feed, or a carriage return before it.
    """
    pieces = tuple(_pieces(text))
    return "".join(_Writer(pieces, _line_end(pieces, text)).parts())


def _line_end(pieces: Sequence[Piece], text: str) -> str:
    """The first end of a line between tokens, or after them."""
    gaps = [*(piece.gap for piece in pieces[1:] if piece.broken), text[len(text.rstrip()) :]]
    return "\r\n" if gaps[0].partition("\n")[0].endswith("\r") else "\n"


def _pieces(text: str) -> Iterator[Piece]:
    lexemes = scan(text, Report(text))
    clauses = {lexeme.span.start: lexeme.kind for lexeme in lexemes if lexeme.kind in CLAUSES}
    end, within = 0, ""
    for token in classified(text, lexemes):
        clause = clauses.get(token.start, "")
        within = clause or within
        gap = _OLD_LINE_END.sub("\n", text[end : token.start])
        yield Piece(token.kind, _spelt(token.kind, text[token.start : token.end]), gap, clause, within)
        end = token.end


def _spelt(kind: Kind, text: str) -> str:
    match kind:
        case Kind.KEYWORD if text != "a":
            return text.upper()
        case Kind.FUNCTION if text.islower():
            return text.upper()
        case Kind.CONSTANT:
            return text.lower()
        case Kind.QUANTIFIER:
            return re.sub(r"\s", "", text)
        case Kind.COMMENT:
            return text.rstrip()
    return text


@dataclass(frozen=True, slots=True)
class _Bracket:
    """An open bracket.

    indent  of its line
    lines   True if its content has lines of its own
    of_all  True after ALL
    """

    sign: str
    indent: int
    lines: bool
    of_all: bool


class _Writer:
    """One pass over the pieces, with the brackets that are open and the indentation of the line.

    `_begun` is the indentation of the clause, `_outer` the number of brackets around it.
    """

    def __init__(self, pieces: Sequence[Piece], line_end: str) -> None:
        self._pieces = pieces
        self._line_end = line_end
        self._broken = _broken_groups(pieces)
        self._earlier = _neighbours(pieces)
        self._later = _neighbours(pieces[::-1])[::-1]
        self._open: list[_Bracket] = []
        self._indent = self._begun = self._outer = 0

    def parts(self) -> Iterator[str]:
        """The text in parts."""
        before: Piece | None = None
        for index, piece in enumerate(self._pieces):
            closed = self._close(piece)
            if before is not None:
                yield self._between(before, index, closed)
            yield piece.text
            if piece.clause:
                self._begun, self._outer = self._indent, len(self._open)
            if piece.opens:
                of_all = before is not None and before.text == "ALL" and piece.within == "SEQ"
                self._open.append(_Bracket(piece.text, self._indent, index in self._broken, of_all))
            before = piece
        yield self._line_end

    def _close(self, piece: Piece) -> _Bracket | None:
        """The bracket that a piece closes."""
        closes = piece.kind is Kind.BRACKET and self._open and piece.text == CLOSING[self._open[-1].sign]
        return self._open.pop() if closes else None

    def _between(self, before: Piece, index: int, closed: _Bracket | None) -> str:
        """The text before a piece; where a line ends there, the indentation of the next one is kept."""
        piece = self._pieces[index]
        if not self._breaks(before, piece, closed):
            return "  " if piece.kind is Kind.COMMENT else " " if self._blank(before, piece) else ""
        self._indent = closed.indent if closed else self._indentation(index)
        empty = self._line_end if piece.gap.count("\n") > 1 and closed is None and not before.opens else ""
        return f"{self._line_end}{empty}{_INDENT * self._indent}"

    def _breaks(self, before: Piece, piece: Piece, closed: _Bracket | None) -> bool:
        """True if a piece begins a line."""
        if before.kind is Kind.COMMENT:
            return True
        if piece.kind is Kind.COMMENT:
            return piece.broken
        if piece.clause:
            return not (piece.clause == "LBRACE" and before.clause == "WHERE")
        if closed is not None:
            return closed.lines
        if before.opens:
            return self._open[-1].lines
        if self._is_header(piece) or (piece.text == "{" and before.kind is Kind.KEYWORD):
            return False
        return piece.broken and self._blank(before, piece)

    def _is_header(self, piece: Piece) -> bool:
        """True for the own words of a clause that stands on one line."""
        return piece.within in _ONE_LINE and len(self._open) == self._outer

    def _indentation(self, index: int) -> int:
        """The indentation of a line that begins with a piece; that of a comment is that of what follows it."""
        around = self._open[-1].indent + 1 if self._open else 0
        following = self._later[index]
        if following is None or following.clause or following.text in CLOSING.values():
            return around
        if len(self._open) == self._outer:
            return self._begun + 1
        earlier = self._earlier[index - 1]
        assert earlier is not None, self._pieces[:index]
        return around + (self._open[-1].sign == "{" and _continues(earlier, following))

    def _blank(self, before: Piece, piece: Piece) -> bool:
        """True if a blank stands between two pieces of one line."""
        if piece.kind is Kind.CONTIGUITY:
            return piece.text != "," or not self._open[-1].of_all
        if before.kind is Kind.BRACKET or piece.kind is Kind.BRACKET:
            return _blank_at_bracket(before, piece)
        in_parentheses = bool(self._open) and self._open[-1].sign == "("
        match piece.kind:
            case Kind.QUANTIFIER | Kind.LANGUAGE:
                return False
            case Kind.PUNCTUATION if piece.text in {",", "^^"} or (piece.text == ";" and in_parentheses):
                return False
        if before.text == "^^" and before.kind is Kind.PUNCTUATION:
            return False
        if Kind.OPERATOR in (before.kind, piece.kind):
            return _blank_at_operator(before, piece)
        return True


def _blank_at_bracket(before: Piece, piece: Piece) -> bool:
    """True if a blank stands beside a bracket: not inside of parentheses, nor before those of a call."""
    if piece.kind is Kind.QUANTIFIER or piece.text in {",", "^^"}:
        return False
    if before.opens and (before.text == "(" or piece.text == CLOSING[before.text]):
        return False
    match before.kind, piece.text:
        case _, ")":
            return False
        case Kind.FUNCTION, "(":
            return False
        case Kind.KEYWORD, "(":
            return not (before.text in {"SEQ", "ALL"} and before.within == "SEQ")
        case Kind.IRI | Kind.PREFIXED | Kind.OPERATOR, "(":
            return _blank_at_operator(before, piece)
    if piece.kind is Kind.OPERATOR:
        return _blank_at_operator(before, piece)
    return True


def _blank_at_operator(before: Piece, piece: Piece) -> bool:
    """True if a blank stands beside an operator, or before what may be a list or a call: as it is written."""
    if any(each.kind is Kind.OPERATOR and (each.text in _SPACED or each.within == "SEQ") for each in (before, piece)):
        return True
    return bool(piece.gap) or (before.kind is Kind.KEYWORD and before.text != "a")


def _continues(before: Piece, piece: Piece) -> bool:
    """True for a line of a group that goes on with what the line before began."""
    if before.kind in {Kind.OPERATOR, Kind.KEYWORD} and before.text != "UNDEF":
        return True
    return before.text in {";", ","} or piece.text in {";", ","} or piece.kind is Kind.OPERATOR


def _neighbours(pieces: Iterable[Piece]) -> list[Piece | None]:
    """For each piece it or the last one before it that is no comment."""
    found: list[Piece | None] = []
    last: Piece | None = None
    for piece in pieces:
        last = last if piece.kind is Kind.COMMENT else piece
        found.append(last)
    return found


def _broken_groups(pieces: Sequence[Piece]) -> frozenset[int]:
    """The places of the opening brackets whose content has several lines, that of WHERE always."""
    opened: list[int] = []
    broken: set[int] = set()
    for index, piece in enumerate(pieces):
        if piece.broken or piece.kind is Kind.COMMENT:
            broken.update(opened)
        if piece.clause == "LBRACE":
            broken.add(index)
        if piece.opens:
            opened.append(index)
        elif piece.kind is Kind.BRACKET and opened:
            opened.pop()
    return frozenset(broken)
