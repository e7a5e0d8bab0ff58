"""Rows as columns: what a query reports where matches are many, and how rows are made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from automata.matches.match_table import START, SYMBOL, TIME, MatchTable
from automata.values import UNBOUND, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import Term
from spaseq.outputs.rows import Row, StepEvents

Objects = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class RowTable:
    """Rows of a SELECT query, in report order; its ids hold until the next batch.

    steps       the names of its steps, by symbol
    columns     of the projection: term ids, UNBOUND where a row has no value
    graphs      the graph name of each entry of the matches
    """

    query: str
    steps: Sequence[str]
    columns: Mapping[str, Ids]
    matches: MatchTable
    graphs: Objects
    dictionary: Dictionary

    def __len__(self) -> int:
        return len(self.matches)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    def part(self, begin: int, end: int) -> RowTable:
        """Some consecutive rows."""
        columns = {name: ids[begin:end] for name, ids in self.columns.items()}
        starts = np.append(self.matches.starts, len(self.graphs))
        matches = self.matches.take(np.arange(begin, min(end, len(self)), dtype=np.int64))
        graphs = self.graphs[starts[begin] : starts[min(end, len(self))]]
        return RowTable(self.query, self.steps, columns, matches, graphs, self.dictionary)

    def take(self, which: Ids) -> RowTable:
        """Some rows, in order."""
        columns = {name: ids[which] for name, ids in self.columns.items()}
        kept = np.zeros(len(self), dtype=np.bool_)
        kept[which] = True
        graphs = self.graphs[np.repeat(kept, self.matches.sizes)]
        return RowTable(self.query, self.steps, columns, self.matches.take(which), graphs, self.dictionary)

    def rows(self) -> list[Row]:
        """Each as a value by itself."""
        times, starts = (self.matches.facts[:, column].tolist() for column in (TIME, START))
        values = zip(times, starts, self._bindings(), self._events(), strict=True)
        return [Row(self.query, time, start, bound, events) for time, start, bound, events in values]

    @cached_property
    def _ordered(self) -> Ids:
        """The entries by match, then step."""
        which = np.repeat(np.arange(len(self)), self.matches.sizes)
        return np.lexsort((self.matches.entries[:, SYMBOL], which))

    @cached_property
    def taken(self) -> tuple[Ids, Ids, Ids]:
        """The steps that matches took: the match of each, its symbol, and where its graphs end in `taken_graphs`."""
        which = np.repeat(np.arange(len(self)), self.matches.sizes)
        symbols = self.matches.entries[self._ordered, SYMBOL]
        last = np.ones(len(symbols), dtype=np.bool_)
        last[:-1] = (which[1:] != which[:-1]) | (symbols[1:] != symbols[:-1])
        ends = np.flatnonzero(last)
        return which[ends], symbols[ends], ends + 1

    @cached_property
    def taken_graphs(self) -> Objects:
        """The graph names of the events of all steps, step after step."""
        return self.graphs[self._ordered]

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

    def _pairs(self, name: str, ids: Ids) -> list[tuple[str, Term] | None]:
        """(name, term) of each row, made once for each distinct term; None where it is unbound."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        pairs = np.empty(len(distinct), dtype=np.object_)
        for number, identifier in enumerate(distinct.tolist()):
            pairs[number] = None if identifier == UNBOUND else (name, self.dictionary.term(identifier))
        found: list[tuple[str, Term] | None] = pairs[inverse].tolist()
        return found


Rows = list[Row] | RowTable
"""Some rows in report order."""
