"""Multisets of solution mappings for a whole batch of graphs at once, as columns of term ids.

Every operator of the matcher maps relations to a relation. The graph of a row is one more column, so that n events cost
the same few array operations as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from arrays.columns import NONE
from sparql_gpm.bounds import check_together
from sparql_gpm.columns import UNBOUND, Ids, Mask
from sparql_gpm.relations.keys import Index, first_rows

_SPARSE_FACTOR = 64
"""A table by frame pays where there are at most so many frames for each row."""


@dataclass(frozen=True, slots=True, eq=False)
class BoundRows:
    """The rows of a relation that bind the same subset of some variables.

    bound       that subset
    rows        the numbers of the rows in the whole, or None for all of them
    relation    these rows
    """

    bound: frozenset[str]
    rows: Ids | None
    relation: Relation


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A multiset of solution mappings.

    size        number of rows
    events      int64[size], the frame (usually the event) of each row; None: the rows are in every frame, as those of
                VALUES and of a knowledge base
    columns     variable → int64[size] with UNBOUND; a variable without a column is unbound in all rows
    bound       columns known to hold no UNBOUND; others may or may not
    """

    size: int
    events: Ids | None
    columns: Mapping[str, Ids]
    bound: frozenset[str] = frozenset()
    _binds: dict[str, bool] = field(default_factory=dict, repr=False)
    _indexes: dict[tuple[str, ...], Index] = field(default_factory=dict, repr=False)
    _parts: dict[tuple[str, ...], list[BoundRows]] = field(default_factory=dict, repr=False)
    _rows: list[Ids | None] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return self.size

    def take(self, rows: Ids | Mask) -> Relation:
        """The rows of a mask, or of a list of indices in its order."""
        if rows.dtype == np.bool_:
            if rows.all():
                return self
            rows = np.flatnonzero(rows)
        events = None if self.events is None else self.events[rows]
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Relation(len(rows), events, columns, self.bound)

    def project(self, variables: Iterable[str]) -> Relation:
        """Only these columns, where they exist; rows are neither lost nor merged."""
        kept = {v: self.columns[v] for v in variables if v in self.columns}
        return Relation(self.size, self.events, kept, self.bound & kept.keys())

    def without(self, variables: Iterable[str]) -> Relation:
        """All columns but these."""
        dropped = frozenset(variables)
        return self.project(v for v in self.columns if v not in dropped)

    def extend(self, variable: str, values: Ids) -> Relation:
        """With one more column, or with that column replaced."""
        return Relation(self.size, self.events, {**self.columns, variable: values}, self.bound - {variable})

    def rekey(self, events: Ids) -> Relation:
        """The same rows in other frames."""
        return Relation(self.size, events, self.columns, self.bound)

    def binds(self, variable: str) -> bool:
        """True if every row binds the variable of a column; computed once."""
        if variable in self.bound:
            return True
        if variable not in self._binds:
            self._binds[variable] = bool(self.columns[variable].all())
        return self._binds[variable]

    def column(self, variable: str) -> Ids:
        """The variable's column, all UNBOUND if the relation has none."""
        known = self.columns.get(variable)
        return np.zeros(self.size, dtype=np.int64) if known is None else known

    def distinct(self, variables: Sequence[str] | None = None) -> Relation:
        """The first of each set of rows that are equal in frame and variables (default all)."""
        names = list(self.columns) if variables is None else [v for v in variables if v in self.columns]
        if self.size < 2 or (self.events is not None and bool(np.all(self.events[1:] > self.events[:-1]))):
            return self
        keys = self.key_columns(names, with_events=self.events is not None)
        first = first_rows(keys) if keys else np.zeros(1, dtype=np.int64)
        return self if len(first) == self.size else self.take(first)

    def spread(self, frames: Ids) -> Relation:
        """Rows without frames, repeated for each of the frames; others as they are. Raises TooManyTogether."""
        if self.events is not None:
            return self
        check_together(self.size * len(frames))
        rows = np.tile(np.arange(self.size, dtype=np.int64), len(frames))
        return self.take(rows).rekey(np.repeat(frames, self.size))

    def key_columns(self, variables: Sequence[str], with_events: bool) -> list[Ids]:
        """The columns of a key: the frame first if wanted, then the variables."""
        columns = [self.columns[v] for v in variables]
        if with_events:
            assert self.events is not None
            columns.insert(0, self.events)
        return columns

    def index(self, variables: tuple[str, ...], with_events: bool) -> Index:
        """Rows sorted by frame (if wanted) and variables; made once."""
        key = ("\0event", *variables) if with_events else variables
        if key not in self._indexes:
            self._indexes[key] = Index.of(self.key_columns(variables, with_events))
        return self._indexes[key]

    def row_of_frame(self) -> Ids | None:
        """By frame its only row, NONE where it has none; the last place, NONE, is for all later frames.

        None where a frame has several rows, or a table does not pay; made once.
        """
        if not self._rows:
            self._rows.append(None if self.events is None else _row_of_frame(self.events))
        return self._rows[0]

    def parts(self, variables: tuple[str, ...]) -> list[BoundRows]:
        """The rows split by the variables that they bind; made once."""
        if variables not in self._parts:
            self._parts[variables] = self._split(variables)
        return self._parts[variables]

    def _split(self, variables: tuple[str, ...]) -> list[BoundRows]:
        signature = np.zeros(self.size, dtype=np.int64)
        for bit, variable in enumerate(variables):
            signature |= (self.columns[variable] != UNBOUND).astype(np.int64) << bit
        found = np.unique(signature).tolist()
        parts = []
        for value in found:
            bound = frozenset(v for bit, v in enumerate(variables) if value >> bit & 1)
            rows = None if len(found) == 1 else np.flatnonzero(signature == value)
            parts.append(BoundRows(bound, rows, self if rows is None else self.take(rows)))
        return parts


def _row_of_frame(frames: Ids) -> Ids | None:
    if not len(frames) or frames[-1] > _SPARSE_FACTOR * len(frames) or not np.all(frames[1:] > frames[:-1]):
        return None
    rows = np.full(int(frames[-1]) + 2, NONE, dtype=np.int64)
    rows[frames] = np.arange(len(frames), dtype=np.int64)
    return rows


UNIT = Relation(1, None, {})
"""The empty mapping, once, in every frame: the unit of join."""


def nothing() -> Relation:
    """No row."""
    return Relation(0, None, {})


def constant(variables: Sequence[str], rows: Sequence[Sequence[int]]) -> Relation:
    """Rows of ids in every frame: VALUES."""
    columns = {v: np.array([row[i] for row in rows], dtype=np.int64) for i, v in enumerate(variables)}
    return Relation(len(rows), None, columns)


def union(relations: Sequence[Relation], frames: Ids) -> Relation:
    """All rows of all relations; those without frames are spread over the frames if others have some."""
    filled = [relation for relation in relations if relation.size]
    if not filled:
        return nothing()
    if len(filled) == 1:
        return filled[0]
    if any(relation.events is not None for relation in filled):
        filled = [relation.spread(frames) for relation in filled]
    names = dict.fromkeys(name for relation in filled for name in relation.columns)
    columns = {name: np.concatenate([relation.column(name) for relation in filled]) for name in names}
    events = [relation.events for relation in filled if relation.events is not None]
    size = sum(relation.size for relation in filled)
    return Relation(size, np.concatenate(events) if events else None, columns)
