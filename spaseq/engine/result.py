"""The result of a run: its rows one by one, or as a table."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from spaseq.algebra.nodes import AnyQuery
from spaseq.engine.arguments import meanings_of
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Knowledge
from spaseq.errors import InputError
from spaseq.lang.ast import Query
from spaseq.outputs import with_package
from spaseq.outputs.frames import Frames
from spaseq.outputs.row_table import parts_of
from spaseq.outputs.rows import Row
from spaseq.outputs.sink import columns_of

if TYPE_CHECKING:
    import pyarrow

    from spaseq.explain.funnel import Funnel


class Result(Iterator[Row], Frames):
    """The rows of a job, which runs as they are drawn, once; the job is closed at their end.

    Drawing rows raises RunError.
    """

    def __init__(self, job: Job, queries: Sequence[AnyQuery]) -> None:
        self._job = job
        self._queries = queries
        self._drawn = False
        self._rows = self._draw()

    def __iter__(self) -> Iterator[Row]:
        return self._rows

    def __next__(self) -> Row:
        return next(self._rows)

    def to_arrow(self) -> pyarrow.Table:
        """All rows as an Arrow table.

        The columns are those of `--format arrow`: `time`, `start`, a dictionary of N-Triples texts for each variable,
        and `events`. Raises InputError if rows have been drawn, or without the package pyarrow.
        """
        with_package("pyarrow", "to_arrow")
        table_of = with_package("spaseq.outputs.row_batches", "to_arrow").arrow_table
        self._begin()
        with closing(self._job) as job:
            table: pyarrow.Table = table_of(
                columns_of(self._queries), (part for rows in job.rows() for part in parts_of(rows))
            )
        return table

    @property
    def funnel(self) -> Funnel | list[Funnel] | None:
        """The funnel of the query so far, or of each of several, with `analyze=True`; else None."""
        found = self._job.funnels()
        return (found if len(self._queries) > 1 else found[0]) if found else None

    def close(self) -> None:
        """Close the job, whose remaining rows are not drawn; a second call does nothing."""
        self._rows.close()
        self._job.close()

    def _draw(self) -> Generator[Row, None, None]:
        self._begin()
        try:
            for rows in self._job.rows():
                yield from rows
        finally:
            self._job.close()

    def _begin(self) -> None:
        if self._drawn:
            raise InputError("rows of this result have been drawn already", hint="run the query again")
        self._drawn = True


def run(
    query: Query | Sequence[Query], streams: Mapping[str, Any], kb: Knowledge | None = None, **options: Any
) -> Result:
    """The result of one or several queries over files.

    streams     path, folder, glob or "-" of each stream, by its name in the query or its IRI; or, with `template`, a
                table of pandas, polars or Arrow
    kb          by IRI, path of each knowledge base, URL of its endpoint, or a `kb.source.Source`
    options     the fields of `RunOptions`

    Raises InputError now for inputs that cannot be used, RunError while rows are drawn.
    """
    meanings = meanings_of(query)
    return Result(Job(meanings, streams, kb, RunOptions.of(options)), meanings)
