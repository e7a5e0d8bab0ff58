"""Terms of rdflib and pyoxigraph as ours, without importing either."""

from __future__ import annotations

from typing import Any

from sparql_gpm.terms import IRI, RDF_LANG_STRING, XSD_STRING, BlankNode, Literal, Term


def own_term(term: Any) -> Term:
    """The term as one of ours; raises TypeError for what is no RDF term of a known library."""
    if isinstance(term, IRI | BlankNode | Literal):
        return term
    match type(term).__name__:
        case "NamedNode":
            return IRI(term.value)
        case "URIRef":
            return IRI(str(term))
        case "BlankNode":
            return BlankNode(term.value)
        case "BNode":
            return BlankNode(str(term))
        case "Literal" if hasattr(term, "value") and isinstance(term.value, str) and not isinstance(term, str):
            return _literal(term.value, term.datatype.value, term.language)
        case "Literal" if isinstance(term, str):
            return _literal(str(term), getattr(term, "datatype", None), getattr(term, "language", None))
    raise TypeError(
        f"not an RDF term: {term!r}; use terms of rdflib, of pyoxigraph or of sparql_gpm.terms in (subject, "
        "predicate, object) triples"
    )


def _literal(lexical: str, datatype: object, language: str | None) -> Literal:
    if language:
        return Literal(lexical, RDF_LANG_STRING, language.lower())
    return Literal(lexical, str(datatype) if datatype else XSD_STRING)
