"""RDF terms as values, and their canonical N-Triples text (RDF 1.2 Concepts, Section 3).

Two terms are `sameTerm` iff they are equal here, iff their texts are equal. Language tags are in lower case; a plain
literal has the datatype `xsd:string`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast
from urllib.parse import quote

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD_STRING = XSD + "string"
RDF_LANG_STRING = RDF + "langString"
RDF_DIR_LANG_STRING = RDF + "dirLangString"
WHITE_SPACE = " \t\r\n"
"""White space around the lexical form of a number, a boolean or a date is ignored."""

INTEGER_TYPES = frozenset(
    XSD + name
    for name in (
        "integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
        "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte",
    )
)  # fmt: skip
INTEGER_FORM = re.compile(r"[+-]?[0-9]+")
"""The lexical forms of integers; below, those of decimals, and of floats and doubles."""
DECIMAL_FORM = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
FLOATING_FORM = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|INF)|NaN")
_FORMS = {XSD + "decimal": DECIMAL_FORM, XSD + "float": FLOATING_FORM, XSD + "double": FLOATING_FORM}
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\\ud800-\udfff]')
_PN_CHARS_U = (
    r"A-Za-z_\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    r"\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_PN_CHARS = r"\-0-9\xb7\u0300-\u036f\u203f\u2040" + _PN_CHARS_U
_LABEL = re.compile(rf"[{_PN_CHARS_U}0-9](?:[{_PN_CHARS}.]*[{_PN_CHARS}])?")
"""BLANK_NODE_LABEL of the N-Triples grammar, without `_:`."""
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
DIRECTIONS = ("ltr", "rtl")
"""The base directions of literals."""
TRIPLE_TERM_DEPTH_MAX = 100
"""Triple terms one in the other; parsers of deeper ones need a stack of their size."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


class _Term:
    """The conversions of every term."""

    __slots__ = ()

    def to_rdflib(self) -> Any:
        """The term as one of rdflib; ValueError for one that rdflib does not have (RDF 1.2)."""
        return _rdflib_term(cast("Term", self))

    def to_pyoxigraph(self) -> Any:
        """The term as one of pyoxigraph."""
        return _pyoxigraph_term(cast("Term", self))


@dataclass(frozen=True, slots=True)
class IRI(_Term):
    """An IRI, absolute and without angle brackets."""

    value: str


@dataclass(frozen=True, slots=True)
class BlankNode(_Term):
    """A blank node; readers make its label unique in the process."""

    label: str


@dataclass(frozen=True, slots=True)
class Literal(_Term):
    """A literal with its lexical form untouched.

    language    "" unless the datatype is rdf:langString or rdf:dirLangString
    direction   one of DIRECTIONS if the datatype is rdf:dirLangString, else ""
    """

    lexical: str
    datatype: str = XSD_STRING
    language: str = ""
    direction: str = ""

    def __int__(self) -> int:
        """The value of a number, without its fraction; ValueError for what is none."""
        return int(self._number())

    def __float__(self) -> float:
        """The value of a number; ValueError for what is none."""
        return float(self._number())

    def _number(self) -> Decimal:
        form = INTEGER_FORM if self.datatype in INTEGER_TYPES else _FORMS.get(self.datatype)
        lexical = self.lexical.strip(WHITE_SPACE)
        if form is None or form.fullmatch(lexical) is None:
            raise ValueError(f"{to_ntriples(self)} is no number")
        return Decimal(lexical)


@dataclass(frozen=True, slots=True)
class TripleTerm(_Term):
    """A triple as a term, which can be the object of another triple; stating it is another matter."""

    subject: IRI | BlankNode
    predicate: IRI
    object: Term


Term = IRI | BlankNode | Literal | TripleTerm


Stated = tuple[IRI | BlankNode, IRI, Term]
"""A triple."""


def stated(subject: Term | None, predicate: Term | None, target: Term | None) -> Stated | None:
    """The triple of three terms; None if one is missing or of a kind that it cannot be."""
    if isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI) and target is not None:
        return subject, predicate, target
    return None


def is_deepest(term: Term) -> bool:
    """True if it has TRIPLE_TERM_DEPTH_MAX triple terms one in the other, so that no further one has it as object."""
    for _ in range(TRIPLE_TERM_DEPTH_MAX):
        if not isinstance(term, TripleTerm):
            return False
        term = term.object
    return True


def blank_nodes(term: Term) -> Iterator[BlankNode]:
    """The blank nodes in a term, in the order of its text."""
    if isinstance(term, BlankNode):
        yield term
    elif isinstance(term, TripleTerm):
        yield from blank_nodes(term.subject)
        yield from blank_nodes(term.object)


def relabelled(term: Term, label: Callable[[str], str]) -> Term:
    """The term with other labels of its blank nodes."""
    if isinstance(term, BlankNode):
        return BlankNode(label(term.label))
    if isinstance(term, TripleTerm):
        subject = term.subject
        if isinstance(subject, BlankNode):
            subject = BlankNode(label(subject.label))
        return TripleTerm(subject, term.predicate, relabelled(term.object, label))
    return term


def to_ntriples(term: Term) -> str:
    """The canonical N-Triples text of a term: one token, whatever the term holds.

    What no RDF term has is written in another way, so that it can neither end its token nor fail to be encoded.
    """
    if isinstance(term, IRI):
        return f"<{_iri_text(term.value)}>"
    if isinstance(term, BlankNode):
        return f"_:{term.label if _LABEL.fullmatch(term.label) else f'x{_hex(term.label)}'}"
    if isinstance(term, TripleTerm):
        return f"<<( {to_ntriples(term.subject)} {to_ntriples(term.predicate)} {to_ntriples(term.object)} )>>"
    text = term.lexical if term.lexical.isascii() else _SURROGATE.sub(_REPLACEMENT, term.lexical)
    quoted = f'"{text.translate(ESCAPES)}"'
    if term.language:
        direction = f"--{term.direction}" if term.direction in DIRECTIONS else ""
        return (
            f"{quoted}@{term.language if _LANGUAGE.fullmatch(term.language) else f'x-{_hex(term.language)}'}{direction}"
        )
    return quoted if term.datatype == XSD_STRING else f"{quoted}^^<{_iri_text(term.datatype)}>"


def _iri_text(iri: str) -> str:
    if _NOT_IN_IRI.search(iri) is None:
        return iri
    return _NOT_IN_IRI.sub(lambda found: quote(found[0], safe="", errors="surrogatepass"), iri)


def _hex(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").hex()


def _rdflib_term(term: Term) -> Any:
    """The term as one of rdflib, with its lexical form untouched; ValueError for one that rdflib does not have."""
    import rdflib

    match term:
        case IRI(value):
            return rdflib.URIRef(value)
        case BlankNode(label):
            return rdflib.BNode(label)
        case Literal(lexical, datatype, language, ""):
            stated = None if datatype in (XSD_STRING, RDF_LANG_STRING) else rdflib.URIRef(datatype)
            return rdflib.Literal(lexical, lang=language or None, datatype=stated, normalize=False)
    raise ValueError(f"rdflib has no such term: {term}")


def _pyoxigraph_term(term: Term) -> Any:
    """The term as one of pyoxigraph; ValueError for one that it does not take."""
    import pyoxigraph as ox

    match term:
        case IRI(value):
            return ox.NamedNode(value)
        case BlankNode(label):
            return ox.BlankNode(label)
        case Literal(lexical, datatype, "", _):
            return ox.Literal(lexical, datatype=ox.NamedNode(datatype))
        case Literal(lexical, _, language, direction):
            stated = ox.BaseDirection(direction) if direction else None
            return ox.Literal(lexical, language=language, direction=stated)
    return ox.Triple(*map(_pyoxigraph_term, (term.subject, term.predicate, term.object)))
