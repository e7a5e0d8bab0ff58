"""Sinks, writers of result rows in one format to one destination, and the columns that stand before the first row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from automata.plan.expression import symbols
from spaseq.algebra.build import build
from spaseq.algebra.nodes import AnyQuery
from spaseq.outputs.destination import Output, encoded
from spaseq.outputs.row_table import RowTable, parts_of
from spaseq.outputs.rows import Row


@dataclass(frozen=True, slots=True)
class Columns:
    """The union of what the rows of some queries can contain.

    variables   projected, in order
    steps       the names of the positive steps, in the order of SEQ
    constructs  rows of some query have a graph in place of bindings
    several     there are several queries
    prefixes    (prefix, namespace) of the queries, for short names of IRIs
    provenance  PROV-O stands beside the graphs of CONSTRUCT
    """

    variables: tuple[str, ...]
    steps: tuple[str, ...]
    constructs: bool
    several: bool
    prefixes: frozenset[tuple[str, str]]
    provenance: bool = False


def columns_of(queries: Sequence[AnyQuery]) -> Columns:
    """The columns of the rows of these queries."""
    meanings = [build(query) for query in queries]
    written = [meaning.parsed for meaning in meanings]
    return Columns(
        _union([column.name for column in meaning.columns] for meaning in meanings if meaning.template is None),
        _union(symbols(query.sequence, negated=False) for query in written),
        any(query.template is not None for query in written),
        len(queries) > 1,
        frozenset(prefix for query in written for prefix in query.prefixes),
    )


class Sink(ABC):
    """A sink of one format.

    `write` and `close` raise RunError when the output cannot be written, and OutputClosed when its reader has gone.
    Rows are visible to a reader when `write` has returned, unless the format has them later.
    """

    def __init__(self, output: Output, columns: Columns) -> None:
        self._output, self._columns = output, columns

    @abstractmethod
    def write(self, rows: Sequence[Row] | RowTable) -> None:
        """Write rows, in this order, piece by piece."""

    def close(self) -> None:
        """Close the destination; a second call does nothing."""
        self._output.close()


class TextSink(Sink):
    """A sink of a format that says the text of rows."""

    @abstractmethod
    def text(self, rows: Sequence[Row]) -> str:
        """The text of some rows after those before."""

    def table_text(self, table: RowTable) -> bytes:
        """The same of rows that are columns."""
        return encoded(self.text(table.rows()))

    def write(self, rows: Sequence[Row] | RowTable) -> None:
        """Write rows, in this order, piece by piece."""
        for part in parts_of(rows):
            self._output.write(self.table_text(part) if isinstance(part, RowTable) else encoded(self.text(part)))


def _union(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The distinct names of all parts, in order of first occurrence."""
    return tuple(dict.fromkeys(name for part in parts for name in part))
