"""Parses one clause with the grammar; syntax errors are reported in the terms of the language."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from lark import Lark, Token
from lark.exceptions import UnexpectedToken

from arrays.wanted import check_wanted
from automata.plan.expression import Span
from spaseq.lang.build import Build
from spaseq.lang.codes import Code
from spaseq.lang.drafts import Clause
from spaseq.lang.lexemes import CLAUSES, KEYWORDS, RESERVED, UNITS, Lexeme
from spaseq.lang.report import Report, nearest

RULES = {kind: kind.lower() for kind in sorted(CLAUSES)} | {"FROM": "source", "GROUP": "group_by"}
"""The grammar's rule for each kind of lexeme that begins a clause."""

_UNIT = "a unit (MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS or EVENTS)"
_STEP = "a step (a Name, '(' or 'ALL(')"
_OPERATOR = "an operator (',', ';', ':', '|' or '&')"
_PHRASES = {
    "VAR": "a variable", "IRI": "an IRI in < >", "PNAME": "a prefixed name", "NUMBER": "a whole number",
    "STRING": "a dateTime in quotation marks", "DATATYPE": "'^^'", "EXPRESSION": "an expression",
    "CONSTRAINT": "a condition in brackets",
    "MEMBER_SEQ": "SEQ( )", "TIME_LIMIT": "",
    "BODY_OPEN": "'{'", "TEMPLATE_OPEN": "'{'", "LBRACE": "'{'", "RBRACE": "'}'", "STAR": "'*'",
    "REPEAT": "a quantifier ('+', '*', '{n,m}', '?' or '!')", "BANG": "", "QMARK": "", "RPAR": "')'",
    "LPAR": "'('", "COMMA": "','", "SEMICOLON": "';'", "COLON": "':'", **dict.fromkeys(UNITS, _UNIT),
}  # fmt: skip
_TIME_UNITS = dict.fromkeys(UNITS, "a unit of time (MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS)")
_STEPS = dict.fromkeys(("NAME", "ALL", "LPAR"), _STEP)
_OPERATORS = dict.fromkeys(("COMMA", "SEMICOLON", "COLON", "VBAR", "AMPERSAND"), _OPERATOR)
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
    kind = lexemes[0].kind
    parser = _grammar().parse_interactive(start=RULES[kind])
    read: list[Lexeme] = []
    found = following
    try:
        for lexeme in lexemes:
            check_wanted()
            found = lexeme
            parser.feed_token(Token(lexeme.kind, lexeme.text, start_pos=lexeme.span.start, end_pos=lexeme.span.end))
            read.append(lexeme)
        found = following
        clause: Clause = parser.feed_token(Token("$END", "", start_pos=end, end_pos=end))
    except UnexpectedToken:
        expected: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
        _report(kind, expected, found, read, end, report)
        return None
    return clause


@cache
def _grammar() -> Lark:
    text = files("spaseq.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer="basic", start=list(RULES.values()), transformer=Build())


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
        case "REPEAT" | "BAD_REPEAT" if before and before[-1].kind in {"COMMA", "SEMICOLON", "COLON"}:
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
        case "VBAR" | "AMPERSAND" | "SEMICOLON" | "COLON" if clause == "SEQ" and "COMMA" in kinds:
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
