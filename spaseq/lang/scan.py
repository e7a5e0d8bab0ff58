"""Text → lexemes. Embedded SPARQL (GPM bodies, templates, expressions, conditions) is one lexeme a piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from re import Match

from arrays.wanted import check_wanted
from automata.plan.expression import Span
from spaseq.lang import pieces
from spaseq.lang.codes import Code
from spaseq.lang.lexemes import (
    CLAUSES,
    DEFINITION,
    KEYWORDS,
    LIMIT_NUMBER,
    NAME,
    OUTER,
    PUNCTUATION,
    RESERVED,
    SEQUENCE,
    UNITS,
    Lexeme,
)
from spaseq.lang.report import Report, nearest

_DEPTH_MAX = 100
_MISSPELT_MIN = 4
_BEFORE_NAME = {"FROM": frozenset({"STREAM"}), "DEFINE": frozenset({"DEFINE", "GPM", "ON", "COMMA"})}
"""For each clause the lexemes that a Name follows."""


def scan(text: str, report: Report) -> tuple[Lexeme, ...]:
    """All lexemes of a query text; unknown words and brackets never closed are reported."""
    return tuple(_Scanner(text, report).lexemes())


class _Scanner:
    """A lexer with one state, the current clause: it decides what a bracket opens and when a word is a Name."""

    def __init__(self, text: str, report: Report) -> None:
        self._text = text
        self._report = report
        self._offset = 0
        self._clause = ""
        self._previous = ""
        self._recent = ("", "")

    def lexemes(self) -> Iterator[Lexeme]:
        """Every lexeme in order."""
        while match := OUTER.match(self._text, self._offset):
            self._offset = match.end()
            if match.lastgroup == "SPACE":
                continue
            lexeme = self._lexeme(match)
            if lexeme.kind in CLAUSES:
                self._clause = lexeme.kind
            self._recent, self._previous = (self._previous, lexeme.kind), lexeme.kind
            check_wanted()
            yield lexeme
            yield from self._enclosed(lexeme)

    def _enclosed(self, lexeme: Lexeme) -> Iterator[Lexeme]:
        """The lexemes of the other lexicon that a lexeme opens; none for most."""
        match lexeme.kind, self._clause:
            case "SEQ", _:
                yield from self._sequence()
            case "LPAR", "SELECT" | "BIND":
                yield self._piece("EXPRESSION", pieces.expression, lexeme)
            case "FILTER" | "HAVING", _:
                yield from self._constraint(lexeme)
            case "BODY_OPEN", "PARTITION":
                yield self._piece("BODY", pieces.using, lexeme)
            case "BODY_OPEN", _:
                yield self._piece("BODY", pieces.group, lexeme)
            case "TEMPLATE_OPEN", _:
                yield self._piece("TEMPLATE", pieces.template, lexeme)

    def _lexeme(self, match: Match[str]) -> Lexeme:
        kind, text, span = str(match.lastgroup), match.group(), Span(match.start(), match.end())
        match kind:
            case "WORD":
                kind = self._word(text, span)
            case "PUNCTUATION":
                kind = PUNCTUATION[text]
            case "STRING" if self._previous == "VERSION" and text[:3] not in {'"""', "'''"}:
                kind = "_VERSION"
            case "BAD_STRING":
                opening = Span(span.start, span.start + 1)
                self._report.add(Code.UNCLOSED_STRING, opening, "this string is never closed")
            case "BAD_IRI":
                hint = "an IRI stands between < and >, without blanks"
                self._report.add(Code.BAD_IRI, span, f"{text} is not an IRI", hint)
        if kind == "LBRACE" and self._previous == "USING":
            kind = "BODY_OPEN"
        elif kind == "LBRACE":
            kind = {"DEFINE": "BODY_OPEN", "CONSTRUCT": "TEMPLATE_OPEN"}.get(self._clause, kind)
        return Lexeme(kind, text, span)

    def _word(self, text: str, span: Span) -> str:
        """The kind of a word: a Name where one must stand, unless it is reserved."""
        upper = text.upper()
        named = self._previous in _BEFORE_NAME.get(self._clause, frozenset()) or self._skips_to_name()
        if upper in RESERVED:
            structural = (self._previous, upper) == ("DEFINE", "GPM") or DEFINITION.match(self._text, span.start)
            return upper if structural or not named else "RESERVED"
        if named:
            return "NAME" if NAME.fullmatch(text) else "WORD"
        if upper in KEYWORDS:
            return upper
        misspelt = len(text) >= _MISSPELT_MIN
        guess = nearest(text, CLAUSES & KEYWORDS) if misspelt else None
        if guess is None:
            return "WORD"
        self._report.add(Code.UNKNOWN_WORD, span, f"unknown word '{text}'", f"did you mean '{guess}'?")
        return guess

    def _skips_to_name(self) -> bool:
        """True after SKIP TO FIRST and SKIP TO LAST, but not after SKIP PAST LAST."""
        return self._clause == "AFTER" and self._recent in (("TO", "FIRST"), ("TO", "LAST"))

    def _constraint(self, opening: Lexeme) -> Iterator[Lexeme]:
        """The condition after FILTER or HAVING, if there is any text of one."""
        extent = pieces.constraint(self._text, self._offset, self._report)
        if self._text[self._offset : extent.end].strip():
            yield self._enclosing("CONSTRAINT", extent, opening)

    def _piece(self, kind: str, read: Callable[[str, int, Report], pieces.Extent], opening: Lexeme) -> Lexeme:
        """The text from here to the bracket that closes it, as one lexeme."""
        return self._enclosing(kind, read(self._text, self._offset, self._report), opening)

    def _enclosing(self, kind: str, extent: pieces.Extent, opening: Lexeme) -> Lexeme:
        if not extent.closed:
            self._report.add(Code.UNCLOSED_BRACKET, opening.span, f"this '{opening.text}' is never closed")
        span = Span(self._offset, extent.end)
        self._offset = extent.end
        self._previous = kind
        if kind != "EXPRESSION" and extent.closed:
            self._clause = ""
            self._offset += kind != "CONSTRAINT"
        return Lexeme(kind, self._text[span.start : span.end], span, extent.tokens)

    def _sequence(self) -> Iterator[Lexeme]:
        """The lexemes from the parenthesis after SEQ to the one that closes it, or that is nested too deeply."""
        open_parentheses: list[Span] = []
        too_deep = False
        while match := SEQUENCE.match(self._text, self._offset):
            lexeme = self._limit_lexeme() or _sequence_lexeme(match)
            first = not open_parentheses and lexeme is not None
            if lexeme is not None and ((first and lexeme.kind != "LPAR") or _ends_sequence(lexeme, self._text)):
                break
            self._offset = match.end() if lexeme is None else lexeme.span.end
            if lexeme is None:
                continue
            self._previous = lexeme.kind
            if not too_deep:
                yield lexeme
            if lexeme.kind == "LPAR":
                open_parentheses.append(lexeme.span)
            elif lexeme.kind == "RPAR":
                open_parentheses.pop()
            if not open_parentheses:
                return
            if len(open_parentheses) > _DEPTH_MAX and not too_deep:
                message = f"parentheses are nested more than {_DEPTH_MAX} deep"
                self._report.add(Code.TOO_DEEP, lexeme.span, message)
                too_deep = True
        for span in open_parentheses[-1:]:
            self._report.add(Code.UNCLOSED_BRACKET, span, "this '(' is never closed")

    def _limit_lexeme(self) -> Lexeme | None:
        """The number or unit of a limit, where one must stand; None elsewhere."""
        match self._previous:
            case "TIME_LIMIT":
                kind, found = "NUMBER", LIMIT_NUMBER.match(self._text, self._offset)
            case "NUMBER":
                found = NAME.match(self._text, self._offset)
                kind = found.group().upper() if found else ""
                found = found if kind in UNITS else None
            case _:
                return None
        return Lexeme(kind, found.group(), Span(found.start(), found.end())) if found else None


def _ends_sequence(lexeme: Lexeme, text: str) -> bool:
    """True for a lexeme that no sequence has, a brace or DEFINE GPM: the closing parenthesis is missing."""
    return lexeme.kind == "BRACE" or bool(DEFINITION.match(text, lexeme.span.start))


def _sequence_lexeme(match: Match[str]) -> Lexeme | None:
    kind, text = str(match.lastgroup), match.group()
    match kind:
        case "SPACE":
            return None
        case "WORD":
            kind = _sequence_word(text)
        case "PUNCTUATION":
            kind = PUNCTUATION[text]
    return Lexeme(kind, text, Span(match.start(), match.end()))


def _sequence_word(text: str) -> str:
    match text.upper():
        case "ALL":
            return "ALL"
        case "SEQ":
            return "MEMBER_SEQ"
        case "WITHIN":
            return "TIME_LIMIT"
        case upper if upper in RESERVED:
            return "RESERVED"
    return "NAME" if NAME.fullmatch(text) else "WORD"
