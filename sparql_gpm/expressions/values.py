"""Truth, comparison and order of terms by their values (SPARQL 1.2, Sections 15.1 and 17)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from arrays.comparison import COMPARISONS, ERROR
from sparql_gpm.datetimes import DateTime, date_time_of
from sparql_gpm.durations import DURATION, compare_durations, duration_of
from sparql_gpm.errors import ExpressionError
from sparql_gpm.numeric import NumericType, cast, number, promoted
from sparql_gpm.pattern import FALSE, TRUE
from sparql_gpm.terms import (
    IRI,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    WHITE_SPACE,
    XSD,
    XSD_STRING,
    BlankNode,
    Literal,
    Term,
    TripleTerm,
    to_ntriples,
)

BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
"""The values of the lexical forms of xsd:boolean."""
STRINGS = (XSD_STRING, RDF_LANG_STRING, RDF_DIR_LANG_STRING)
"""The datatypes of string literals (SPARQL 1.2, Section 17.4.3.1.1)."""
_ZONE_SECONDS_MAX = 14 * 3600
_ORDER = {"boolean": 0, "dateTime": 2, "date": 3, "string": 4}


def boolean(value: bool) -> Literal:
    """`true` or `false`."""
    return TRUE if value else FALSE


def text_of(term: Term) -> str:
    """The text of an IRI, the lexical form of a literal; an error for blank nodes and triple terms."""
    match term:
        case IRI(text) | Literal(text):
            return text
    raise ExpressionError("it has no text")


def effective_boolean_value(term: Term) -> bool:
    """The effective boolean value (Section 17.2.2); an error for what has none."""
    if isinstance(term, Literal):
        if term.datatype == XSD_STRING:
            return term.lexical != ""
        space, truth = _comparable(term)
        if space == "boolean":
            return bool(truth)
        value = number(term)
        if value is not None:
            return value.value == value.value and value.value != 0
    raise ExpressionError("no effective boolean value")


def truth_of(term: Term | None) -> int:
    """The effective boolean value as a truth; ERROR for None and what has none."""
    try:
        return ERROR if term is None else int(effective_boolean_value(term))
    except ExpressionError:
        return ERROR


def compare(name: str, left: Term, right: Term) -> bool:
    """`= != < <= > >=` on terms (Section 17.3); an error where they cannot be compared."""
    if isinstance(left, TripleTerm) and isinstance(right, TripleTerm) and name in ("=", "!="):
        nodes = (left.subject, left.predicate) == (right.subject, right.predicate)
        return (nodes and compare("=", left.object, right.object)) == (name == "=")
    a, b = number(left), number(right)
    if a is not None and b is not None:
        _, first, second = promoted(a, b)
        return bool(COMPARISONS[name](first, second))
    length, other_length = duration_of(left), duration_of(right)
    if length is not None and other_length is not None:
        return compare_durations(name, length, other_length)
    space, value = _comparable(left)
    other_space, other = _comparable(right)
    if space == other_space and space in _ORDER:
        return bool(COMPARISONS[name](*(_instants(value, other) if space.startswith("date") else (value, other))))
    if name in ("=", "!="):
        return _same_value(left, right, space, other_space) == (name == "=")
    raise ExpressionError("cannot be compared")


def equals_only_itself(term: Term) -> bool:
    """`=` of the term is sameTerm: not of numbers, booleans and times, which have values."""
    return isinstance(term, IRI) or (isinstance(term, Literal) and term.datatype == XSD_STRING)


def value_key(term: Term) -> object:
    """The same for terms that `=` may hold for."""
    if equals_only_itself(term):
        return term
    if isinstance(term, TripleTerm):
        return term.subject, term.predicate, value_key(term.object)
    found = number(term)
    if found is not None:
        return "number", cast(found, NumericType.FLOAT).value
    length = duration_of(term)
    if length is not None:
        return "duration", length.months, length.seconds
    space, value = _comparable(term)
    if space not in _ORDER:
        return term
    return space, value.instant() if isinstance(value, DateTime) else value


def comparison_class(term: Term) -> tuple[str, object]:
    """(space, part): `<` compares all terms of one class, and of one space those that a time zone tells apart.

    A term that `<` compares with no other is alone in its space.
    """
    if number(term) is not None:
        return "number", ""
    length = duration_of(term)
    if length is not None and length.kind != DURATION:
        return length.kind, ""
    space, value = _comparable(term)
    if space in _ORDER:
        return space, isinstance(value, DateTime) and bool(value.zone)
    return f"term {term!r}", ""


def order_key(term: Term) -> tuple[Any, ...]:
    """The place of a term in ORDER BY: blank nodes, IRIs, literals, triple terms; those that `<` compares follow it."""
    match term:
        case BlankNode(label):
            return (0, 0, label)
        case IRI(value):
            return (1, 0, value)
        case TripleTerm():
            return (3, order_key(term.subject), order_key(term.predicate), order_key(term.object))
    found = number(term)
    if found is not None:
        is_number = found.value == found.value
        return (2, 1, is_number, found.value if is_number else 0)
    length = duration_of(term)
    if length is not None:
        return (2, 5, length.kind, length.months, length.seconds)
    space, comparable = _comparable(term)
    if space in _ORDER:
        return (2, _ORDER[space], comparable.instant() if isinstance(comparable, DateTime) else comparable)
    return (2, 6, term.datatype, term.lexical, term.language, term.direction)


def full_order_key(term: Term) -> tuple[Any, ...]:
    """The place of a term in ORDER BY; equal values of several forms are ordered by their texts."""
    return *order_key(term), to_ntriples(term)


def _instants(left: DateTime, right: DateTime) -> tuple[Decimal, Decimal]:
    """Both as seconds; an error if one has no zone and some zone would reverse the order (XML Schema 1.1, D.2.1)."""
    first, second = left.instant(), right.instant()
    if bool(left.zone) != bool(right.zone) and abs(first - second) <= _ZONE_SECONDS_MAX:
        raise ExpressionError("not known without a time zone")
    return first, second


def _same_value(left: Term, right: Term, space: str, other_space: str) -> bool:
    """RDFterm-equal: literals differ if their value spaces do or one is language-tagged; otherwise that is an error."""
    if left == right:
        return True
    if isinstance(left, Literal) and isinstance(right, Literal):
        known = space != "" and other_space != "" and space != other_space
        if not known and "tagged" not in (space, other_space):
            raise ExpressionError("not known to be different")
    return False


def _comparable(term: Term) -> tuple[str, Any]:
    """The value space of a term and its value there; "" for those without an order."""
    if not isinstance(term, Literal):
        return "", None
    if term.datatype == XSD_STRING:
        return "string", term.lexical
    if term.datatype in STRINGS:
        return "tagged", None
    if term.datatype == XSD + "boolean":
        value = BOOLEANS.get(term.lexical.strip(WHITE_SPACE))
        return ("", None) if value is None else ("boolean", value)
    moment = date_time_of(term)
    if moment is not None:
        return ("date" if term.datatype == XSD + "date" else "dateTime"), moment
    if number(term) is not None:
        return "number", None
    return ("", None) if duration_of(term) is None else ("duration", None)
