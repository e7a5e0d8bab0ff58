"""Canonical N-Triples of terms, written and read."""

from __future__ import annotations

import re

from sparql_gpm.terms import (
    ESCAPES,
    IRI,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    XSD_STRING,
    BlankNode,
    Literal,
    Term,
    TripleTerm,
    relabelled,
)

_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@(.*?)(?:--(ltr|rtl))?|\^\^<(.*)>)?', re.DOTALL)
_PART = re.compile(r'<<\(|\)>>|<[^>]*>|_:[^ ]*|"(?:[^"\\]++|\\.)*+"(?:@[^ ]*|\^\^<[^>]*>)?', re.DOTALL)
"""The parts of a triple term: its brackets and terms."""
_ESCAPE = re.compile(r"\\(.)")
_MEANINGS = {"n": "\n", "r": "\r"}


def canonical_token(term: Term) -> bytes:
    """The canonical N-Triples text of a term, which `term_of` reads; for people and other programs: `to_ntriples`."""
    match term:
        case IRI(value):
            text = f"<{value}>"
        case BlankNode(label):
            text = f"_:{label}"
        case Literal(lexical, datatype, language, direction):
            quoted = f'"{lexical.translate(ESCAPES)}"'
            tail = f"@{language}" if language else "" if datatype == XSD_STRING else f"^^<{datatype}>"
            text = f"{quoted}{tail}--{direction}" if direction else quoted + tail
        case TripleTerm():
            parts = (canonical_token(part) for part in (term.subject, term.predicate, term.object))
            return b"<<( %b )>>" % b" ".join(parts)
    return text.encode("utf-8", errors="surrogatepass")


def with_suffix(token: bytes, suffix: str) -> bytes:
    """The canonical token of a term with other labels of its blank nodes: they end in the suffix."""
    if token.startswith(b"_"):
        return token + suffix.encode()
    return canonical_token(relabelled(term_of(token), lambda label: label + suffix))


def term_of(token: bytes) -> Term:
    """The term of a canonical token."""
    return _term_of(token.decode("utf-8", errors="surrogatepass"))


def _term_of(text: str) -> Term:
    match text[0]:
        case "<" if text.startswith("<<("):
            return _triple_term(_PART.findall(text))
        case "<":
            return IRI(text[1:-1])
        case "_":
            return BlankNode(text[2:])
    found = _LITERAL.fullmatch(text)
    assert found is not None, text
    lexical, language, direction, datatype = found.groups()
    if "\\" in lexical:
        lexical = _ESCAPE.sub(lambda escape: _MEANINGS.get(escape[1], escape[1]), lexical)
    if language is not None:
        return Literal(lexical, RDF_DIR_LANG_STRING if direction else RDF_LANG_STRING, language, direction or "")
    return Literal(lexical, datatype if datatype is not None else XSD_STRING)


def _triple_term(parts: list[str]) -> TripleTerm:
    """The triple term of these parts; only the object can be another one, so it ends where all of them end."""
    _, first, second, third, *_ = parts
    subject, predicate = _term_of(first), _term_of(second)
    assert isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI), parts
    return TripleTerm(subject, predicate, _triple_term(parts[3:-1]) if third == "<<(" else _term_of(third))
