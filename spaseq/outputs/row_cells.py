"""Rows as texts of cells for people: IRIs are shortened by the prefixes of the queries."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sparql_gpm.terms import IRI, Term, to_ntriples
from spaseq.errors import visible
from spaseq.outputs.rows import Row, bare, time_text
from spaseq.outputs.sink import Columns

_EVENTS_SHOWN_MAX = 3
"""Longer repetitions show their first and last event and how many there are."""
_LOCAL = re.compile(r"[^/#\s]+")
_ONE_LINE = str.maketrans("\n\r\t", "   ")


class RowCells:
    """The header and the cells of rows with some columns; each text is one line, without control characters."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        # The longest namespace first: `ex:a/` before `ex:`.
        self._prefixes = sorted(columns.prefixes, key=lambda prefix: (-len(prefix[1]), prefix))

    def header(self) -> list[str]:
        """The titles of the columns."""
        fixed = ["query"] if self._columns.several else []
        graph = ["graph", "triples"] if self._columns.constructs else []
        variables = [f"?{name}" for name in self._columns.variables]
        return _shown([*fixed, "time", "start", *graph, *variables, *self._columns.steps])

    def cells(self, row: Row) -> list[str]:
        """The cells of a row, empty where it has no value."""
        cells = [row.query] if self._columns.several else []
        cells += [time_text(row.time), time_text(row.start)]
        if self._columns.constructs:
            triples = sorted({" ".join(map(self._token, triple)) for triple in row.triples})
            cells += [self._cell(IRI(row.graph)) if row.graph is not None else "", " . ".join(triples)]
        bindings, events = dict(row.bindings), dict(row.events)
        cells += [self._cell(bindings[name]) if name in bindings else "" for name in self._columns.variables]
        return _shown(cells + [self._events(events.get(step, ())) for step in self._columns.steps])

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


def _shown(cells: Sequence[str]) -> list[str]:
    return [visible(cell.translate(_ONE_LINE)) for cell in cells]
