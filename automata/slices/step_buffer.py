"""Input buffers: the solutions of one symbol in merged order, for as long as a match may ask for them (K Section 3).

A buffered solution has a number that it keeps: how many were buffered before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrays.columns import expand, hash_columns
from automata.slices.buffer_index import BufferIndex, buffer_index
from automata.slices.step_table import Part, StepTable, blocks
from automata.state import Values, rows_of
from automata.values import UNBOUND, Ids, Mask

LOW, TIME, STREAM, SLOT, SEQ, TAIL, RANK, WINDOW, PARTITION, NUMBER = range(10)
_FIXED = 10
_ROWS_INITIAL = 256
_TAIL_MAX = 256
"""Solutions that may wait to be indexed."""
_SEGMENT_FACTOR = 4
"""An index is made anew, with what came after it, once that is more than this share of it: they are few, and each
solution is indexed a logarithmic number of times."""


class Buffer:
    """The solutions of one symbol. `first` … `end` - 1 are the numbers of those that are kept.

    variables   those that have a column; the others are unbound
    growth      it gets so many times the room that what is kept needs, once that is full
    """

    def __init__(self, symbol: int, variables: Sequence[int], growth: float = 2.0) -> None:
        self._symbol = symbol
        self._growth = growth
        self._rows = {variable: _FIXED + place for place, variable in enumerate(variables)}
        self._columns: NDArray[np.int64] = np.empty((_FIXED + len(variables), _ROWS_INITIAL), dtype=np.int64)
        self._origin = 0
        self._indexes: dict[tuple[int, ...], list[BufferIndex]] = {}
        self.first = self.end = 0

    def __len__(self) -> int:
        return self.end - self.first

    def add(self, table: StepTable) -> None:
        """The next slice."""
        begin, needed = self.end - self._origin, self.end - self._origin + len(table)
        if needed > self._columns.shape[1]:
            self._compact(max(int(self._growth * (len(self) + len(table))), _ROWS_INITIAL))
            begin, needed = self.end - self._origin, self.end - self._origin + len(table)
        fixed = (
            table.low, table.times, table.streams, table.slots, table.seq_low, table.tails, table.rank_low,
            table.windows, table.partitions, table.parts[0].numbers,
        )  # fmt: skip
        for number, column in enumerate(fixed):
            self._columns[number, begin:needed] = column
        for variable, row in self._rows.items():
            self._columns[row, begin:needed] = table.values.get(variable, UNBOUND)
        self.end += len(table)

    def forget(self, before: int) -> None:
        """Drops the solutions with smaller numbers."""
        self.first = max(self.first, min(before, self.end))

    def column(self, column: int) -> Ids:
        """One column of everything kept."""
        kept: Ids = self._kept()[column]
        return kept

    def at(self, column: int, numbers: Ids) -> Ids:
        """One column of these solutions."""
        found: Ids = self._columns[column, numbers - self._origin]
        return found

    def value(self, variable: int, numbers: Ids) -> Ids:
        """The values of the variable in these solutions."""
        return self.at(self._rows[variable], numbers)

    def values(self) -> Ids:
        """Every id in the buffer, each once."""
        return np.unique(self._kept()[_FIXED:])

    def snapshot(self) -> list[Any]:
        """See `automata.state.Restorable`: the columns that are no ids stand apart."""
        kept = self._kept()
        return [self.first, list(kept[:_FIXED]), Values(kept[_FIXED:])]

    def restore(self, state: list[Any]) -> None:
        """See `automata.state.Restorable`; solutions keep their numbers, and indexes are made again."""
        first, fixed, values = state
        self._columns = np.concatenate((rows_of(fixed, values.ids.shape[1]).T, values.ids))
        self._origin = self.first = first
        self.end = first + self._columns.shape[1]

    def number(self, column: int, bounds: Ids, after: bool = False) -> Ids:
        """The number of the first solution whose LOW or TIME reaches each bound (`after`: exceeds it)."""
        return self.column(column).searchsorted(bounds, "right" if after else "left") + self.first

    def table(self, numbers: Ids) -> StepTable:
        """These solutions as a step table."""
        some = self._columns[:, numbers - self._origin]
        low, times, streams, slots, seq, tails, rank, windows, partitions, within = some[:_FIXED]
        return StepTable(
            low, low, times, streams, slots, seq, seq, tails != 0, rank, rank, windows, partitions,
            dict(zip(self._rows, some[_FIXED:], strict=True)), (Part(self._symbol, low, within),),
        )  # fmt: skip

    def search(
        self, begin: Ids, end: Ids, key: tuple[int, ...], hashes: Ids, in_context: bool
    ) -> Iterator[tuple[Ids, Ids]]:
        """Pairs (row, number) with begin <= number < end and equal hashed keys, some at a time.

        hashes      of each row's partition and window, `in_context`, and of its values of the key's variables
        """
        if not key and not in_context:
            for which, within in _expanded(begin, end):
                yield which, begin[which] + within
            return
        since = int(begin[begin < end].min(initial=self.end))
        for index in self._segments(since, key, in_context):
            low, high = index.ranges(hashes, begin, end)
            for which, within in _expanded(low, high):
                yield which, index.numbers(low[which] + within)

    def reaches(self, begin: Ids, end: Ids, key: tuple[int, ...], hashes: Ids, in_context: bool) -> Mask:
        """A mask of the rows for which `search` finds a solution."""
        if not key and not in_context:
            return begin < end
        found = np.zeros(len(begin), dtype=np.bool_)
        for index in self._segments(int(begin[begin < end].min(initial=self.end)), key, in_context):
            low, high = index.ranges(hashes, begin, end)
            found |= low < high
        return found

    def _segments(self, since: int, key: tuple[int, ...], in_context: bool) -> Iterator[BufferIndex]:
        """Indexes that cover everything from number `since` on; a short end is indexed for the occasion."""
        known = self._indexes.setdefault((int(in_context), *key), [])
        covered = known[-1].end if known else self.first
        if since < covered or self.end - since > _TAIL_MAX:
            if self.end - covered > _TAIL_MAX:
                begin = covered
                while known and known[-1].end - known[-1].first <= _SEGMENT_FACTOR * (self.end - begin):
                    begin = known.pop().first
                known[:] = [index for index in known if index.end > self.first]
                known.append(self._index(max(begin, self.first), key, in_context))
                covered = self.end
            yield from (index for index in known if index.end > since)
            since = max(since, covered)
        if since < self.end:
            yield self._index(since, key, in_context)

    def _index(self, since: int, key: tuple[int, ...], in_context: bool) -> BufferIndex:
        begin, end = since - self._origin, self.end - self._origin
        context = [PARTITION, WINDOW] if in_context else []
        columns = [self._columns[c, begin:end] for c in (*context, *(self._rows[variable] for variable in key))]
        return buffer_index(hash_columns(columns, end - begin), since)

    def _kept(self) -> NDArray[np.int64]:
        return self._columns[:, self.first - self._origin : self.end - self._origin]

    def _compact(self, capacity: int) -> None:
        kept = self._kept()
        columns = np.empty((len(self._columns), capacity), dtype=np.int64)
        columns[:, : kept.shape[1]] = kept
        self._columns, self._origin = columns, self.first


def _expanded(begin: Ids, end: Ids) -> Iterator[tuple[Ids, Ids]]:
    counts = np.maximum(end - begin, 0)
    for block in blocks(counts):
        which, within = expand(counts[block])
        if len(which):
            yield which + block.start, within
