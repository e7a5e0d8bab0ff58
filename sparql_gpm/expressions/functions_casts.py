"""The XPath constructor functions: `xsd:integer(?x)` and its like (SPARQL 1.1, Section 17.5)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_DOWN, Context, Decimal
from math import isfinite

from sparql_gpm.expressions.datetimes import parse_date, parse_date_time
from sparql_gpm.expressions.values import (
    ExpressionError,
    Kind,
    Number,
    boolean,
    number,
    number_text,
    numeric_literal,
    parse_number,
    promoted,
    truth,
)
from sparql_gpm.terms import IRI, XSD, XSD_STRING, BlankNode, Literal, Term

_WHOLE = Context(prec=2000)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _lexical(term: Term) -> str:
    """The text of a string, trimmed."""
    if isinstance(term, Literal) and term.datatype == XSD_STRING:
        return term.lexical.strip(" \t\r\n")
    raise ExpressionError("cannot be cast")


def _to_number(kind: Kind) -> Callable[[Term], Term]:
    def cast(term: Term) -> Term:
        found = number(term)
        if found is None:
            found = _truth_as_number(term) or parse_number(_lexical(term), kind)
        if found is None:
            raise ExpressionError("no such number")
        return numeric_literal(_converted(found, kind))

    return cast


def _truth_as_number(term: Term) -> Number | None:
    if isinstance(term, Literal) and term.datatype == XSD + "boolean":
        if term.lexical not in _BOOLEANS:
            raise ExpressionError("not a boolean")
        return Number(Kind.INTEGER, int(_BOOLEANS[term.lexical]))
    return None


def _converted(value: Number, kind: Kind) -> Number:
    """The value in another type; to a narrower one it is cut, and INF and NaN have no exact value."""
    if kind >= Kind.FLOAT:
        return Number(kind, promoted(value, Number(kind, 0.0))[1]) if value.kind <= kind else _narrowed(value)
    if isinstance(value.value, float) and not isfinite(value.value):
        raise ExpressionError("not finite")
    exact = Decimal(repr(value.value)) if isinstance(value.value, float) else Decimal(value.value)
    if kind == Kind.DECIMAL:
        return Number(kind, exact)
    return Number(kind, int(exact.quantize(Decimal(1), rounding=ROUND_DOWN, context=_WHOLE)))


def _narrowed(value: Number) -> Number:
    return Number(Kind.FLOAT, promoted(Number(Kind.FLOAT, float(value.value)), Number(Kind.FLOAT, 0.0))[1])


def to_boolean(term: Term) -> Term:
    """xsd:boolean."""
    if number(term) is not None:
        return boolean(truth(term))
    if isinstance(term, Literal) and term.datatype in (XSD + "boolean", XSD_STRING):
        lexical = term.lexical.strip(" \t\r\n")
        if lexical in _BOOLEANS:
            return boolean(_BOOLEANS[lexical])
    raise ExpressionError("not a boolean")


def to_string(term: Term) -> Term:
    """xsd:string: the text of an IRI, numbers and booleans in canonical form, else the lexical form."""
    match term:
        case IRI(value):
            return Literal(value)
        case BlankNode():
            raise ExpressionError("a blank node has no text")
    found = number(term)
    if found is not None:
        return Literal(number_text(found))
    if term.datatype == XSD + "boolean" and term.lexical in _BOOLEANS:
        return Literal(boolean(_BOOLEANS[term.lexical]).lexical)
    return Literal(term.lexical)


def to_date_time(term: Term) -> Term:
    """xsd:dateTime; a date becomes its first moment."""
    if isinstance(term, Literal) and term.datatype == XSD + "date" and (day := parse_date(term.lexical)):
        date = term.lexical[: len(term.lexical) - len(day.zone)]
        return Literal(f"{date}T00:00:00{day.zone}", XSD + "dateTime")
    kept = _keep(term, "dateTime")
    if parse_date_time(kept) is None:
        raise ExpressionError("not a dateTime")
    return Literal(kept, XSD + "dateTime")


def to_date(term: Term) -> Term:
    """xsd:date; a dateTime loses its time."""
    if isinstance(term, Literal) and term.datatype == XSD + "dateTime" and (moment := parse_date_time(term.lexical)):
        return Literal(term.lexical.partition("T")[0] + moment.zone, XSD + "date")
    kept = _keep(term, "date")
    if parse_date(kept) is None:
        raise ExpressionError("not a date")
    return Literal(kept, XSD + "date")


def _keep(term: Term, name: str) -> str:
    if isinstance(term, Literal) and term.datatype == XSD + name:
        return term.lexical.strip(" \t\r\n")
    return _lexical(term)


CASTS: dict[str, Callable[[Term], Term]] = {
    XSD + "boolean": to_boolean,
    XSD + "string": to_string,
    XSD + "dateTime": to_date_time,
    XSD + "date": to_date,
    XSD + "integer": _to_number(Kind.INTEGER),
    XSD + "decimal": _to_number(Kind.DECIMAL),
    XSD + "float": _to_number(Kind.FLOAT),
    XSD + "double": _to_number(Kind.DOUBLE),
}
