"""Functions on terms, numbers, dates and hashes (SPARQL 1.2, Sections 17.4.2, 17.4.4 to 17.4.7)."""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import partial
from operator import attrgetter
from typing import Any

from sparql_gpm.bounds import exceed
from sparql_gpm.datetimes import DateTime, date_time_of
from sparql_gpm.errors import ExpressionError
from sparql_gpm.expressions.functions_strings import plain
from sparql_gpm.expressions.values import boolean, text_of
from sparql_gpm.iris import resolve_iri
from sparql_gpm.numeric import EXACT, Number, NumericType, integer_literal, number, numeric_literal, require_number
from sparql_gpm.terms import (
    DIRECTIONS,
    IRI,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    TRIPLE_TERM_DEPTH_MAX,
    XSD,
    BlankNode,
    Literal,
    Term,
    TripleTerm,
    is_deepest,
    stated,
)
from sparql_gpm.well_formed import is_iri, is_language


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
    if not isinstance(type_, IRI) or type_.value in (RDF_LANG_STRING, RDF_DIR_LANG_STRING):
        raise ExpressionError("not a datatype")
    return Literal(plain(lexical), type_.value)


def strlang(lexical: Term, tag: Term) -> Literal:
    """STRLANG."""
    language = plain(tag).lower()
    if not is_language(language):
        raise ExpressionError("not a language tag")
    return Literal(plain(lexical), RDF_LANG_STRING, language)


def strlangdir(lexical: Term, tag: Term, direction: Term) -> Term:
    """STRLANGDIR."""
    if plain(direction) not in DIRECTIONS:
        raise ExpressionError("not a base direction")
    return replace(strlang(lexical, tag), datatype=RDF_DIR_LANG_STRING, direction=plain(direction))


def triple(subject: Term, predicate: Term, target: Term) -> TripleTerm:
    """TRIPLE; one that is too deep costs the event."""
    found = stated(subject, predicate, target)
    if found is None:
        raise ExpressionError("not the parts of a triple")
    if is_deepest(target):
        raise exceed(f"triple terms more than {TRIPLE_TERM_DEPTH_MAX} deep")
    return TripleTerm(*found)


def _part(name: str) -> Callable[[Term], Term]:
    read = attrgetter(name)

    def part(term: Term) -> Term:
        if not isinstance(term, TripleTerm):
            raise ExpressionError("not a triple term")
        found: Term = read(term)
        return found

    return part


def _literal(term: Term) -> Literal:
    if isinstance(term, Literal):
        return term
    raise ExpressionError("not a literal")


def _mapped(exact: Callable[[Decimal], Decimal], other: Callable[[Any], int | float]) -> Callable[[Term], Term]:
    """A function of a number, by what it does to decimals, and to integers and floats; the type stays."""

    def apply(term: Term) -> Term:
        kind, value = require_number(term)
        return numeric_literal(Number(kind, exact(value) if isinstance(value, Decimal) else other(value)))

    return apply


def _whole(rounding: str) -> Callable[[Term], Term]:
    return _mapped(partial(_round_decimal, rounding=rounding), partial(_round_other, rounding=rounding))


def _round_decimal(value: Decimal, rounding: str) -> Decimal:
    if rounding == "ROUND":
        value, rounding = EXACT.add(value, Decimal("0.5")), ROUND_FLOOR
    return value.quantize(Decimal(1), rounding=rounding, context=EXACT)


def _round_other(value: int | float, rounding: str) -> int | float:
    if isinstance(value, int) or not math.isfinite(value) or value == 0:
        return value
    if rounding == ROUND_CEILING:
        return math.copysign(math.ceil(value), value)
    below = math.floor(value)
    if rounding == "ROUND":
        below += value - below >= 0.5
    return math.copysign(below, value) if below == 0 else float(below)


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
    read = attrgetter(name)
    return lambda term: integer_literal(read(_moment(term)))


def timezone(term: Term) -> Term:
    """TIMEZONE as xsd:dayTimeDuration; an error without a zone."""
    minutes = _moment(term).zone_minutes()
    if minutes is None:
        raise ExpressionError("no time zone")
    hours, rest = divmod(abs(minutes), 60)
    shown = (f"{hours}H" if hours else "") + (f"{rest}M" if rest else "") or "0S"
    return Literal(f"{'-' if minutes < 0 else ''}PT{shown}", XSD + "dayTimeDuration")


def _digest(algorithm: str) -> Callable[[Term], Term]:
    return lambda term: Literal(hashlib.new(algorithm, plain(term).encode("utf-8", "surrogatepass")).hexdigest())


def _test(holds: Callable[[Term], bool]) -> Callable[[Term], Term]:
    return lambda term: boolean(holds(term))


TERM_FUNCTIONS: dict[str, Callable[..., Term]] = {
    "STR": lambda term: Literal(text_of(term)), "LANG": lambda term: Literal(_literal(term).language),
    "LANGDIR": lambda term: Literal(_literal(term).direction), "STRLANGDIR": strlangdir,
    "HASLANG": _test(lambda term: isinstance(term, Literal) and term.language != ""),
    "HASLANGDIR": _test(lambda term: isinstance(term, Literal) and term.direction != ""),
    "TRIPLE": triple, "SUBJECT": _part("subject"), "PREDICATE": _part("predicate"), "OBJECT": _part("object"),
    "ISTRIPLE": _test(lambda term: isinstance(term, TripleTerm)),
    "DATATYPE": lambda term: IRI(_literal(term).datatype), "IRI": iri, "STRDT": strdt, "STRLANG": strlang,
    "ISIRI": _test(lambda term: isinstance(term, IRI)),
    "ISBLANK": _test(lambda term: isinstance(term, BlankNode)),
    "ISLITERAL": _test(lambda term: isinstance(term, Literal)),
    "ISNUMERIC": _test(lambda term: number(term) is not None),
    "SAMETERM": lambda left, right: boolean(left == right),
    "ABS": _mapped(Decimal.copy_abs, abs), "NEG": _mapped(Decimal.copy_negate, operator.neg), "POS": positive,
    "CEIL": _whole(ROUND_CEILING), "FLOOR": _whole(ROUND_FLOOR), "ROUND": _whole("ROUND"),
    "YEAR": _field("date.year"), "MONTH": _field("date.month"), "DAY": _field("date.day"), "HOURS": _field("hours"),
    "MINUTES": _field("minutes"),
    "SECONDS": lambda term: numeric_literal(Number(NumericType.DECIMAL, _moment(term).seconds)),
    "TIMEZONE": timezone, "TZ": lambda term: Literal(_moment(term).zone),
    "MD5": _digest("md5"), "SHA1": _digest("sha1"), "SHA256": _digest("sha256"), "SHA384": _digest("sha384"),
    "SHA512": _digest("sha512"),
}  # fmt: skip
