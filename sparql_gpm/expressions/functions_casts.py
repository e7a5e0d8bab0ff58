"""The XPath constructor functions: `xsd:integer(?x)` and the others (SPARQL 1.1, Section 17.5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sparql_gpm.datetimes import date_time_of
from sparql_gpm.errors import ExpressionError
from sparql_gpm.expressions.values import BOOLEANS, boolean, effective_boolean_value, text_of
from sparql_gpm.numeric import ZERO, NumericType, cast, number, number_text, numeric_literal, parse_number
from sparql_gpm.terms import WHITE_SPACE, XSD, XSD_STRING, Literal, Term


def _lexical(term: Term, kind: str = "string") -> str:
    """The text of a string, or of a literal of the named datatype, trimmed."""
    if isinstance(term, Literal) and term.datatype in (XSD_STRING, XSD + kind):
        return term.lexical.strip(WHITE_SPACE)
    raise ExpressionError("cannot be cast")


def _to_number(term: Term, kind: NumericType) -> Term:
    found = number(term)
    if found is None and isinstance(term, Literal) and term.datatype == XSD + "boolean":
        found = ZERO._replace(value=int(_boolean(term.lexical)))
    if found is None:
        found = parse_number(_lexical(term), kind)
    if found is None:
        raise ExpressionError("no such number")
    return numeric_literal(cast(found, kind))


def _boolean(lexical: str) -> bool:
    if lexical not in BOOLEANS:
        raise ExpressionError("not a boolean")
    return BOOLEANS[lexical]


def to_boolean(term: Term) -> Term:
    """xsd:boolean."""
    if number(term) is not None:
        return boolean(effective_boolean_value(term))
    return boolean(_boolean(_lexical(term, "boolean")))


def to_string(term: Term) -> Term:
    """xsd:string: the text of an IRI, numbers and booleans in canonical form, else the lexical form."""
    found = number(term)
    if found is not None:
        return Literal(number_text(found))
    if isinstance(term, Literal) and term.datatype == XSD + "boolean" and term.lexical in BOOLEANS:
        return Literal(boolean(BOOLEANS[term.lexical]).lexical)
    return Literal(text_of(term))


def to_date_time(term: Term) -> Term:
    """xsd:dateTime; a date becomes its first moment."""
    if isinstance(term, Literal) and term.datatype == XSD + "date" and (day := date_time_of(term)):
        lexical = term.lexical.strip(WHITE_SPACE)
        return Literal(f"{lexical[: len(lexical) - len(day.zone)]}T00:00:00{day.zone}", XSD + "dateTime")
    return _well_formed(Literal(_lexical(term, "dateTime"), XSD + "dateTime"))


def to_date(term: Term) -> Term:
    """xsd:date; a dateTime loses its time."""
    if isinstance(term, Literal) and term.datatype == XSD + "dateTime" and (moment := date_time_of(term)):
        return Literal(term.lexical.strip(WHITE_SPACE).partition("T")[0] + moment.zone, XSD + "date")
    return _well_formed(Literal(_lexical(term, "date"), XSD + "date"))


def _well_formed(literal: Literal) -> Literal:
    if date_time_of(literal) is None:
        raise ExpressionError("not a date")
    return literal


CASTS: dict[str, Callable[[Term], Term]] = {
    XSD + "boolean": to_boolean, XSD + "string": to_string, XSD + "dateTime": to_date_time, XSD + "date": to_date,
    **{XSD + kind.name.lower(): partial(_to_number, kind=kind) for kind in NumericType},
}  # fmt: skip
