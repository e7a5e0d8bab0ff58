"""Rows as columns: what a query reports where matches are many, and how rows are made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arrays.columns import places_of
from arrays.wanted import check_wanted
from automata.matches.match_table import START, SYMBOL, TIME, MatchTable
from automata.values import UNBOUND, Ids, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import Term
from spaseq.outputs.row_views import ValueColumns, views
from spaseq.outputs.rows import Row, StepEvents

Objects = NDArray[np.object_]
ROWS_MAX = 1 << 13
"""Rows that are written, or made into values, at once."""
ENTRIES_MAX = 1 << 17
"""Entries of matches of more than one row that are written at once."""


@dataclass(frozen=True, slots=True)
class StepEntries:
    """The entries of matches by match and symbol: those of one step of a match stand together, in order.

    which       the match of each
    named       the place of its graph's name in the names of the table
    begins      mask of the first one of each step of a match
    """

    which: Ids
    symbols: Ids
    named: Ids
    begins: Mask


@dataclass(frozen=True, eq=False)
class RowTable:
    """Rows of a SELECT query, in report order; its ids hold until the next batch.

    steps       the names of its steps, by symbol
    columns     of the projection: term ids, UNBOUND where a row has no value
    names       graph names of events
    named       the place in `names` of that of each entry of the matches
    """

    query: str
    steps: Sequence[str]
    columns: Mapping[str, Ids]
    matches: MatchTable
    names: Objects
    named: Ids
    dictionary: Dictionary

    def __len__(self) -> int:
        return len(self.matches)

    def __iter__(self) -> Iterator[Row]:
        """Views of the rows, which hold longer than the ids."""
        for part in self.parts():
            yield from part.views()

    def parts(self) -> Iterator[RowTable]:
        """All rows in order, in parts of at most ROWS_MAX rows and, with more than one, ENTRIES_MAX entries.

        Raises NotWanted.
        """
        begin = 0
        while begin < len(self):
            entries = int(self.matches.ends[begin - 1]) if begin else 0
            fitting = int(np.searchsorted(self.matches.ends, entries + ENTRIES_MAX, "right"))
            end = min(max(fitting, begin + 1), begin + ROWS_MAX)
            check_wanted()
            yield self.part(begin, end)
            begin = end

    def part(self, begin: int, end: int) -> RowTable:
        """Some consecutive rows."""
        begin, end, _ = slice(begin, end).indices(len(self))
        columns = {name: ids[begin:end] for name, ids in self.columns.items()}
        first, last = (int(self.matches.ends[row - 1]) if row else 0 for row in (begin, end))
        return self._like(columns, self.matches.part(begin, end), self.named[first:last])

    def take(self, which: Ids) -> RowTable:
        """Some rows, in order."""
        columns = {name: ids[which] for name, ids in self.columns.items()}
        kept = np.zeros(len(self), dtype=np.bool_)
        kept[which] = True
        return self._like(columns, self.matches.take(which), self.named[np.repeat(kept, self.matches.sizes)])

    def _like(self, columns: Mapping[str, Ids], matches: MatchTable, named: Ids) -> RowTable:
        return RowTable(self.query, self.steps, columns, matches, self.names, named, self.dictionary)

    def rows(self) -> list[Row]:
        """Each as a value by itself."""
        times, starts = (self.matches.facts[:, column].tolist() for column in (TIME, START))
        values = zip(times, starts, self._bindings(), self._events(), strict=True)
        return [Row(self.query, time, start, bound, events) for time, start, bound, events in values]

    def views(self) -> Iterator[Row]:
        """The rows over shared columns of values."""
        facts, entries = self.matches.facts, self.by_step
        times, starts = facts[:, TIME].tolist(), facts[:, START].tolist()
        terms = {name: self._terms(ids) for name, ids in self.columns.items()}
        symbols, graphs = entries.symbols.tolist(), self.names[entries.named].tolist()
        ends = [0, *self.matches.ends.tolist()]
        return views(ValueColumns(self.query, self.steps, times, starts, terms, symbols, graphs, ends))

    @cached_property
    def by_step(self) -> StepEntries:
        """The entries by match, then step."""
        which = np.repeat(np.arange(len(self)), self.matches.sizes)
        symbols, named = self.matches.entries[:, SYMBOL], self.named
        if ((symbols[1:] < symbols[:-1]) & (which[1:] == which[:-1])).any():
            order = np.lexsort((symbols, which))
            symbols, named = symbols[order], named[order]
        begins = np.ones(len(symbols), dtype=np.bool_)
        begins[1:] = (which[1:] != which[:-1]) | (symbols[1:] != symbols[:-1])
        return StepEntries(which, symbols, named, begins)

    @cached_property
    def word(self) -> Ids | None:
        """The symbols of the entries of each match, if all matches have the same ones, ascending, each once."""
        width = self.matches.width
        if not width:
            return None
        symbols = self.matches.entries[:, SYMBOL].reshape(-1, width)
        alike = bool((symbols[0, 1:] > symbols[0, :-1]).all()) and bool((symbols == symbols[0]).all())
        return symbols[0] if alike else None

    @property
    def taken(self) -> tuple[Ids, Ids, Ids]:
        """The steps that matches took: the match of each, its symbol, and where its graphs end in `taken_graphs`."""
        entries = self.by_step
        first = np.flatnonzero(entries.begins)
        return entries.which[first], entries.symbols[first], np.append(first[1:], len(entries.which))[: len(first)]

    @property
    def taken_graphs(self) -> Objects:
        """The graph names of the events of all steps, step after step."""
        return self.names[self.by_step.named]

    def _events(self) -> list[StepEvents]:
        which, symbols, ends = self.taken
        graphs, begin, pairs = self.taken_graphs.tolist(), 0, []
        for symbol, end in zip(symbols.tolist(), ends.tolist(), strict=True):
            pairs.append((self.steps[symbol], tuple(graphs[begin:end])))
            begin = end
        found, begin = [], 0
        for end in np.cumsum(np.bincount(which, minlength=len(self))).tolist():
            found.append(tuple(pairs[begin:end]))
            begin = end
        return found

    def _bindings(self) -> list[tuple[tuple[str, Term], ...]]:
        columns = [self._pairs(name, ids) for name, ids in self.columns.items()]
        if not columns:
            return [()] * len(self)
        if all(bool((ids != UNBOUND).all()) for ids in self.columns.values()):
            return list(zip(*columns, strict=True))
        return [tuple(pair for pair in row if pair is not None) for row in zip(*columns, strict=True)]

    def _terms(self, ids: Ids) -> list[Term | None]:
        """The term of each row, made once for each distinct one; None where it is unbound."""
        distinct, places = places_of(ids)
        known = np.empty(len(distinct), dtype=np.object_)
        known[:] = self.dictionary.terms(distinct.tolist())
        found: list[Term | None] = known[places].tolist()
        return found

    def _pairs(self, name: str, ids: Ids) -> list[tuple[str, Term] | None]:
        """(name, term) of each row, made once for each distinct term; None where it is unbound."""
        distinct, places = places_of(ids)
        pairs = np.empty(len(distinct), dtype=np.object_)
        for number, identifier in enumerate(distinct.tolist()):
            pairs[number] = None if identifier == UNBOUND else (name, self.dictionary.term(identifier))
        found: list[tuple[str, Term] | None] = pairs[places].tolist()
        return found


Rows = list[Row] | RowTable
"""Some rows in report order."""


def parts_of(rows: Sequence[Row] | RowTable) -> Iterator[Sequence[Row] | RowTable]:
    """All rows in order, in parts of a bounded number of rows."""
    if isinstance(rows, RowTable):
        yield from rows.parts()
    else:
        for begin in range(0, len(rows), ROWS_MAX):
            yield rows[begin : begin + ROWS_MAX]
