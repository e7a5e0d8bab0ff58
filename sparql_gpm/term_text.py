"""Canonical N-Triples of terms, written and read."""

from __future__ import annotations

import re

from sparql_gpm.terms import ESCAPES, IRI, RDF_LANG_STRING, XSD_STRING, BlankNode, Literal, Term

_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@(.*)|\^\^<(.*)>)?', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)")
_MEANINGS = {"n": "\n", "r": "\r"}


def canonical_token(term: Term) -> bytes:
    """The canonical N-Triples text of a term, which `term_of` reads; for people and other programs: `to_ntriples`."""
    match term:
        case IRI(value):
            text = f"<{value}>"
        case BlankNode(label):
            text = f"_:{label}"
        case Literal(lexical, datatype, language):
            quoted = f'"{lexical.translate(ESCAPES)}"'
            tail = f"@{language}" if language else "" if datatype == XSD_STRING else f"^^<{datatype}>"
            text = quoted + tail
    return text.encode("utf-8", errors="surrogatepass")


def term_of(token: bytes) -> Term:
    """The term of a canonical token."""
    text = token.decode("utf-8", errors="surrogatepass")
    match text[0]:
        case "<":
            return IRI(text[1:-1])
        case "_":
            return BlankNode(text[2:])
    found = _LITERAL.fullmatch(text)
    assert found is not None, text
    lexical, language, datatype = found.groups()
    if "\\" in lexical:
        lexical = _ESCAPE.sub(lambda escape: _MEANINGS.get(escape[1], escape[1]), lexical)
    if language is not None:
        return Literal(lexical, RDF_LANG_STRING, language)
    return Literal(lexical, datatype if datatype is not None else XSD_STRING)
