"""Parses one clause with the grammar; syntax errors are reported in the terms of the language.

A piece of SPARQL with an error is reported by itself, and the rest of its clause is read as if it were right.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedToken
from lark.parsers.lalr_parser_state import ParserState

from arrays.wanted import check_wanted
from automata.plan.expression import Span
from sparql_gpm.errors import PatternSyntaxError
from sparql_gpm.syntax.grammar import TokenLexer, check_brackets, glued, grammar_text, unexpected
from sparql_gpm.syntax.tokens import Token
from spaseq.lang import query_cache
from spaseq.lang.build import Build
from spaseq.lang.codes import Code
from spaseq.lang.drafts import Clause
from spaseq.lang.faults import report_fault
from spaseq.lang.lexemes import CLAUSES, KEYWORDS, PIECES, PUNCTUATION, RESERVED, UNITS, Lexeme
from spaseq.lang.report import Report, nearest
from spaseq.lang.signs import CONTIGUITIES, SEQUENCE_SIGNS, Use, terminals

RULES = {kind: f"{kind.lower()}_clause" for kind in sorted(CLAUSES)}
"""The grammar's rule for each kind of lexeme that begins a clause."""

_BRACE = PUNCTUATION["}"]
_BRACED = frozenset({"BODY", "TEMPLATE"})
_ENDS = {**dict.fromkeys(_BRACED, _BRACE), "EXPRESSION": "AS", "CONSTRAINT": "$END"}
"""The terminal after a piece that is whole."""


def _terminals(*uses: Use) -> list[str]:
    return [sign.terminal for sign in SEQUENCE_SIGNS.values() if sign.use in uses]


def _listed(*uses: Use) -> str:
    """The signs with these uses, as a message names them."""
    *signs, last = (f"'{sign.text}'" for sign in SEQUENCE_SIGNS.values() if sign.use in uses)
    return f"{', '.join(signs)} or {last}"


_UNIT = "a unit (MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS or EVENTS)"
_STEP = "a step (a Name, '(' or 'ALL(')"
_OPERATOR = f"an operator ({_listed(Use.CONTIGUITY, Use.OPERATOR)})"
_PHRASES = {
    "VAR": "a variable", "IRI": "an IRI in < >", "PNAME": "a prefixed name", "NUMBER": "a whole number",
    "STRING": "a dateTime in quotation marks", "DATATYPE": "'^^'", "EXPRESSION": "an expression",
    "_VERSION": 'a version such as "1.2"',
    "CONSTRAINT": "a condition in brackets",
    "MEMBER_SEQ": "SEQ( )", "TIME_LIMIT": "",
    **{kind: f"'{sign}'" for sign, kind in PUNCTUATION.items()}, "BODY_OPEN": "'{'", "TEMPLATE_OPEN": "'{'",
    "REPEAT": f"a quantifier ('+', '*', '{{n,m}}', {_listed(Use.QUANTIFIER)})",
    **dict.fromkeys(_terminals(Use.QUANTIFIER), ""), **dict.fromkeys(UNITS, _UNIT),
}  # fmt: skip
_TIME_UNITS = dict.fromkeys(UNITS, "a unit of time (MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS)")
_STEPS = dict.fromkeys(("NAME", "ALL", "LPAR"), _STEP)
_OPERATORS = dict.fromkeys(_terminals(Use.CONTIGUITY, Use.OPERATOR), _OPERATOR)
_NAME_HINT = (
    "a Name is letters A-Z, digits and _, not beginning with a digit, and none of SEQ, ALL, DEFINE, GPM, ON, WITHIN"
)
_UNITS_ELSEWHERE = {
    **dict.fromkeys(("MS", "MILLI", "MILLIS"), "MILLISECONDS"), **dict.fromkeys(("S", "SEC", "SECS"), "SECONDS"),
    **dict.fromkeys(("M", "MIN", "MINS"), "MINUTES"), **dict.fromkeys(("H", "HR", "HRS"), "HOURS"), "D": "DAYS",
    **dict.fromkeys(("WEEK", "WEEKS"), "DAYS, 7 for a week"), **dict.fromkeys(("MONTH", "MONTHS"), "DAYS"),
    **dict.fromkeys(("YEAR", "YEARS"), "DAYS"),
}  # fmt: skip
"""The units of other languages, and what to write for them."""
_CLAUSES_ELSEWHERE = {
    "ORDER": "rows come in the order of their times; ORDER BY stands in a sub-SELECT of a GPM only",
}
"""The clauses of SPARQL that a query has in its sub-SELECTs alone."""
_UNKNOWN_KINDS = frozenset({"UNKNOWN", "WORD", "BAD_STRING", "BAD_IRI", "BAD_REPEAT"})


def parse_clause(lexemes: Sequence[Lexeme], following: Lexeme | None, end: int, report: Report) -> Clause | None:
    """The clause of these lexemes, or None after reporting its syntax error.

    following   the lexeme after the clause, None at the end of the query, which is at offset `end`
    """
    return _ClauseParser(lexemes, following, end, report).clause()


class _ClauseParser:
    """The parser's state, in one clause.

    `_begun` is the piece that has just been fed, and the state before it: the token after it tells if it is whole.
    """

    def __init__(self, lexemes: Sequence[Lexeme], following: Lexeme | None, end: int, report: Report) -> None:
        self._lexemes = lexemes
        self._following = following
        self._end = end
        self._report = report
        self._kind = lexemes[0].kind
        self._parser = _grammar().parse_interactive(start=RULES[self._kind])
        self._begun: tuple[Lexeme, ParserState[Any]] | None = None

    def clause(self) -> Clause | None:
        """The whole of it."""
        read = 0
        try:
            for lexeme, after in pairwise((*self._lexemes, self._following)):
                assert lexeme is not None
                check_wanted()
                self._feed(lexeme)
                if lexeme.kind in PIECES:
                    self._piece(lexeme, after)
                read += 1
            clause: Clause = self._feed(Lexeme("$END", "", Span(self._end, self._end)))
            return clause
        except UnexpectedToken:
            found = self._lexemes[read] if read < len(self._lexemes) else self._following
            _report(self._kind, self._accepted(), found, self._lexemes[:read], self._end, self._report)
            return None

    def _feed(self, lexeme: Lexeme) -> Any:
        """Feeds a lexeme; a piece before it that cannot end there is replaced."""
        begun, self._begun = self._begun, None
        try:
            return self._parser.feed_token(lexeme)  # type: ignore[arg-type]
        except UnexpectedToken:
            if begun is None or _ENDS[begun[0].kind] in (accepted := self._accepted()):
                raise
            piece, before = begun
            found = Token("", lexeme.text, lexeme.span.start, lexeme.span.end, lexeme.kind)
            report_fault(unexpected(found, accepted), piece, self._report)
            self._replace(before)
        return self._parser.feed_token(lexeme)  # type: ignore[arg-type]

    def _piece(self, piece: Lexeme, after: Lexeme | None) -> None:
        """Feeds the tokens of a piece, or FAULTY after reporting its error; and the brace after it."""
        closed = after is None or after.span.start > piece.span.end
        end = after.text if after is not None and not closed else "}"
        before = self._parser.parser_state.copy(deepcopy_values=False)
        try:
            if self._report.error_within(piece.span):
                self._replace(before)
            else:
                check_brackets(piece.tokens, piece.span.end)
                for token in glued(piece.tokens):
                    check_wanted()
                    self._parser.feed_token(token)  # type: ignore[arg-type]
                self._begun = piece, before
        except UnexpectedToken:
            report_fault(unexpected(token, self._accepted()), piece, self._report, end)
            self._replace(before)
        except PatternSyntaxError as error:
            report_fault(error, piece, self._report, end)
            self._replace(before)
        if piece.kind in _BRACED:
            self._feed(Lexeme(_BRACE, end, Span(piece.span.end, piece.span.end + len(end))))

    def _replace(self, before: ParserState[Any]) -> None:
        """Has FAULTY in place of all that was read since."""
        self._parser.parser_state = before
        self._parser.feed_token(Lexeme("FAULTY", "", Span(0, 0)))  # type: ignore[arg-type]

    def _accepted(self) -> set[str]:
        accepted: set[str] = self._parser.accepts()  # type: ignore[no-untyped-call]
        return accepted


@cache
def _grammar() -> Lark:
    text = files("spaseq.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        "\n".join((grammar_text(), text, terminals())), parser="lalr", lexer=TokenLexer, start=list(RULES.values()),
        transformer=Build(), cache=query_cache.tables(),
    )  # fmt: skip


def _report(
    clause: str, kinds: set[str], found: Lexeme | None, before: Sequence[Lexeme], end: int, report: Report
) -> None:
    """Reports one syntax error, unless `found` is no token and has been reported as such."""
    span = found.span if found else Span(end, end + 1)
    if found and found.kind in _UNKNOWN_KINDS and report.error_within(span):
        return
    if clause in {"SEQ", "SELECT"} and _cut_short(found, before, report):
        return
    phrases = _phrases(clause, kinds)
    what = f"'{found.text}'" if found else "the end of the query"
    message = f"expected {_alternatives(phrases)}, found {what}" if phrases else f"{what} is not expected here"
    report.add(Code.SYNTAX, span, message, _hint(clause, kinds, found, before))


def _cut_short(found: Lexeme | None, before: Sequence[Lexeme], report: Report) -> bool:
    """True if the clause ends early because of a parenthesis that has been reported as never closed."""
    ended = found is None or found.kind in CLAUSES
    return ended and report.error_within(Span(before[0].span.start, before[-1].span.end))


def _phrases(clause: str, kinds: set[str]) -> list[str]:
    """The names of the kinds, each once, keywords last."""
    words = _PHRASES
    if clause == "SEQ":
        words = words | _TIME_UNITS | (_STEPS if "NAME" in kinds else {}) | (_OPERATORS if "SEMICOLON" in kinds else {})
    else:
        words = words | {"NAME": "a Name"}
    named = {words.get(kind, kind) for kind in kinds - {"$END"}}
    return sorted(named - {""}, key=lambda phrase: (phrase.isupper(), phrase))


def _alternatives(phrases: Sequence[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def _hint(clause: str, kinds: set[str], found: Lexeme | None, before: Sequence[Lexeme]) -> str:
    """A hint for a common mistake, else ""."""
    if found is None:
        return "name the expression: (… AS ?name)" if kinds == {"AS"} else ""
    if elsewhere := _elsewhere(clause, kinds, found, before):
        return elsewhere
    reserved = found.text.upper() in RESERVED
    match found.kind:
        case "REPEAT" | "BAD_REPEAT" if before and before[-1].text in CONTIGUITIES:
            return f"a quantifier and its contiguity are written without a blank: '{before[-1].text}{found.text}'"
        case "REPEAT" | "QMARK" | "BANG" if before and before[-1].kind in {"REPEAT", "QMARK", "BANG"}:
            if found.text == "+" and before[-1].kind == "REPEAT":
                return f"a second '+' is written without a blank: '{before[-1].text}+'"
            return "a step has one quantifier; put the first one and its step in parentheses"
        case "BAD_REPEAT":
            return "quantifiers are +, *, ?, !, {n}, {n,} and {n,m}"
        case _ if "NAME" in kinds and (reserved or found.kind == "WORD"):
            return _NAME_HINT
        case "WORD" if "VAR" in kinds:
            return f"did you mean '?{found.text}'?"
        case "WORD":
            guess = nearest(found.text, kinds & KEYWORDS)
            return f"did you mean '{guess}'?" if guess else ""
        case kind if kind in _OPERATORS and clause == "SEQ" and "COMMA" in kinds:
            return "inside of ALL( ), write SEQ( ) around a sequence, ( ) around a choice or conjunction"
        case "RPAR" if clause == "SEQ" and "COMMA" in kinds:
            return "ALL( ) has two members or more"
    return "name the expression: (… AS ?name)" if kinds == {"AS"} else ""


def _elsewhere(clause: str, kinds: set[str], found: Lexeme, before: Sequence[Lexeme]) -> str:
    """A hint for what other languages write, else ""."""
    word = found.text.upper()
    match clause:
        case "SEQ" if word in {"-", "="}:
            return "';' takes the next event that fits, ',' the very next one, ':' any later one"
        case "SEQ" if word in {"&", "|"} and before and before[-1].text == word:
            return f"'{word}' is written once"
        case "SEQ" if word == "!" and "NAME" in kinds:
            return "'!' stands after what is absent: B!"
        case "SEQ" if "NUMBER" in kinds:
            return "write a whole number and a unit of time: WITHIN 10 MINUTES"
        case "SEQ" if "MINUTES" in kinds and word in {"EVENT", "EVENTS"}:
            return "a limit is a time; WITHIN n EVENTS is a window"
        case "SEQ" if "MINUTES" in kinds and word in _UNITS_ELSEWHERE:
            return f"write {_UNITS_ELSEWHERE[word]}"
        case "SEQ" if found.kind == "NAME" and before and before[-1].text.upper() == "NOT":
            return f"the absence of events is written with '!': {found.text}!"
        case "SEQ" if found.kind in {"NAME", "LPAR", "ALL"} and "SEMICOLON" in kinds:
            return "an operator stands between every two steps: ',' ';' or ':'"
        case "FROM" if word == "[":
            return "WITHIN says how long a window is: WITHIN 10 MINUTES SLIDING"
        case "GROUP" if word == "(":
            return "compute the value with BIND beside the DEFINEs, and write GROUP BY ?variable"
        case "WITHIN" if word in {"SLIDE", "STEP", "HOP", "ADVANCE"}:
            return "EVERY 5 MINUTES is the hop, under OVER MATCHES; with SLIDING a window begins with each match"
        case "WITHIN" if "NUMBER" in kinds:
            return "write a whole number and a unit: 10 MINUTES"
        case "WITHIN" if "MINUTES" in kinds and word in _UNITS_ELSEWHERE:
            return f"write {_UNITS_ELSEWHERE[word]}"
    return "" if clause == "SEQ" else _CLAUSES_ELSEWHERE.get(word, "")
