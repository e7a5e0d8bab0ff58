"""Errors in pieces of SPARQL, as problems of the query."""

from __future__ import annotations

from automata.plan.expression import Span
from sparql_gpm.errors import Fault, PatternSyntaxError
from spaseq.lang.codes import Code
from spaseq.lang.drafts import Piece
from spaseq.lang.lexemes import Lexeme
from spaseq.lang.report import Report

_CODES = {
    Fault.SYNTAX: Code.SPARQL_SYNTAX,
    Fault.IRI: Code.BAD_IRI,
    Fault.DEPTH: Code.TOO_DEEP,
    Fault.SCOPE: Code.ALREADY_BOUND,
    Fault.AGGREGATE: Code.AGGREGATE_PLACE,
}

_ELSEWHERE = {
    "<>": "'is not equal' is written !=, and <> is an IRI relative to BASE", "=": "'is equal' is written =",
    "AND": "'and' is written &&", "OR": "'or' is written ||", "IS": "a test for a value is BOUND(?v), or !BOUND(?v)",
    "GROUP": "in a GPM GROUP BY stands in a sub-SELECT; that of matches stands after the last '}'",
    "HAVING": "in a GPM HAVING stands in a sub-SELECT; that of groups of matches stands after the last '}'",
    "ORDER": "rows come in the order of their times; ORDER BY stands in a sub-SELECT of a GPM only",
}  # fmt: skip
"""The words and signs of other languages at which a graph pattern or expression breaks off, and what to write."""
_END = "the end"
"""The name that the parser of a piece gives to the text after the piece."""


def report_fault(error: PatternSyntaxError, piece: Piece | Lexeme, report: Report, after: str = "") -> None:
    """Reports an error in a piece; `after` is the word or bracket that ends it."""
    start = error.offset
    found = next((token for token in piece.tokens if token.start == start), None)
    message = error.message
    if after and start >= piece.span.end and message.endswith(_END):
        message = message.removesuffix(_END) + f"'{after}'"
    hint = _ELSEWHERE.get(found.text.upper() if found else "") or error.hint
    report.add(_CODES[error.fault], Span(start, found.end if found else start + 1), message, hint)
