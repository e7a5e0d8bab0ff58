"""Tests of the parts of RDF terms, for terms from outside and for computed ones.

Stricter than a token of N-Triples needs: what is well-formed here is read again by any strict parser.
"""

from __future__ import annotations

from functools import lru_cache

import pyoxigraph as ox

from sparql_gpm.terms import (
    DIRECTIONS,
    IRI,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    TRIPLE_TERM_DEPTH_MAX,
    BlankNode,
    Literal,
    Term,
    TripleTerm,
)

_SHOWN_MAX = 100
"""Characters of what is wrong that a message shows."""


def is_iri(text: str) -> bool:
    """An absolute IRI (RFC 3987)."""
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return True


is_known_iri = lru_cache(maxsize=256)(is_iri)
"""`is_iri`, cached: the IRIs of datatypes are few."""


def is_language(tag: str) -> bool:
    """A language tag (RFC 5646, Section 2.2.9: well-formed)."""
    try:
        ox.Literal("", language=tag)
    except ValueError:
        return False
    return True


def is_text(text: str) -> bool:
    """Characters of Unicode only: a lone surrogate is none."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def fault_of(term: Term) -> str:
    """The reason why a value is no RDF term, in words; "" if it is one. Any label of a blank node passes."""
    if isinstance(term, IRI) and not is_iri(term.value):
        return f"not an absolute IRI: {term.value[:_SHOWN_MAX]!r}"
    if isinstance(term, TripleTerm):
        return _fault_of_triple(term)
    if isinstance(term, Literal):
        datatype, language = term.datatype, term.language
        if not is_text(term.lexical):
            return f"a lone surrogate in {term.lexical[:_SHOWN_MAX]!r}"
        if term.direction not in ("", *DIRECTIONS) or bool(term.direction) != (datatype == RDF_DIR_LANG_STRING):
            return f"not a base direction: {term.direction[:_SHOWN_MAX]!r}"
        if language or datatype in (RDF_LANG_STRING, RDF_DIR_LANG_STRING):
            tagged = datatype in (RDF_LANG_STRING, RDF_DIR_LANG_STRING) and is_language(language) and language.islower()
            return "" if tagged else f"not a language tag: {language[:_SHOWN_MAX]!r}"
        if not is_known_iri(datatype):
            return f"not the IRI of a datatype: {datatype[:_SHOWN_MAX]!r}"
    return ""


def _fault_of_triple(term: TripleTerm) -> str:
    part: Term = term
    for _ in range(TRIPLE_TERM_DEPTH_MAX + 1):
        if not isinstance(part, TripleTerm):
            return fault_of(part)
        if not (isinstance(part.subject, IRI | BlankNode) and isinstance(part.predicate, IRI)):
            return "a subject or predicate of a triple term is of another kind"
        if fault := fault_of(part.subject) or fault_of(part.predicate):
            return fault
        part = part.object
    return f"triple terms more than {TRIPLE_TERM_DEPTH_MAX} deep"
