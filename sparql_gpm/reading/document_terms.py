"""Ids of RDF terms as documents write them; each distinct term is parsed only once.

Almost every term of a stream is an IRI of plain ASCII or a literal without escapes. Regular expressions recognise those
that are certainly valid; every other term is parsed strictly by pyoxigraph.
"""

from __future__ import annotations

import re
from typing import TypeVar

import pyoxigraph as ox

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.decoded import TERM_BYTES, TERM_COPIES, count_decoded
from sparql_gpm.reading.event_builder import EventBuilder
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.strict import parse
from sparql_gpm.terms import IRI, RDF, XSD_STRING, BlankNode, Literal, Term, TripleTerm

TERM_CACHE_MAX = 250_000
"""Terms in each cache of a reader; a fuller cache is emptied."""

_PATH = rb"[A-Za-z0-9._~/:@-]*"
_PLAIN_IRI = (
    rb"[A-Za-z][A-Za-z0-9+.-]*:(?://[A-Za-z0-9._~-]+(?:/" + _PATH + rb")?|(?!//)" + _PATH + rb")(?:\#" + _PATH + rb")?"
)
PLAIN_IRI = re.compile(rb"<(" + _PLAIN_IRI + rb")>")
"""IRIs that are certainly absolute, valid and canonical; not all such IRIs."""
_PLAIN_LITERAL = re.compile(rb'"([^"\\\r\n]*)"(?:\^\^<(' + _PLAIN_IRI + rb")>)?")
_ONE_TERM = re.compile(rb'<[^<>" ]*>|_:[^<>" #]*[^<>" #.]|"(?:[^"\\]++|\\.)*+"(?:@[A-Za-z0-9-]+|\^\^<[^<>" ]*>)?')
"""The outline of a single term: other text is no term, or more than one."""
_TAGGED_TYPES = tuple(RDF.encode() + name for name in (b"langString", b"dirLangString"))

ParsedTerm = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
T = TypeVar("T")


class UnsupportedTerm(ValueError):
    """A term that a format can say and that is not read."""


def to_term(term: ParsedTerm) -> Term:
    """A pyoxigraph term as ours."""
    if isinstance(term, ox.NamedNode):
        return IRI(term.value)
    if isinstance(term, ox.Literal):
        direction = "" if term.direction is None else str(term.direction)
        return Literal(term.value, term.datatype.value, (term.language or "").lower(), direction)
    if isinstance(term, ox.BlankNode):
        return BlankNode(term.value)
    subject, predicate = to_term(term.subject), to_term(term.predicate)
    assert isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI), term
    return TripleTerm(subject, predicate, to_term(term.object))


def quads_of(text: bytes, rdf_format: ox.RdfFormat) -> list[ox.Quad]:
    """All quads of a text; raises the first SyntaxError."""
    return list(parse(text, rdf_format))


def token_of(term: object) -> bytes:
    """The canonical token of a pyoxigraph term; b"" for the default graph."""
    if isinstance(term, ox.Triple):
        return f"<<( {term} )>>".encode()
    return b"" if isinstance(term, ox.DefaultGraph) else str(term).encode()


def parse_token(token: bytes) -> Term | None:
    """The term of an N-Triples token, or None unless it is exactly one valid term; a triple term in canonical form."""
    try:
        if token.startswith(b"<") and PLAIN_IRI.fullmatch(token):
            return IRI(token[1:-1].decode("ascii"))
        if (match := _PLAIN_LITERAL.fullmatch(token)) and match[2] not in _TAGGED_TYPES:
            return Literal(match[1].decode(), match[2].decode("ascii") if match[2] else XSD_STRING)
        if is_plain_blank(token):
            return BlankNode(token[2:].decode("ascii"))
        if token.startswith(b"<<("):
            found = next(parse(b"<urn:s> <urn:p> %b ." % token, ox.RdfFormat.N_TRIPLES)).object
            return to_term(found) if token_of(found) == token else None
        if not _ONE_TERM.fullmatch(token):
            return None
        return to_term(next(parse(b"<urn:s> <urn:p> %b ." % token, ox.RdfFormat.N_TRIPLES)).object)
    except (SyntaxError, ValueError):
        return None


def is_plain_blank(token: bytes) -> bool:
    """True for a blank node label of ASCII letters and digits, which is certainly valid."""
    return token.startswith(b"_:") and token[2:].isalnum()


def is_token(token: bytes) -> bool:
    """True if `parse_token` returns a term; of a triple term, False."""
    if token.isascii() and (match := _PLAIN_LITERAL.fullmatch(token)):
        return match[2] not in _TAGGED_TYPES
    return not token.startswith(b"<<") and parse_token(token) is not None


class TermIds:
    """Ids of terms for one reader.

    subjects, predicates, objects   N-Triples token → id, by position. Blank nodes and time predicates are never in
                                    them.
    """

    def __init__(self, dictionary: Dictionary, builder: EventBuilder, options: ReadOptions) -> None:
        self._dictionary, self._builder = dictionary, builder
        self._time_predicates = frozenset(options.time_predicates)
        self._generation = dictionary.generation
        self.subjects: dict[bytes, int] = {}
        self.predicates: dict[bytes, int] = {}
        self.objects: dict[bytes, int] = {}
        self._parsed: dict[ParsedTerm, int] = {}

    def refresh(self) -> None:
        """Drop ids that are stale or too many; to be called after others have used the dictionary."""
        changed = self._dictionary.generation != self._generation
        for cache in (self.subjects, self.predicates, self.objects):
            if changed or len(cache) > TERM_CACHE_MAX:
                cache.clear()
        if changed or len(self._parsed) > TERM_CACHE_MAX:
            self._parsed.clear()
        self._generation = self._dictionary.generation

    def subject_id(self, token: bytes) -> int:
        """The id of an IRI or blank node, or 0 for other tokens."""
        term = parse_token(token)
        return self._remember(self.subjects, token, term) if isinstance(term, IRI | BlankNode) else 0

    def predicate_id(self, token: bytes) -> int:
        """The id of an IRI that is no time predicate, or 0 for other tokens."""
        term = parse_token(token)
        if not isinstance(term, IRI) or term.value in self._time_predicates:
            return 0
        return self._remember(self.predicates, token, term)

    def object_id(self, token: bytes) -> int:
        """The id of a term, or 0 for other tokens."""
        return self._remember(self.objects, token, parse_token(token))

    def intern(self, term: Term) -> int:
        """The id of a term of the open event."""
        return self._builder.intern(term)

    def parsed_id(self, parsed: ParsedTerm) -> int:
        """The id of a pyoxigraph term in the open event."""
        known = self._parsed.get(parsed)
        return known if known is not None else self._remember(self._parsed, parsed, to_term(parsed))

    def add(self, subject: ParsedTerm, predicate: ParsedTerm, object_: ParsedTerm) -> None:
        """Add a triple of pyoxigraph to the open event."""
        builder = self._builder
        s, p, o = self.parsed_id(subject), self.parsed_id(predicate), self.parsed_id(object_)
        builder.subjects.append(s)
        builder.predicates.append(p)
        builder.objects.append(o)

    def _remember(self, cache: dict[T, int], written: T, term: Term | None) -> int:
        if term is None:
            return 0
        length = len(written) if isinstance(written, bytes) else len(str(written))
        count_decoded(TERM_BYTES + TERM_COPIES * length)
        if isinstance(term, BlankNode | TripleTerm):
            return self._builder.intern(term)
        identifier = cache[written] = self._dictionary.intern(term)
        return identifier
