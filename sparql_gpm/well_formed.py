"""Tests of the parts of RDF terms, for terms from outside and for computed ones.

Stricter than a token of N-Triples needs: what is well-formed here is read again by any strict parser.
"""

from __future__ import annotations

from functools import lru_cache

import pyoxigraph as ox

from sparql_gpm.terms import IRI, RDF_LANG_STRING, Literal, Term

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
    if isinstance(term, Literal):
        datatype, language = term.datatype, term.language
        if not is_text(term.lexical):
            return f"a lone surrogate in {term.lexical[:_SHOWN_MAX]!r}"
        if language or datatype == RDF_LANG_STRING:
            tagged = datatype == RDF_LANG_STRING and is_language(language) and language.islower()
            return "" if tagged else f"not a language tag: {language[:_SHOWN_MAX]!r}"
        if not is_known_iri(datatype):
            return f"not the IRI of a datatype: {datatype[:_SHOWN_MAX]!r}"
    return ""
