"""The events of one input of a stream, whatever its format: RDF, or a table with a template."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import BrokenOff
from sparql_gpm.rdf_io import EventReader, LocatedBatch, ReadOptions
from sparql_gpm.reading.event_builder import EventBuilder, Malformed
from sparql_gpm.reading.json_contexts import MissingContext
from sparql_gpm.reading.raw_text import RawText
from spaseq.errors import InputError, RunError
from spaseq.inputs.formats import TABLES
from spaseq.inputs.tables.options import TableOptions
from spaseq.inputs.tables.template import Template

if TYPE_CHECKING:
    from spaseq.inputs.tables.cells import RowBatch
    from spaseq.inputs.tables.events import TemplateReader
    from spaseq.inputs.texts import OpenInput


@dataclass(frozen=True, slots=True)
class StreamFormat:
    """The format of the inputs of a stream.

    name        of the format; None: the suffixes say it
    template    of the rows of tables
    follow      files are read as they grow, for ever
    """

    name: str | None = None
    template: Template | None = None
    table: TableOptions = field(default_factory=TableOptions)
    follow: bool = False


def without_template(name: str) -> InputError:
    """The error for a table of which nothing says what its rows mean."""
    hint = f"--template FILE says it; 'spaseq template {name}' proposes one"
    return InputError(f"{name} is a table, and nothing says what its rows mean", hint=hint)


class StreamReader:
    """Reads the inputs of one stream in turn."""

    def __init__(
        self,
        dictionary: Dictionary,
        options: ReadOptions,
        how: StreamFormat,
        on_malformed: Callable[[Malformed], None],
    ) -> None:
        self._dictionary, self._options, self._how = dictionary, options, how
        self._builder = EventBuilder(dictionary, options, on_malformed)
        self._documents = EventReader(dictionary, options, on_malformed, self._builder)
        self._templates: TemplateReader | None = None

    def read(self, source: OpenInput, name: str) -> Iterator[LocatedBatch]:
        """The events of an input; raises InputError for a table without a template."""
        if source.format not in TABLES:
            return self._documents_of(source, name)
        if self._how.template is None:
            raise without_template(name)
        from spaseq.inputs.tables.sources import rows_of

        paths = tuple(self._how.template.paths())
        return self._rows(rows_of(source, self._how.table, self._lost, paths, self._options))

    def _documents_of(self, source: OpenInput, name: str) -> Iterator[LocatedBatch]:
        try:
            yield from self._documents.read(source.stream, source.format, source.live)
        except MissingContext as error:
            raise RunError(f"{name}: {error}", hint=f"--context {error.url}=FILE supplies it") from error

    def read_table(self, table: Any) -> Iterator[LocatedBatch]:
        """The events of a table that a program holds."""
        from spaseq.inputs.tables.sources import table_rows

        return self._rows(table_rows(table, self._how.table.rows_max))

    def _rows(self, batches: Iterator[RowBatch]) -> Iterator[LocatedBatch]:
        last = 0
        templates = self._template_reader()
        try:
            for rows in batches:
                yield from templates.take(rows)
                last = int(rows.numbers[-1]) if len(rows.numbers) else last
        except BrokenOff as error:
            self._builder.break_off(last + 1, error)

    def _template_reader(self) -> TemplateReader:
        if self._templates is None:
            from spaseq.inputs.tables.events import TemplateReader

            assert self._how.template is not None
            self._templates = TemplateReader(self._how.template, self._dictionary, self._builder, self._options)
        return self._templates

    def _lost(self, row: int, column: int, reason: str, raw: bytes | RawText, kind: str) -> None:
        self._builder.report(row, column, reason, raw, kind, whole_event=True)
