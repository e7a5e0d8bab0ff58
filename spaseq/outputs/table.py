"""Rows as a table for a terminal, written as they are found."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from sparql_gpm.terms import IRI, Term, to_ntriples
from spaseq.errors import visible
from spaseq.outputs.destination import Output
from spaseq.outputs.rows import Row, bare, time_text
from spaseq.outputs.sink import Columns, TextSink

_SCREENFUL_MAX = 50
"""Rows by which the widths of the columns are chosen."""
_EVENTS_SHOWN_MAX = 3
"""Longer repetitions show their first and last event and how many there are."""
_COLUMN_GAP = "  "
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class TableSink(TextSink):
    """Aligned columns under one header; IRIs are shortened by the prefixes of the queries.

    The widths are those of the first rows, at most a screenful, so that rows are shown at once. A wider cell below
    moves the rest of its own line only. On a terminal a line is cut at its width; elsewhere nothing is cut. A run
    without rows shows nothing.
    """

    def __init__(self, output: Output, columns: Columns) -> None:
        super().__init__(output, columns)
        # The longest namespace first: `ex:a/` before `ex:`.
        self._prefixes = sorted(columns.prefixes, key=lambda prefix: (-len(prefix[1]), prefix))
        self._widths: list[int] | None = None

    def text(self, rows: Sequence[Row]) -> str:
        """One line per row; the header stands above the first."""
        lines = [_shown(self._cells(row)) for row in rows]
        text = ""
        if self._widths is None:
            header = _shown(self._header())
            self._widths = [max(map(cell_len, column)) for column in zip(header, *lines[:_SCREENFUL_MAX], strict=True)]
            text, rule = self._line(header), self._line(["─" * width for width in self._widths])
            text = (f"{_BOLD}{text.rstrip()}{_PLAIN}\n" if self._output.styled else text) + rule
        return text + "".join(self._line(cells) for cells in lines)

    def _header(self) -> list[str]:
        fixed = ["query"] if self._columns.several else []
        graph = ["graph", "triples"] if self._columns.constructs else []
        variables = [f"?{name}" for name in self._columns.variables]
        return [*fixed, "time", "start", *graph, *variables, *self._columns.steps]

    def _cells(self, row: Row) -> list[str]:
        cells = [row.query] if self._columns.several else []
        cells += [time_text(row.time), time_text(row.start)]
        if self._columns.constructs:
            triples = sorted({" ".join(map(self._token, triple)) for triple in row.triples})
            cells += [self._cell(IRI(row.graph)) if row.graph is not None else "", " . ".join(triples)]
        bindings, events = dict(row.bindings), dict(row.events)
        cells += [self._cell(bindings[name]) if name in bindings else "" for name in self._columns.variables]
        return cells + [self._events(events.get(step, ())) for step in self._columns.steps]

    def _events(self, names: Sequence[str]) -> str:
        short = [self._cell(IRI(name)) for name in names]
        if len(short) <= _EVENTS_SHOWN_MAX:
            return " ".join(short)
        return f"{short[0]} … {short[-1]} ({len(short)})"

    def _cell(self, term: Term) -> str:
        return self._short(term) or bare(term)

    def _token(self, term: Term) -> str:
        return self._short(term) or to_ntriples(term)

    def _short(self, term: Term) -> str | None:
        """An IRI as a prefixed name, if it has one."""
        if isinstance(term, IRI):
            for prefix, namespace in self._prefixes:
                local = term.value.removeprefix(namespace)
                if namespace and local != term.value and _LOCAL.fullmatch(local):
                    return f"{prefix}:{local}"
        return None

    def _line(self, cells: Sequence[str]) -> str:
        assert self._widths is not None
        padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, self._widths, strict=True)]
        line = _COLUMN_GAP.join(padded).rstrip()
        if self._output.width is not None and cell_len(line) > self._output.width:
            line = set_cell_size(line, self._output.width - 1) + "…"
        return line + "\n"


_LOCAL = re.compile(r"[^/#\s]+")
_ONE_LINE = str.maketrans("\n\r\t", "   ")


def _shown(cells: Sequence[str]) -> list[str]:
    return [visible(cell.translate(_ONE_LINE)) for cell in cells]
