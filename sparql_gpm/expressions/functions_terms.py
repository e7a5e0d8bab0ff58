"""Functions on terms, numbers, dates and hashes (SPARQL 1.1, Sections 17.4.2, 17.4.4, 17.4.5, 17.4.6)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from sparql_gpm.datetimes import DateTime, date_time_of
from sparql_gpm.errors import ExpressionError
from sparql_gpm.expressions.functions_strings import plain
from sparql_gpm.expressions.values import boolean
from sparql_gpm.iris import resolve_iri
from sparql_gpm.numeric import EXACT, Number, NumericType, integer_literal, number, numeric_literal, require_number
from sparql_gpm.terms import IRI, RDF_LANG_STRING, XSD, BlankNode, Literal, Term
from sparql_gpm.well_formed import is_iri, is_language


def str_(term: Term) -> Term:
    """STR."""
    match term:
        case IRI(value):
            return Literal(value)
        case Literal(lexical, _, _):
            return Literal(lexical)
    raise ExpressionError("a blank node has no text")


def lang(term: Term) -> Term:
    """LANG."""
    return Literal(_literal(term).language)


def datatype(term: Term) -> Term:
    """DATATYPE."""
    return IRI(_literal(term).datatype)


def iri(term: Term, base: Term | None = None) -> Term:
    """IRI; a relative one is resolved against the query's base. What is none is an error."""
    if isinstance(term, IRI):
        return term
    reference = plain(term)
    resolved = resolve_iri(reference, base.value) if isinstance(base, IRI) else reference
    if not is_iri(resolved):
        raise ExpressionError("not an absolute IRI")
    return IRI(resolved)


def strdt(lexical: Term, type_: Term) -> Term:
    """STRDT."""
    if not isinstance(type_, IRI) or type_.value == RDF_LANG_STRING:
        raise ExpressionError("not a datatype")
    return Literal(plain(lexical), type_.value)


def strlang(lexical: Term, tag: Term) -> Term:
    """STRLANG."""
    language = plain(tag).lower()
    if not is_language(language):
        raise ExpressionError("not a language tag")
    return Literal(plain(lexical), RDF_LANG_STRING, language)


def _literal(term: Term) -> Literal:
    if isinstance(term, Literal):
        return term
    raise ExpressionError("not a literal")


def _whole(rounding: str) -> Callable[[Term], Term]:
    def apply(term: Term) -> Term:
        value = require_number(term)
        if isinstance(value.value, Decimal):
            return numeric_literal(Number(value.kind, _round_decimal(value.value, rounding)))
        if isinstance(value.value, float):
            return numeric_literal(Number(value.kind, _round_float(value.value, rounding)))
        return numeric_literal(value)

    return apply


def _round_decimal(value: Decimal, rounding: str) -> Decimal:
    if rounding == "ROUND":
        value, rounding = EXACT.add(value, Decimal("0.5")), ROUND_FLOOR
    return value.quantize(Decimal(1), rounding=rounding, context=EXACT)


def _round_float(value: float, rounding: str) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    if rounding == ROUND_CEILING:
        return math.copysign(math.ceil(value), value)
    below = math.floor(value)
    if rounding == "ROUND":
        below += value - below >= 0.5
    return math.copysign(below, value) if below == 0 else float(below)


def abs_(term: Term) -> Term:
    """ABS."""
    value = require_number(term)
    if isinstance(value.value, Decimal):
        return numeric_literal(Number(value.kind, value.value.copy_abs()))
    return numeric_literal(Number(value.kind, abs(value.value)))


def negate(term: Term) -> Term:
    """Unary minus."""
    value = require_number(term)
    if isinstance(value.value, Decimal):
        return numeric_literal(Number(value.kind, value.value.copy_negate()))
    return numeric_literal(Number(value.kind, -value.value))


def positive(term: Term) -> Term:
    """Unary plus: the number itself."""
    require_number(term)
    return term


def _moment(term: Term) -> DateTime:
    """The fields of a dateTime, or those of a date at its first moment."""
    moment = date_time_of(_literal(term))
    if moment is None:
        raise ExpressionError("not a dateTime")
    return moment


def _field(name: str) -> Callable[[Term], Term]:
    return lambda term: integer_literal(getattr(_moment(term), name))


def _date_field(name: str) -> Callable[[Term], Term]:
    return lambda term: integer_literal(getattr(_moment(term).date, name))


def seconds(term: Term) -> Term:
    """SECONDS, a decimal."""
    return numeric_literal(Number(NumericType.DECIMAL, _moment(term).seconds))


def timezone(term: Term) -> Term:
    """TIMEZONE as xsd:dayTimeDuration; an error without a zone."""
    minutes = _moment(term).zone_minutes()
    if minutes is None:
        raise ExpressionError("no time zone")
    hours, rest = divmod(abs(minutes), 60)
    shown = (f"{hours}H" if hours else "") + (f"{rest}M" if rest else "") or "0S"
    return Literal(f"{'-' if minutes < 0 else ''}PT{shown}", XSD + "dayTimeDuration")


def tz(term: Term) -> Term:
    """TZ: the zone as it is written, "" without one."""
    return Literal(_moment(term).zone)


def _digest(algorithm: str) -> Callable[[Term], Term]:
    def digest(term: Term) -> Term:
        return Literal(hashlib.new(algorithm, plain(term).encode("utf-8", "surrogatepass")).hexdigest())

    return digest


def _test(holds: Callable[[Term], bool]) -> Callable[[Term], Term]:
    return lambda term: boolean(holds(term))


TERM_FUNCTIONS: dict[str, Callable[..., Term]] = {
    "STR": str_, "LANG": lang, "DATATYPE": datatype, "IRI": iri, "STRDT": strdt, "STRLANG": strlang,
    "ISIRI": _test(lambda term: isinstance(term, IRI)),
    "ISBLANK": _test(lambda term: isinstance(term, BlankNode)),
    "ISLITERAL": _test(lambda term: isinstance(term, Literal)),
    "ISNUMERIC": _test(lambda term: number(term) is not None),
    "SAMETERM": lambda left, right: boolean(left == right),
    "ABS": abs_, "CEIL": _whole(ROUND_CEILING), "FLOOR": _whole(ROUND_FLOOR), "ROUND": _whole("ROUND"),
    "NEG": negate, "POS": positive,
    "YEAR": _date_field("year"), "MONTH": _date_field("month"), "DAY": _date_field("day"), "HOURS": _field("hours"),
    "MINUTES": _field("minutes"), "SECONDS": seconds, "TIMEZONE": timezone, "TZ": tz,
    "MD5": _digest("md5"), "SHA1": _digest("sha1"), "SHA256": _digest("sha256"), "SHA384": _digest("sha384"),
    "SHA512": _digest("sha512"),
}  # fmt: skip
