"""Terms as SPARQL 1.2 Query Results JSON writes them, read: the inverse of `spaseq.outputs.rows.term_json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparql_gpm.terms import (
    IRI,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    TRIPLE_TERM_DEPTH_MAX,
    XSD_STRING,
    BlankNode,
    Literal,
    Term,
    TripleTerm,
)
from sparql_gpm.well_formed import fault_of

_SHOWN_MAX = 100
"""Characters of a wrong value that a message shows."""


def term_of_json(value: Any) -> Term:
    """The term; raises ValueError for a value that is none."""
    term = _term(value, 0)
    if fault := fault_of(term):
        raise ValueError(fault)
    return term


def _term(value: Any, depth: int) -> Term:
    match value:
        case {"type": "uri", "value": str(text)}:
            return IRI(text)
        case {"type": "bnode", "value": str(text)}:
            return BlankNode(text)
        case {"type": "literal" | "typed-literal", "value": str(text)}:
            return _literal(text, value)
        case {"type": "triple", "value": {"subject": subject, "predicate": predicate, "object": object_}}:
            if depth == TRIPLE_TERM_DEPTH_MAX:
                raise ValueError(f"triple terms are nested more than {TRIPLE_TERM_DEPTH_MAX} deep")
            parts = _term(subject, depth + 1), _term(predicate, depth + 1)
            if isinstance(parts[0], IRI | BlankNode) and isinstance(parts[1], IRI):
                return TripleTerm(parts[0], parts[1], _term(object_, depth + 1))
    raise ValueError(f'{value!r:.{_SHOWN_MAX}} is no term: {{"type": "uri", "value": …}} is one')


def _literal(text: str, value: Mapping[str, Any]) -> Literal:
    language, direction = value.get("xml:lang", ""), value.get("its:dir", "")
    datatype = value.get("datatype", XSD_STRING)
    if not all(isinstance(each, str) for each in (language, direction, datatype)):
        raise ValueError(f"{value!r:.{_SHOWN_MAX}} has a datatype or a language that is no text")
    if language:
        return Literal(text, RDF_DIR_LANG_STRING if direction else RDF_LANG_STRING, language.lower(), direction)
    return Literal(text, datatype)
