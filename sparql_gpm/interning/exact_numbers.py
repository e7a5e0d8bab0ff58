"""The numeric values of literals, as far as float64 can stand for them."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import numpy as np

from sparql_gpm.terms import XSD, Literal

INTEGER_TYPES = frozenset(
    XSD + name
    for name in (
        "integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
        "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte",
    )
)  # fmt: skip
_DECIMAL_DIGITS_MAX = 15
"""Decimals of up to this many digits keep their order and distinctness as float64."""


def exact_number(literal: Literal) -> float:
    """The value of a numeric literal if float64 compares it exactly as SPARQL does, else NaN."""
    datatype, lexical = literal.datatype, literal.lexical.strip(" \t\r\n")
    try:
        if datatype in INTEGER_TYPES:
            integer = int(lexical) if "_" not in lexical else None
            return float(integer) if integer is not None and abs(integer) <= 2**53 else np.nan
        if datatype == XSD + "decimal" and not set(lexical) & set("eE_nN"):
            digits = Decimal(lexical).as_tuple().digits
            return float(lexical) if len(digits) <= _DECIMAL_DIGITS_MAX else np.nan
        if datatype in (XSD + "double", XSD + "float"):
            return _double(lexical, single=datatype == XSD + "float")
    except (ValueError, InvalidOperation):
        return np.nan
    return np.nan


def _double(lexical: str, single: bool) -> float:
    special = {"INF": np.inf, "+INF": np.inf, "-INF": -np.inf, "NaN": np.nan}
    if lexical in special:
        return special[lexical]
    if not set(lexical) <= set("0123456789+-.eE"):
        return np.nan
    if not single:
        return float(lexical)
    with np.errstate(over="ignore"):  # beyond the largest float is infinity
        return float(np.float32(lexical))
