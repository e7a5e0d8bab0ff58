"""Rows as CSV: RFC 4180, terms as in SPARQL 1.1 Query Results CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from arrays.columns import places_of
from automata.matches.match_table import START, TIME
from automata.values import NONE
from spaseq.outputs.destination import Output, encoded
from spaseq.outputs.joined import Lists, Part, TermTexts, joined, objects, pieces_of
from spaseq.outputs.row_table import RowTable
from spaseq.outputs.rows import Row, bare, ntriples_lines, time_text
from spaseq.outputs.sink import Columns, TextSink

_QUOTED = re.compile(r'[,"\r\n]')
"""A field with one of these is quoted."""


class CsvSink(TextSink):
    """One record per row, under the union of the columns of all queries.

    The columns are `query,time,start`, then `graph,triples` when a query constructs, then the
    projected variables, then `events.STEP` for each step. A variable that has the name of one of
    the fixed columns is headed `?name`. An IRI and a literal's lexical form stand bare, a blank
    node as `_:label`; several events of one step are separated by spaces, triples by line feeds.
    """

    def __init__(self, output: Output, columns: Columns) -> None:
        super().__init__(output, columns)
        fixed = ["query", "time", "start", *(["graph", "triples"] if columns.constructs else [])]
        variables = [f"?{name}" if name in fixed else name for name in columns.variables]
        output.write(_records([[*fixed, *variables, *(f"events.{step}" for step in columns.steps)]]))
        self._terms = TermTexts(lambda term: _field(bare(term)))

    def text(self, rows: Sequence[Row]) -> str:
        """The records."""
        return _records(map(self._record, rows))

    def table_text(self, table: RowTable) -> bytes:
        """The records; the bytes are those of `text`."""
        query, facts = encoded(_field(table.query)), table.matches.facts
        times = pieces_of(facts[:, TIME], lambda time: b"%b,%b," % (query, time_text(time).encode()))
        after = b",," if self._columns.constructs else b""
        starts = pieces_of(facts[:, START], lambda time: time_text(time).encode() + after)
        return joined([times, starts, *self._bindings(table), *self._events(table)], len(table))

    def _bindings(self, table: RowTable) -> Iterator[Part]:
        """A field for each variable, with the comma before it."""
        for name in self._columns.variables:
            if name not in table.columns:
                yield b","
                continue
            texts, places = self._terms.of(table.columns[name], table.dictionary)
            yield objects((b"," + text for text in texts), len(texts))[places]

    def _events(self, table: RowTable) -> Iterator[Part]:
        """The fields of the steps, and the end of the record."""
        entries = table.by_step
        distinct, places = places_of(entries.named)
        names = table.names[distinct].tolist()
        awkward = np.array([_QUOTED.search(name) is not None for name in names], dtype=np.bool_)[places]
        pieces = objects((encoded(name.replace('"', '""')) for name in names), len(names))
        spaced = objects((b" " + piece for piece in pieces.tolist()), len(names))
        symbols = {name: symbol for symbol, name in enumerate(table.steps)}
        open_ = np.zeros(len(table), dtype=np.int64)
        for step in self._columns.steps:
            here = np.flatnonzero(entries.symbols == symbols.get(step, NONE))
            which = entries.which[here]
            quotes = np.bincount(which, awkward[here], len(table)) > 0
            yield _BETWEEN[2 * open_ + quotes]
            own = np.where(entries.begins[here], pieces[places[here]], spaced[places[here]])
            yield Lists(np.bincount(which, minlength=len(table)), own)
            open_ = quotes.astype(np.int64)
        yield _END[open_]

    def _record(self, row: Row) -> list[str]:
        record = [row.query, time_text(row.time), time_text(row.start)]
        if self._columns.constructs:
            record += [row.graph or "", "\n".join(ntriples_lines(row.triples))]
        bindings, events = dict(row.bindings), dict(row.events)
        record += [bare(bindings[name]) if name in bindings else "" for name in self._columns.variables]
        return record + [" ".join(events.get(step, ())) for step in self._columns.steps]


_BETWEEN = objects([b",", b',"', b'",', b'","'], 4)
"""What separates two fields: by whether the one before (2) and the one after (1) are quoted."""
_END = objects([b"\r\n", b'"\r\n'], 2)


def _field(text: str) -> str:
    """A field of a record, quoted where it must be."""
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def _records(records: Iterable[list[str]]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(records)
    return buffer.getvalue()
