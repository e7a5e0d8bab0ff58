"""Values of literals: numbers, truth, order (SPARQL 1.2, Section 17; XPath and XQuery operators).

Exact types are Fractions, binary ones floats; nothing here is fast.
"""

from __future__ import annotations

import math
import re
import struct
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from fractions import Fraction

from sparql_gpm.pattern import FALSE, TRUE
from sparql_gpm.terms import IRI, XSD, XSD_STRING, BlankNode, Literal, Term, TripleTerm, to_ntriples


class ExpressionError(Exception):
    """SPARQL's type error: whatever asks for the value has none."""


INTEGER, DECIMAL, FLOAT, DOUBLE = range(4)
_DERIVED = (
    *("integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger"),
    *("negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
)
_RANK = {XSD + name: INTEGER for name in _DERIVED}
_RANK |= {XSD + "decimal": DECIMAL, XSD + "float": FLOAT, XSD + "double": DOUBLE}
_FORM = {
    INTEGER: re.compile(r"[+-]?\d+"),
    DECIMAL: re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)"),
    FLOAT: re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?INF|NaN"),
    DOUBLE: re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?INF|NaN"),
}

Number = tuple[int, Fraction | float]
"""(rank of the type, value): ranks INTEGER and DECIMAL carry Fractions, the others floats."""


def number(term: Term) -> Number | None:
    """The numeric value of a literal, None when it has none (another type, or an ill-typed form)."""
    if not isinstance(term, Literal) or term.datatype not in _RANK:
        return None
    rank = _RANK[term.datatype]
    if not _FORM[rank].fullmatch(term.lexical):
        return None
    if rank <= DECIMAL:
        return rank, Fraction(term.lexical)
    value = float(term.lexical.replace("INF", "inf"))
    return rank, _single(value) if rank == FLOAT else value


def _single(value: float) -> float:
    """The nearest IEEE single."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def promote(left: Number, right: Number) -> tuple[int, Fraction | float, Fraction | float]:
    """Both values in the wider of the two types."""
    rank = max(left[0], right[0])
    if rank <= DECIMAL:
        return rank, left[1], right[1]
    return rank, float(left[1]), float(right[1])


def literal(rank: int, value: Fraction | float) -> Literal:
    """The canonical literal of a number."""
    match rank:
        case 0:
            return Literal(str(int(value)), XSD + "integer")
        case 1:
            return Literal(_decimal(Fraction(value)), XSD + "decimal")
        case 2:
            return Literal(_binary(_single(float(value))), XSD + "float")
        case _:
            return Literal(_binary(float(value)), XSD + "double")


def _decimal(value: Fraction) -> str:
    """The digits of a number: all of them where they end, else 28 places."""
    with localcontext(prec=2000):
        exact = Decimal(value.numerator) / Decimal(value.denominator)
        text = f"{exact if Fraction(exact) == value else exact.quantize(Decimal(1).scaleb(-28)):f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _binary(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    mantissa, exponent = f"{Decimal(repr(value)):e}".split("e") if value else (repr(value)[:-2], "0")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def boolean(value: bool) -> Literal:
    """xsd:boolean."""
    return TRUE if value else FALSE


def effective(term: Term) -> bool:
    """The effective boolean value (SPARQL 1.2, 17.2.2)."""
    value = number(term)
    if value is not None:
        return value[1] != 0 and value[1] == value[1]
    if isinstance(term, Literal):
        if term.datatype == XSD + "boolean" and term.lexical in ("true", "1", "false", "0"):
            return term.lexical in ("true", "1")
        if term.datatype == XSD_STRING:
            return term.lexical != ""
    raise ExpressionError(f"no effective boolean value: {term}")


def moment(term: Term) -> datetime | date | None:
    """The value of an xsd:dateTime or xsd:date; a time without a zone is UTC."""
    if not isinstance(term, Literal):
        return None
    try:
        if term.datatype in (XSD + "dateTime", XSD + "dateTimeStamp"):
            value = datetime.fromisoformat(term.lexical)
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        if term.datatype == XSD + "date":
            return date.fromisoformat(term.lexical)
    except ValueError:
        return None
    return None


def comparable(term: Term) -> tuple[str, object] | None:
    """(value space, value) of a literal whose values are ordered, numbers apart."""
    if isinstance(term, Literal):
        if term.datatype == XSD_STRING:
            return "string", term.lexical
        if term.datatype == XSD + "boolean" and term.lexical in ("true", "false", "0", "1"):
            return "boolean", term.lexical in ("true", "1")
        when = moment(term)
        if when is not None:
            return type(when).__name__, when
    return None


def order_key(term: Term | None) -> tuple[object, ...]:
    """ORDER BY's order: unbound, blank nodes, IRIs, literals, triple terms by their parts; numbers by value."""
    match term:
        case None:
            return (0,)
        case BlankNode(label):
            return 1, label
        case IRI(iri):
            return 2, iri
        case TripleTerm():
            return 4, *(order_key(part) for part in (term.subject, term.predicate, term.object))
    value = number(term)
    if value is not None:
        return 3, 0, value[1], to_ntriples(term)
    known = comparable(term)
    return (3, 1, *known, to_ntriples(term)) if known else (3, 2, to_ntriples(term))
