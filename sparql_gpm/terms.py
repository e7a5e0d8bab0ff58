"""RDF terms as values, and their canonical N-Triples text (RDF 1.1 Concepts, Section 3).

Two terms are `sameTerm` iff they are equal here, iff their texts are equal. Language tags are in lower case; a plain
literal has the datatype `xsd:string`.
"""

from __future__ import annotations

from dataclasses import dataclass

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD_STRING = XSD + "string"
RDF_LANG_STRING = RDF + "langString"
WHITE_SPACE = " \t\r\n"
"""White space around the lexical form of a number, a boolean or a date is ignored."""

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True, slots=True)
class IRI:
    """An IRI, absolute and without angle brackets."""

    value: str


@dataclass(frozen=True, slots=True)
class BlankNode:
    """A blank node; readers make its label unique in the process."""

    label: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal with its lexical form untouched; `language` is "" unless the datatype is rdf:langString."""

    lexical: str
    datatype: str = XSD_STRING
    language: str = ""


Term = IRI | BlankNode | Literal


def to_ntriples(term: Term) -> str:
    """The canonical N-Triples text of a term."""
    if isinstance(term, IRI):
        return f"<{term.value}>"
    if isinstance(term, BlankNode):
        return f"_:{term.label}"
    quoted = f'"{term.lexical.translate(_ESCAPES)}"'
    if term.language:
        return f"{quoted}@{term.language}"
    return quoted if term.datatype == XSD_STRING else f"{quoted}^^<{term.datatype}>"
