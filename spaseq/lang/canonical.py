"""The canonical text of a query: equal for two texts that differ in nothing but how their tokens are written.

It is the tokens in their order, with one blank between two, without comments and prologue (specification 3.5.3).
Prefixed names and relative IRIs are absolute IRIs, `a` is rdf:type, strings stand in double quotes, variables begin
with `?`, keywords are in upper case and language tags in lower case. The names of variables, steps and streams,
numbers, and everything that may be left out or stand elsewhere stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from automata.plan.expression import Span
from sparql_gpm.syntax.tokens import Token, string_value
from sparql_gpm.terms import ESCAPES, RDF
from spaseq.lang.ast import Query
from spaseq.lang.drafts import Word
from spaseq.lang.iris import Namespace
from spaseq.lang.lexemes import CLAUSES, PIECES, Lexeme
from spaseq.lang.report import Report
from spaseq.lang.scan import scan

_DECLARATIONS = frozenset({"BASE", "PREFIX", "VERSION"})
_BRACED = frozenset({"BODY", "TEMPLATE"})
_AS_WRITTEN = frozenset({"NAME", "WORD", "NUMBER", "DATATYPE"})
_BLANKS = re.compile(r"\s+")
_START = Span(0, 0)


def canonical_text(query: Query) -> str:
    """The canonical text of a parsed query."""
    report = Report(query.text)
    namespace = Namespace(report)
    namespace.base, namespace.prefixes = query.base, dict(query.prefixes)
    return " ".join(_tokens(scan(query.text, report), namespace))


def _tokens(lexemes: Sequence[Lexeme], namespace: Namespace) -> Iterator[str]:
    clause = ""
    for lexeme in lexemes:
        clause = lexeme.kind if lexeme.kind in CLAUSES else clause
        if clause in _DECLARATIONS:
            continue
        match lexeme.kind:
            case kind if kind in PIECES:
                yield from _sparql(lexeme.tokens, namespace)
                if kind in _BRACED:
                    yield "}"
            case kind if kind in _AS_WRITTEN:
                yield lexeme.text
            case "REPEAT":
                yield _BLANKS.sub("", lexeme.text)
            case kind:
                yield _token(kind.lower(), lexeme.text, namespace)


def _sparql(read: Sequence[Token], namespace: Namespace) -> Iterator[str]:
    for token in read:
        if token.kind == "word" and token.text == "a":
            yield f"<{RDF}type>"
        else:
            yield _token(token.kind, token.text, namespace)


def _token(kind: str, text: str, namespace: Namespace) -> str:
    """One token; the kinds are those of SPARQL, and keywords and signs of the outer language."""
    match kind:
        case "iri" | "pname":
            return f"<{namespace.expand(Word(text, _START))}>"
        case "string":
            return f'"{string_value(text).translate(ESCAPES)}"'
        case "variable" | "var":
            return f"?{text[1:]}"
        case "langtag":
            return text.lower()
        case "bnode" | "integer" | "decimal" | "double":
            return text
    return text.upper()
