"""The rows of a query that has run, as a notebook shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, overload

from spaseq.algebra.nodes import AnyQuery
from spaseq.engine.arguments import meanings_of
from spaseq.errors import visible
from spaseq.explain.funnel import Funnel
from spaseq.notebook.pictures import flow_svg
from spaseq.notebook.rows_html import table_html
from spaseq.notebook.timeline import timeline_svg
from spaseq.outputs import with_package
from spaseq.outputs.frames import Frames
from spaseq.outputs.row_table import parts_of
from spaseq.outputs.rows import Row
from spaseq.outputs.sink import columns_of

if TYPE_CHECKING:
    import pyarrow


class Answer(Sequence[Row], Frames):
    """Rows of one query in report order; a notebook shows them as a table and on a timeline.

    query       a query, as `spaseq.parse` gives it
    funnel      of the run, if it was counted
    reasons     for zero rows, in lines
    more        rows that the query had beyond these, and that were counted only
    """

    def __init__(
        self,
        query: AnyQuery,
        rows: Iterable[Row],
        *,
        funnel: Funnel | None = None,
        reasons: Sequence[str] = (),
        more: int = 0,
    ) -> None:
        (self.meaning,) = meanings_of(query)
        self.query = self.meaning.parsed
        self.funnel = funnel
        self.reasons = tuple(reasons)
        self.more = more
        self._rows = list(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self._rows[index]

    def __repr__(self) -> str:
        return f"<Answer of '{self.query.name}': {_counted(len(self), self.more)}>"

    def to_arrow(self) -> pyarrow.Table:
        """The rows as `Result.to_arrow` has them; raises InputError without the package pyarrow."""
        with_package("pyarrow", "to_arrow")
        table_of = with_package("spaseq.outputs.row_batches", "to_arrow").arrow_table
        table: pyarrow.Table = table_of(columns_of([self.meaning]), parts_of(self._rows))
        return table

    def _repr_html_(self) -> str:
        """The first rows as a table and on a timeline, or why there are none, and the automaton with its counts."""
        parts = [f"<p>{escape(visible(self.query.name))}: {_counted(len(self), self.more)}</p>"]
        if self._rows:
            parts += [timeline_svg(self._rows), table_html(columns_of([self.meaning]), self._rows)]
        elif self.reasons:
            parts.append(f"<pre>{escape(visible(chr(10).join(self.reasons)))}</pre>")
        if self.funnel is not None:
            picture = flow_svg(self.meaning, self.funnel)
            parts.append(f"<details open><summary>funnel</summary>{picture}</details>")
        return f'<div class="spaseq-answer">{"".join(parts)}</div>'


def _counted(kept: int, more: int) -> str:
    rows = f"{kept + more:,} {'row' if kept + more == 1 else 'rows'}"
    return f"{rows}, of which the first {kept:,} are kept" if more else rows
