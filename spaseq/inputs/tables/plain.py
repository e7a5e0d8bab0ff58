"""Terms of plain cells as canonical texts, many at once: no cell becomes an object of its own.

A cell is plain here if nothing in it is escaped or encoded, and its term is certainly valid. Where one cell of a column
is not, all of them become terms one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparql_gpm.columns import Ids
from sparql_gpm.numeric import NUMERIC_TYPES
from sparql_gpm.reading.document_terms import PLAIN_IRI
from sparql_gpm.term_text import canonical_token
from sparql_gpm.terms import ESCAPES, XSD, Literal
from sparql_gpm.well_formed import fault_of
from spaseq.inputs.tables.cells import Cells
from spaseq.inputs.tables.template import IriOf, Part, Slot, TextOf, Value

_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]*")
_ESCAPED = re.compile(r'["\\\r]')
_INTEGERS = re.compile(r"(?:-?[0-9]{1,15}\n)*")
_DATE_TIMES = re.compile(
    r"(?:(?:19|20|21)[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?Z?\n)*"
)
_DATE_TIME, _INTEGER = XSD + "dateTime", XSD + "integer"


@dataclass(frozen=True, slots=True)
class PlainTerms:
    """n terms.

    text, lengths   their canonical N-Triples texts, one after the other, and int64[n]: the bytes of each
    numbers         float64[n]: as in `Dictionary.numbers`
    times           int64[n]: the nanoseconds that each dateTime states; None: they are of another type
    """

    text: bytes
    lengths: Ids
    numbers: NDArray[np.float64]
    times: Ids | None = None


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
            return _joined(f"<{before}", lexicals, f"{after}>")
        case TextOf(parts, datatype, language, direction):
            tagged = Literal("", datatype, language, direction)
            if datatype == _INTEGER and len(parts) == 1:
                return _typed(whole, lexicals)
            if datatype in NUMERIC_TYPES or fault_of(tagged) or _ESCAPED.search(whole):
                return None
            before, after = (text.translate(ESCAPES) for text in around(parts))
            times = times_of(whole) if datatype == _DATE_TIME and len(parts) == 1 else None
            return _joined(f'"{before}', lexicals, after + canonical_token(tagged).decode()[1:], times=times)
    return None


def _typed(whole: str, cells: Sequence[str]) -> PlainTerms | None:
    """Cells that are all integers, or all times."""
    if _INTEGERS.fullmatch(whole + "\n"):
        return _joined('"', cells, f'"^^<{_INTEGER}>', numbers=np.array(cells).astype(np.float64) + 0.0)
    times = times_of(whole)
    return None if times is None else _joined('"', cells, f'"^^<{_DATE_TIME}>', times=times)


def times_of(whole: str) -> Ids | None:
    """The times that cells, which lines separate, state; None if one is not of the usual form."""
    if not _DATE_TIMES.fullmatch(whole + "\n"):
        return None
    try:
        return np.array(whole.replace("Z", "").split("\n"), dtype="datetime64[ns]").astype(np.int64)
    except ValueError:  # a day that its month has not
        return None


def certain_iri(slot: IriOf) -> bool:
    """True if any text without characters that are reserved, in the place of the one cell, gives a valid IRI."""
    before, after = around(slot.parts)
    return all(PLAIN_IRI.fullmatch(f"<{before}{some}{after}>".encode()) is not None for some in ("", "x"))


def around(parts: Sequence[Part]) -> tuple[str, str]:
    """The constants before and after the cell."""
    place = next(index for index, part in enumerate(parts) if isinstance(part, tuple))
    before, after = (tuple(part for part in some if isinstance(part, str)) for some in (parts[:place], parts[place:]))
    return "".join(before), "".join(after)


def _joined(
    before: str,
    cells: Sequence[str],
    after: str,
    numbers: NDArray[np.float64] | None = None,
    times: Ids | None = None,
) -> PlainTerms:
    text = (before + (after + before).join(cells) + after).encode()
    around = len(before.encode()) + len(after.encode())
    lengths = np.fromiter(map(len, cells), dtype=np.int64, count=len(cells)) + around
    return PlainTerms(text, lengths, np.full(len(cells), np.nan) if numbers is None else numbers, times)
