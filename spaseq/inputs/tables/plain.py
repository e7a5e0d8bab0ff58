"""Terms of plain cells as canonical texts, many at once: no cell becomes an object of its own.

A cell is plain here if nothing in it is escaped or encoded, and its term is certainly valid. Where one cell of a column
is not, all of them become terms one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sparql_gpm.columns import Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.numeric import NUMERIC_TYPES
from sparql_gpm.reading.document_terms import PLAIN_IRI
from sparql_gpm.term_text import canonical_token
from sparql_gpm.terms import ESCAPES, IRI, XSD, Literal, Term
from sparql_gpm.well_formed import fault_of
from spaseq.inputs.tables.cells import Cells
from spaseq.inputs.tables.template import IriOf, Part, Slot, TextOf, Value

_CELLS_MAX = 6
"""Cells of an IRI whose combinations are tried."""
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]*")
_ESCAPED = re.compile(r'["\\\r]')
_INTEGERS = re.compile(r"(?:-?[0-9]{1,15}\n)*")
_NUMBERS = re.compile(r"(?:-?[0-9]{1,7}(?:\.[0-9]{1,7})?\n)*")
"""Integers and decimals that float64 keeps apart."""
_DATE_TIMES = re.compile(
    r"(?:(?:19|20|21)[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?Z?\n)*"
)
_DATE_TIME, _INTEGER, _DECIMAL = XSD + "dateTime", XSD + "integer", XSD + "decimal"


@dataclass(frozen=True, slots=True)
class PlainTerms:
    """n terms.

    cells       the texts that they are made of
    before      the beginning of their canonical N-Triples texts, which a cell follows
    after       the end of all of these texts, or that of each
    term        the term of a cell
    numbers     float64[n]: as in `Dictionary.numbers`; None: they are no numbers
    times       int64[n]: the nanoseconds that each dateTime states; None: they are of another type
    """

    cells: Sequence[str]
    before: str
    after: str | Sequence[str]
    term: Callable[[str], Term]
    numbers: NDArray[np.float64] | None = None
    times: Ids | None = None

    def intern(self, dictionary: Dictionary) -> Ids:
        """Their ids, assigned now where they are new."""
        numbers = np.full(len(self.cells), np.nan) if self.numbers is None else self.numbers
        if dictionary.has_table:
            return dictionary.intern_joined(self.text, self.lengths, numbers)
        return dictionary.intern_known(map(self.term, self.cells), numbers)

    @property
    def text(self) -> bytes:
        """The canonical N-Triples texts, one after the other."""
        before, after = self.before, self.after
        if isinstance(after, str):
            return (before + (after + before).join(self.cells) + after).encode()
        return "".join([f"{before}{cell}{end}" for cell, end in zip(self.cells, after, strict=True)]).encode()

    @property
    def lengths(self) -> Ids:
        """int64[n]: the bytes of each of them."""
        lengths = np.fromiter(map(len, self.cells), dtype=np.int64, count=len(self.cells)) + len(self.before.encode())
        if isinstance(self.after, str):
            return lengths + len(self.after.encode())
        return lengths + np.fromiter(map(len, self.after), dtype=np.int64, count=len(self.cells))


def plain_terms(slot: Slot, cells: Cells) -> PlainTerms | None:
    """The terms that a slot has for the distinct cells of its one column; None if they are not certainly plain."""
    if None in cells.lexicals:
        return None
    lexicals: Sequence[str] = cells.lexicals  # type: ignore[assignment]
    whole = "\n".join(lexicals)
    if not whole.isascii() or whole.count("\n") != len(lexicals) - 1:
        return None
    match slot, cells.datatypes:
        case Value(), None:
            return _typed(whole, lexicals)
        case Value(path), str(datatype):
            slot = TextOf((path,), datatype, "")
    match slot:
        case IriOf(parts) if len(parts) > 1:
            before, after = around(parts)
            if not certain_iri(slot) or not _UNRESERVED.fullmatch(whole.replace("\n", "")):
                return None
            return PlainTerms(lexicals, f"<{before}", f"{after}>", lambda cell: IRI(f"{before}{cell}{after}"))
        case TextOf(parts, datatype, language, direction):
            tagged = Literal("", datatype, language, direction)
            if datatype == _INTEGER and len(parts) == 1:
                return _integers(whole, lexicals)
            if datatype in NUMERIC_TYPES or fault_of(tagged) or _ESCAPED.search(whole):
                return None
            before, after = around(parts)
            times = times_of(whole) if datatype == _DATE_TIME and len(parts) == 1 else None
            return PlainTerms(
                lexicals,
                f'"{before.translate(ESCAPES)}',
                after.translate(ESCAPES) + canonical_token(tagged).decode()[1:],
                lambda cell: Literal(f"{before}{cell}{after}", datatype, language, direction),
                times=times,
            )
    return None


def _typed(whole: str, cells: Sequence[str]) -> PlainTerms | None:
    """Cells that are all integers, all numbers, or all times."""
    if (integers := _integers(whole, cells)) is not None:
        return integers
    if _NUMBERS.fullmatch(whole + "\n") and "-0" not in whole:
        return _mixed(cells)
    times = times_of(whole)
    if times is None:
        return None
    return PlainTerms(cells, '"', f'"^^<{_DATE_TIME}>', lambda cell: Literal(cell, _DATE_TIME), times=times)


def _integers(whole: str, cells: Sequence[str]) -> PlainTerms | None:
    if not _INTEGERS.fullmatch(whole + "\n"):
        return None
    numbers = np.array(list(map(float, cells))) + 0.0  # -0 is 0
    return PlainTerms(cells, '"', f'"^^<{_INTEGER}>', lambda cell: Literal(cell, _INTEGER), numbers)


def _mixed(cells: Sequence[str]) -> PlainTerms:
    """Integers and decimals."""
    after = [f'"^^<{_DECIMAL if "." in cell else _INTEGER}>' for cell in cells]
    numbers = np.array(list(map(float, cells)))
    return PlainTerms(cells, '"', after, lambda cell: Literal(cell, _DECIMAL if "." in cell else _INTEGER), numbers)


def times_of(whole: str) -> Ids | None:
    """The times that cells, which lines separate, state; None if one is not of the usual form."""
    if not _DATE_TIMES.fullmatch(whole + "\n"):
        return None
    try:
        return np.array(whole.replace("Z", "").split("\n"), dtype="datetime64[ns]").astype(np.int64)
    except ValueError:  # a day that its month has not
        return None


def certain_iri(slot: IriOf) -> bool:
    """True if any texts without characters that are reserved, in the place of cells, give a valid IRI."""
    cells = sum(isinstance(part, tuple) for part in slot.parts)
    return cells <= _CELLS_MAX and all(
        PLAIN_IRI.fullmatch(f"<{_filled(slot.parts, given)}>".encode()) is not None
        for given in product(("", "x"), repeat=cells)
    )


def _filled(parts: Sequence[Part], given: Iterable[str]) -> str:
    """A text whose cells are these."""
    texts = iter(given)
    return "".join(part if isinstance(part, str) else next(texts) for part in parts)


def around(parts: Sequence[Part]) -> tuple[str, str]:
    """The constants before and after the cell."""
    place = next(index for index, part in enumerate(parts) if isinstance(part, tuple))
    before, after = (tuple(part for part in some if isinstance(part, str)) for some in (parts[:place], parts[place:]))
    return "".join(before), "".join(after)
