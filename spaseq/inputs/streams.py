"""The events of a stream's files, in batches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import EventReader, LocatedBatch, ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.reading.lines import KEPT_KERNEL_BYTES_MIN
from spaseq.errors import InputError
from spaseq.inputs.compression import is_long_archive
from spaseq.inputs.following import check_followed
from spaseq.inputs.formats import TABLES
from spaseq.inputs.opening import opened
from spaseq.inputs.paths import STANDARD_INPUT, InputFile, input_files, source_name
from spaseq.inputs.reading import StreamFormat, StreamReader, without_template
from spaseq.inputs.texts import OpenInput

OnMalformed = Callable[[str, Malformed], None]
"""Called with the name of an input and a fault in it."""


_ANY = StreamFormat()
_TABLE = "table"


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """n events and their places in the input.

    sources     paths of files
    source_of   int64[n]: the source of each event
    lines       int64[n]: the line on which each event begins
    emptied     the number of events that have triples, none of which anybody wants
    """

    events: EventBatch
    sources: tuple[str, ...]
    source_of: Ids
    lines: Ids
    emptied: int

    def __len__(self) -> int:
        return len(self.events)

    def place(self, index: int) -> tuple[str, int]:
        """The source of an event and its line there."""
        return self.sources[int(self.source_of[index])], int(self.lines[index])


def open_stream(
    path: str,
    name: str,
    dictionary: Dictionary,
    on_malformed: OnMalformed,
    options: ReadOptions,
    how: StreamFormat = _ANY,
) -> Iterator[SourceBatch]:
    """The events of the stream `name`; the files of its PATH are one concatenated input. Ids hold until the next batch.

    Raises InputError at once if there is nothing to read; later faults are reported to `on_malformed`.
    """
    files = _files_of(path, how)
    if how.follow:
        check_followed(path, files)
    return _read_all(files, dictionary, on_malformed, replace(options, stream=name), how)


def open_table(
    table: Any, name: str, dictionary: Dictionary, on_malformed: OnMalformed, options: ReadOptions, how: StreamFormat
) -> Iterator[SourceBatch]:
    """The events of a table of pandas, polars or Arrow; raises InputError if there is no template."""
    if how.template is None:
        hint = f'template={{"{name}": "rows.trig"}} says what a row means'
        raise InputError(f"the input of stream '{name}' is a table without a template", hint=hint)
    reader = StreamReader(dictionary, replace(options, stream=name), how, lambda fault: on_malformed(_TABLE, fault))
    return (_together([(_TABLE, batch)]) for batch in reader.read_table(table))


def open_sorted(
    path: str, name: str, dictionary: Dictionary, on_malformed: OnMalformed, options: ReadOptions, how: StreamFormat
) -> Iterator[SourceBatch]:
    """As `open_stream`, of inputs in any order: their quads are grouped by graph and their events sorted by time."""
    files = _files_of(path, how)
    return _read_sorted(files, dictionary, on_malformed, replace(options, stream=name), how)


def _read_sorted(
    files: tuple[InputFile, ...],
    dictionary: Dictionary,
    on_malformed: OnMalformed,
    options: ReadOptions,
    how: StreamFormat,
) -> Iterator[SourceBatch]:
    from spaseq.inputs.sorting import SortedStream, Sorting, SortOptions

    sorting = Sorting(files, SortOptions(options, on_malformed, how, drop=False))
    reader = EventReader(dictionary, options, lambda fault: on_malformed("sorted input", fault))
    with closing(sorting.texts()) as texts:
        for batch in reader.read(SortedStream(texts), "nquads"):
            yield _together([("sorted input", batch)])


def _read_all(
    files: tuple[InputFile, ...],
    dictionary: Dictionary,
    on_malformed: OnMalformed,
    options: ReadOptions,
    how: StreamFormat,
) -> Iterator[SourceBatch]:
    """Batches across files, since a Turtle file has a single event."""
    source = ""
    reader = StreamReader(dictionary, options, how, lambda fault: on_malformed(source, fault))
    waiting: list[tuple[str, LocatedBatch]] = []
    events = 0
    for file in files:
        source = source_name(file.path)
        with opened(file, how.follow) as found, _read_ahead(found, file, options) as unpacked:
            for batch in reader.read(unpacked, source):
                waiting.append((source, batch))
                events += len(batch.events)
                if events >= options.batch_events or unpacked.live:
                    yield _together(waiting)
                    waiting, events = [], 0
    if waiting:
        yield _together(waiting)


def is_read_ahead(path: str, how: StreamFormat) -> bool:
    """True for files of N-Quads that are long enough for kernels, which leave the interpreter to other threads."""
    files = input_files(path, how.name, how.template is not None)
    if how.follow or not all(file.format == "nquads" and os.path.isfile(file.path) for file in files):
        return False
    return sum(os.path.getsize(file.path) for file in files) >= KEPT_KERNEL_BYTES_MIN


@contextmanager
def _read_ahead(found: OpenInput, file: InputFile, options: ReadOptions) -> Iterator[OpenInput]:
    """The input, decompressed by a thread of its own if that is allowed and it is worth it."""
    if found.live or options.threads == 1 or not is_long_archive(file.path):
        yield found
        return
    from spaseq.inputs.read_ahead import read_ahead

    with read_ahead(found.stream) as stream:
        yield replace(found, stream=stream)


def _files_of(path: str, how: StreamFormat) -> tuple[InputFile, ...]:
    files = input_files(path, how.name, how.template is not None)
    if path == STANDARD_INPUT and sys.stdin is None:
        raise InputError("cannot read standard input: it is closed", hint="name a file")
    table = next((file.path for file in files if file.format in TABLES), None)
    if table is not None and how.template is None:
        raise without_template(table)
    return files


def _together(parts: list[tuple[str, LocatedBatch]]) -> SourceBatch:
    batches = [batch for _, batch in parts]
    counts = [len(batch.events) for batch in batches]
    return SourceBatch(
        EventBatch.concatenate([batch.events for batch in batches]),
        tuple(source for source, _ in parts),
        np.repeat(np.arange(len(parts), dtype=np.int64), counts),
        np.concatenate([batch.lines for batch in batches]),
        sum(batch.emptied for batch in batches),
    )
