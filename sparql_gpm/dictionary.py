"""Terms ↔ ids, with the numeric value of each id beside it in a column.

Ids are dense positive int64s. Terms that nothing needs any more are released by `retain`, and their
ids are given out again; whoever caches by id clears its cache when `generation` has changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from sparql_gpm.columns import UNBOUND, Ids
from sparql_gpm.terms import XSD, Literal, Term

INTEGER_TYPES = frozenset(
    XSD + name
    for name in (
        "integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
        "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte",
    )
)  # fmt: skip
_DECIMAL_DIGITS_MAX = 15
"""Decimals of up to this many digits keep their order and distinctness as float64."""


class Dictionary:
    """The terms of one process.

    numbers     float64 column by id: the numeric value where float64 compares it exactly as SPARQL
                does, else NaN (so NaN says "not a number, or ask the slow path")
    generation  counts the releases
    """

    def __init__(self) -> None:
        self._ids: dict[Term, int] = {}
        self._terms: list[Term | None] = [None]
        self._free: list[int] = []
        self._pinned: set[int] = set()
        self.numbers: NDArray[np.float64] = np.full(1024, np.nan)
        self.generation = 0

    def __len__(self) -> int:
        return len(self._ids)

    def intern(self, term: Term) -> int:
        """The id of the term, given out now if it is new."""
        known = self._ids.get(term)
        return known if known is not None else self._add(term)

    def pin(self, term: Term) -> int:
        """The id of a term that `retain` never releases: the constants of queries and knowledge bases."""
        identifier = self.intern(term)
        self._pinned.add(identifier)
        return identifier

    def find(self, term: Term) -> int:
        """The id of the term, or UNBOUND if it has none."""
        return self._ids.get(term, UNBOUND)

    def term(self, identifier: int) -> Term:
        """The term of a live id."""
        term = self._terms[identifier]
        assert term is not None, identifier
        return term

    def retain(self, live: Iterable[Ids]) -> int:
        """Release every term that is neither pinned nor in one of the columns; returns how many went."""
        kept = np.zeros(len(self._terms), dtype=np.bool_)
        kept[list(self._pinned)] = True
        for column in live:
            kept[column] = True
        released = 0
        for identifier in np.flatnonzero(~kept[1:]) + 1:
            term = self._terms[identifier]
            if term is not None:
                del self._ids[term]
                self._terms[identifier] = None
                self._free.append(int(identifier))
                released += 1
        self.generation += 1
        return released

    def _add(self, term: Term) -> int:
        if self._free:
            identifier = self._free.pop()
            self._terms[identifier] = term
        else:
            identifier = len(self._terms)
            self._terms.append(term)
            if identifier >= len(self.numbers):
                self.numbers = np.concatenate((self.numbers, np.full(len(self.numbers), np.nan)))
        self._ids[term] = identifier
        self.numbers[identifier] = exact_number(term) if isinstance(term, Literal) else np.nan
        return identifier


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
    return float(np.float32(lexical)) if single else float(lexical)
