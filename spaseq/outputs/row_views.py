"""Rows as views: many rows share columns of values, and what a row holds is made when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from sparql_gpm.terms import Term
from spaseq.outputs.rows import Row, StepEvents


@dataclass(frozen=True, slots=True)
class ValueColumns:
    """The values of some rows.

    steps           the names of the steps, by symbol
    terms           of each variable, None where a row has no value
    symbols, graphs the symbol and the graph name of each event, by row and symbol
    ends            0, and where the events of each row end
    """

    query: str
    steps: Sequence[str]
    times: Sequence[int]
    starts: Sequence[int]
    terms: Mapping[str, Sequence[Term | None]]
    symbols: Sequence[int]
    graphs: Sequence[str]
    ends: Sequence[int]


class RowView(Row):
    """A row of a SELECT query over columns of values, which `views` makes; copies of it are rows by themselves."""

    __slots__ = ("_at", "_columns")
    _at: int
    _columns: ValueColumns

    def __new__(cls, *values: Any, **named: Any) -> Any:
        """A row by itself, as `dataclasses.replace` asks for."""
        return Row(*values, **named)

    @property
    def query(self) -> str:
        """The name of the query."""
        return self._columns.query

    @property
    def time(self) -> int:
        """The time of the last event."""
        return self._columns.times[self._at]

    @property
    def start(self) -> int:
        """The time of the first event."""
        return self._columns.starts[self._at]

    @property
    def bindings(self) -> tuple[tuple[str, Term], ...]:
        """The pairs of Row."""
        values = [(name, terms[self._at]) for name, terms in self._columns.terms.items()]
        return tuple([(name, term) for name, term in values if term is not None])

    @property
    def events(self) -> StepEvents:
        """The steps of Row."""
        columns = self._columns
        begin, end = columns.ends[self._at], columns.ends[self._at + 1]
        taken = zip(columns.symbols[begin:end], columns.graphs[begin:end], strict=True)
        by_step = groupby(taken, key=itemgetter(0))
        return tuple([(columns.steps[symbol], tuple([name for _, name in some])) for symbol, some in by_step])

    @property
    def graph(self) -> None:
        """No graph."""
        return None

    @property
    def triples(self) -> tuple[()]:
        """No triple."""
        return ()

    @property
    def trigger(self) -> int:
        """No position: no stream is derived."""
        return -1

    def __getitem__(self, variable: str) -> Term:
        term = self._columns.terms[variable][self._at]
        if term is None:
            raise KeyError(variable)
        return term

    def __repr__(self) -> str:
        return repr(self._row())

    def __reduce__(self) -> tuple[Any, ...]:
        return Row, tuple(getattr(self, each.name) for each in fields(self))

    def _row(self) -> Row:
        make, values = self.__reduce__()
        row: Row = make(*values)
        return row


_set_columns, _set_at = (vars(RowView)[name].__set__ for name in ("_columns", "_at"))


def views(columns: ValueColumns) -> Iterator[Row]:
    """A view of each row."""
    return map(partial(_view, columns), range(len(columns.times)))


def _view(columns: ValueColumns, at: int) -> RowView:
    view: RowView = object.__new__(RowView)
    _set_columns(view, columns)
    _set_at(view, at)
    return view
