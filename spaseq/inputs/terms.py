"""Terms and times of Python programs: of rdflib and pyoxigraph, which are not imported, and of `datetime`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from arrays.times import TIME_NS_MAX, TIME_NS_MIN
from sparql_gpm.terms import (
    IRI,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    TRIPLE_TERM_DEPTH_MAX,
    XSD,
    XSD_STRING,
    BlankNode,
    Literal,
    Term,
    TripleTerm,
)
from sparql_gpm.times import parse_time
from sparql_gpm.well_formed import fault_of
from spaseq.errors import InputError

Time = datetime | str | int | float | Literal
_SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OWN = IRI, BlankNode, Literal, TripleTerm
_SHOWN_MAX = 100
"""Characters of a wrong value that a message shows."""


def own_term(term: Any) -> Term:
    """The term as one of ours; raises TypeError for a value of no known library, ValueError for one that is no RDF."""
    try:
        own = _own(term)
        fault = fault_of(own)
    except AttributeError as error:
        raise TypeError(f"not an RDF term: {term!r} ({error})") from error
    if fault:
        raise ValueError(fault)
    return own


def _own(term: Any) -> Term:
    if isinstance(term, Literal) and term.language:
        return Literal(term.lexical, term.datatype, term.language.lower(), term.direction)
    if isinstance(term, _OWN):
        return term
    match type(term).__name__:
        case "Literal" if isinstance(term, str):
            return _literal(str(term), getattr(term, "datatype", None), getattr(term, "language", None))
        case "Literal" if isinstance(lexical := getattr(term, "value", None), str):
            direction = getattr(term, "direction", None)
            return _literal(lexical, term.datatype.value, term.language, "" if direction is None else str(direction))
        case "NamedNode":
            return IRI(term.value)
        case "URIRef":
            return IRI(str(term))
        case "BlankNode":
            return BlankNode(term.value)
        case "BNode":
            return BlankNode(str(term))
        case "Triple":
            return _triple_term(term)
    raise TypeError(
        f"not an RDF term: {term!r}; use terms of rdflib, of pyoxigraph or of sparql_gpm.terms in (subject, "
        "predicate, object) triples"
    )


def nanoseconds(time: Time) -> int:
    """A time in nanoseconds since the epoch; a `datetime` without a zone is UTC. Raises InputError for no time."""
    try:
        time_ns = _stated(time)
        if not TIME_NS_MIN <= time_ns <= TIME_NS_MAX:
            raise ValueError("it must lie between the years 1678 and 2261; a number is seconds")
    except (ValueError, TypeError, OverflowError) as error:
        hint = "a datetime, an xsd:dateTime, or seconds since 1970"
        raise InputError(f"not a time: {_shown(time)} ({error})", hint=hint) from error
    return time_ns


def _stated(time: Time) -> int:
    if isinstance(time, datetime):
        delta = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
        return (delta.days * 86_400 + delta.seconds) * _SECOND + delta.microseconds * 1000
    if isinstance(time, int) and not isinstance(time, bool):
        return time * _SECOND
    if isinstance(time, float):
        return round(time * _SECOND)
    return parse_time(_time_literal(time))


def _shown(value: object) -> str:
    try:
        return repr(value)[:_SHOWN_MAX]
    except ValueError:  # an integer of very many digits
        return f"a number of type {type(value).__name__}"


def _time_literal(time: Any) -> Literal:
    """The literal of a time; a plain string is the lexical form of an xsd:dateTime."""
    if type(time) is str:
        return Literal(time, XSD + "dateTime")
    literal = own_term(time)
    if not isinstance(literal, Literal):
        raise TypeError("an IRI or a blank node is no time")
    return literal


def _triple_term(triple: Any) -> TripleTerm:
    """The triple term of a pyoxigraph triple."""
    outer: list[tuple[Any, Any]] = []
    part = triple
    while type(part).__name__ == "Triple":
        outer.append((_own(part.subject), _own(part.predicate)))
        part = part.object
        if len(outer) > TRIPLE_TERM_DEPTH_MAX:
            raise ValueError(f"triple terms more than {TRIPLE_TERM_DEPTH_MAX} deep")
    found: Any = _own(part)
    for subject, predicate in reversed(outer):
        found = TripleTerm(subject, predicate, found)
    assert isinstance(found, TripleTerm), triple
    return found


def _literal(lexical: str, datatype: object, language: str | None, direction: str = "") -> Literal:
    if language and direction:
        return Literal(lexical, RDF_DIR_LANG_STRING, language.lower(), direction)
    if language:
        return Literal(lexical, RDF_LANG_STRING, language.lower())
    return Literal(lexical, str(datatype) if datatype else XSD_STRING)
