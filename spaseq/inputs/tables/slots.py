"""The terms that rows have at the places of a template, as columns of ids: each distinct value is one term."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparql_gpm.columns import UNBOUND, Ids, as_ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.lazy_terms import NULL
from sparql_gpm.terms import IRI, BlankNode, Literal, Term, TripleTerm
from sparql_gpm.well_formed import fault_of, is_iri
from spaseq.errors import InputError
from spaseq.inputs.tables.cells import Cells, RowBatch, of_rows
from spaseq.inputs.tables.plain import plain_terms
from spaseq.inputs.tables.template import IriOf, Path, Slot, TextOf, Value, paths_of

_SHOWN_MAX = 100
BAD = -1
"""In the place of the id of a term that a cell does not give."""
_ENCODED = re.compile(
    "[^A-Za-z0-9._~\\-\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd\U00020000-\U0002fffd"
    "\U00030000-\U0003fffd\U00040000-\U0004fffd\U00050000-\U0005fffd\U00060000-\U0006fffd\U00070000-\U0007fffd"
    "\U00080000-\U0008fffd\U00090000-\U0009fffd\U000a0000-\U000afffd\U000b0000-\U000bfffd\U000c0000-\U000cfffd"
    "\U000d0000-\U000dfffd\U000e1000-\U000efffd]"
)
"""All but unreserved characters and ucschar (RFC 3987)."""


@dataclass(frozen=True, slots=True)
class Column:
    """The terms of a place of a template.

    ids     int64[n]: ids, UNBOUND where a cell is empty, BAD where it gives no term
    rows    int64[n]: the row of each; None: those of all rows in order
    owner   the list that they come from, if they do
    faults  why there is no term, by the index in `ids`
    times   int64[n]: the time that each dateTime states; None: not known
    """

    ids: Ids
    rows: Ids | None
    owner: Path
    fault: Callable[[int], str]
    times: Ids | None = None


class Slots:
    """The columns of a template over batches of rows."""

    def __init__(self, dictionary: Dictionary, new_scope: Callable[[], int]) -> None:
        self._dictionary, self._new_scope = dictionary, new_scope

    def column(self, slot: Slot, rows: RowBatch, scopes: Sequence[int]) -> Column:
        """The terms of a slot; `scopes` number the blank nodes of each row."""
        match slot:
            case BlankNode(label):
                ids = [self._dictionary.intern(BlankNode(f"e{scope}_{label}")) for scope in scopes]
                return Column(np.array(ids, dtype=np.int64), None, (), _no_fault)
            case IRI() | Literal() | TripleTerm():
                return Column(np.full(len(scopes), self._dictionary.intern(slot)), None, (), _no_fault)
            case Value(path):
                return self.of_cells(slot, rows.cells(path))
            case IriOf() | TextOf():
                return self._written(slot, rows)
        assert_never(slot)

    def of_cells(self, slot: Value | IriOf | TextOf, cells: Cells) -> Column:
        """The terms of a slot with one cell."""
        if (plain := self._plain(slot, cells)) is not None:
            return plain
        if isinstance(slot, Value):
            reason = f"the cell of column '{'.'.join(slot.path)}' is no text or value"
            return self._column([cells.literal(index) for index in range(len(cells.lexicals))], cells, lambda _: reason)
        terms = [_term(slot, (lexical,)) for lexical in cells.lexicals]
        return self._column(terms, cells, lambda code: _no_term(cells.lexicals[code]))

    def texts(self, slot: Slot, rows: RowBatch) -> tuple[list[str | None], list[str]]:
        """The IRI of each row, None where there is none, and why."""
        column = self.column(slot, rows, range(len(rows.numbers)))
        if column.rows is not None:
            raise InputError("the name of a graph has a cell that is a list", hint="a row is one event")
        found = column.ids.tolist()
        distinct = {each: self._dictionary.term(each) for each in set(found) if each > 0}
        names = [term.value if isinstance(term := distinct.get(each), IRI) else None for each in found]
        reasons = [
            column.fault(index) if each == BAD else "" if each else "the name of its graph has an empty cell"
            for index, each in enumerate(found)
        ]
        return names, reasons

    def _plain(self, slot: Slot, cells: Cells) -> Column | None:
        """The column of cells that are plain."""
        if (found := plain_terms(slot, cells)) is None:
            return None
        ids = found.intern(self._dictionary)
        times = None if found.times is None else np.append(found.times, 0)[cells.codes]
        return Column(np.append(ids, UNBOUND)[cells.codes], cells.rows, cells.owner, _no_fault, times)

    def _written(self, slot: IriOf | TextOf, rows: RowBatch) -> Column:
        """The terms whose text has cells: each distinct combination of cells once."""
        paths = paths_of(slot)
        if not paths:
            if (term := _term(slot, ())) is None:
                written = "".join(map(str, slot.parts))
                raise InputError(f"the template has no valid IRI: {written[:_SHOWN_MAX]!r}")
            return self._constant(term, len(rows.numbers))
        cells = _together([rows.cells(path) for path in paths], len(rows.numbers))
        if len(cells) == 1:
            return self.of_cells(slot, cells[0])
        codes, parts = combinations([each.codes for each in cells])
        given = [[each.lexicals[code] for each, code in zip(cells, part, strict=True)] for part in parts.T.tolist()]
        whole = Cells(codes, (), None, cells[0].rows, cells[0].owner)
        return self._column([_term(slot, each) for each in given], whole, lambda code: _no_term(given[code]))

    def of_combinations(self, slot: IriOf | TextOf, given: Sequence[Sequence[str | None]]) -> Ids:
        """The ids of the terms of combinations of texts, BAD for those that give none."""
        return self._ids([_term(slot, each) for each in given])

    def _ids(self, terms: Sequence[Term | None]) -> Ids:
        ids = [BAD if term is None or fault_of(term) else self._dictionary.intern(term) for term in terms]
        return np.array(ids, dtype=np.int64)

    def _constant(self, term: Term, rows: int) -> Column:
        return Column(np.full(rows, self._dictionary.intern(term)), None, (), _no_fault)

    def _column(self, terms: Sequence[Term | None], cells: Cells, reason: Callable[[int], str]) -> Column:
        table = np.append(self._ids(terms), UNBOUND)
        return Column(table[cells.codes], cells.rows, cells.owner, lambda index: reason(int(cells.codes[index])))


def combinations(codes: Sequence[Ids]) -> tuple[Ids, NDArray[np.int64]]:
    """The code of each combination of cells, NULL if one is empty, and int64[columns, n]: the codes of its cells."""
    found = codes[0]
    for other in codes[1:]:
        pairs = found * (int(other.max(initial=0)) + 1) + other
        encoded = pa.array(pairs, mask=(found == NULL) | (other == NULL)).dictionary_encode()
        found = as_ids(np.asarray(pc.fill_null(encoded.indices, NULL)))
    stated = np.flatnonzero(found != NULL)[::-1]
    row_of = np.zeros(int(found.max(initial=NULL)) + 1, dtype=np.int64)
    row_of[found[stated]] = stated
    return found, np.stack([each[row_of] for each in codes])


def _together(cells: list[Cells], rows: int) -> list[Cells]:
    """The cells of several columns, row by row or, where some are lists, element by element."""
    lists = [each for each in cells if each.rows is not None]
    if not lists:
        return cells
    if any(each.owner != lists[0].owner or len(each.codes) != len(lists[0].codes) for each in lists):
        raise InputError("a term has cells of two lists", hint="use fields of one list")
    of = lists[0].rows
    assert of is not None
    owner = lists[0].owner
    return [
        each if each.rows is not None else Cells(each.codes[of], each.lexicals, each.datatypes, of, owner)
        for each in cells
    ]


def _term(slot: IriOf | TextOf, cells: Sequence[str | None]) -> Term | None:
    """The term of a combination of cells; None if a cell has no text or the term is none."""
    if None in cells:
        return None
    given = iter(cells)
    texts = [part if isinstance(part, str) else next(given) or "" for part in slot.parts]
    if isinstance(slot, TextOf):
        return Literal("".join(texts), slot.datatype, slot.language, slot.direction)
    if len(slot.parts) > 1 or not paths_of(slot):
        pieces = zip(texts, slot.parts, strict=True)
        texts = [text if isinstance(part, str) else encoded(text) for text, part in pieces]
    term = IRI("".join(texts))
    return term if is_iri(term.value) else None


def encoded(text: str) -> str:
    """The text percent-encoded, for a part of an IRI."""
    return _ENCODED.sub(lambda found: quote(found[0], safe=""), text)


def _no_term(cells: object) -> str:
    return f"the cell {str(cells)[:_SHOWN_MAX]!r} gives no valid IRI or text"


def _no_fault(_: int) -> str:
    return ""


__all__ = ["BAD", "Column", "Slots", "encoded", "of_rows"]
