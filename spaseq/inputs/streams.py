"""The events of a stream's files, in batches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import EventReader, LocatedBatch, ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from spaseq.errors import InputError
from spaseq.inputs.opening import opened
from spaseq.inputs.paths import STANDARD_INPUT, InputFile, input_files, source_name

OnMalformed = Callable[[str, Malformed], None]
"""Called with the name of an input and a fault in it."""


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """n events and their places in the input.

    sources     paths of files
    source_of   int64[n]: the source of each event
    lines       int64[n]: the line on which each event begins
    """

    events: EventBatch
    sources: tuple[str, ...]
    source_of: Ids
    lines: Ids

    def __len__(self) -> int:
        return len(self.events)

    def place(self, index: int) -> tuple[str, int]:
        """The source of an event and its line there."""
        return self.sources[int(self.source_of[index])], int(self.lines[index])


def open_stream(
    path: str, name: str, dictionary: Dictionary, on_malformed: OnMalformed, options: ReadOptions
) -> Iterator[SourceBatch]:
    """The events of the stream `name`; the files of its PATH are one concatenated input. Ids hold until the next batch.

    Raises InputError at once if there is nothing to read; later faults are reported to `on_malformed`.
    """
    files = _files_of(path)
    return _read_all(files, dictionary, on_malformed, replace(options, stream=name))


def open_sorted(
    path: str, name: str, dictionary: Dictionary, on_malformed: OnMalformed, options: ReadOptions
) -> Iterator[SourceBatch]:
    """As `open_stream`, of inputs in any order: their quads are grouped by graph and their events sorted by time."""
    files = _files_of(path)
    return _read_sorted(files, dictionary, on_malformed, replace(options, stream=name))


def _read_sorted(
    files: tuple[InputFile, ...], dictionary: Dictionary, on_malformed: OnMalformed, options: ReadOptions
) -> Iterator[SourceBatch]:
    from spaseq.inputs.sorting import SortedStream, Sorting, SortOptions

    sorting = Sorting(files, SortOptions(options, on_malformed, drop=False))
    reader = EventReader(dictionary, options, lambda fault: on_malformed("sorted input", fault))
    with closing(sorting.texts()) as texts:
        for batch in reader.read(SortedStream(texts), "nquads"):
            yield _together([("sorted input", batch)])


def _read_all(
    files: tuple[InputFile, ...], dictionary: Dictionary, on_malformed: OnMalformed, options: ReadOptions
) -> Iterator[SourceBatch]:
    """Batches across files, since a Turtle file has a single event."""
    source = ""
    reader = EventReader(dictionary, options, lambda fault: on_malformed(source, fault))
    waiting: list[tuple[str, LocatedBatch]] = []
    events = 0
    for file in files:
        source = source_name(file.path)
        with opened(file) as unpacked:
            for batch in reader.read(unpacked.stream, unpacked.format, unpacked.live):
                waiting.append((source, batch))
                events += len(batch.events)
                if events >= options.batch_events or unpacked.live:
                    yield _together(waiting)
                    waiting, events = [], 0
    if waiting:
        yield _together(waiting)


def _files_of(path: str) -> tuple[InputFile, ...]:
    files = input_files(path)
    if path == STANDARD_INPUT and sys.stdin is None:
        raise InputError("cannot read standard input: it is closed", hint="name a file")
    return files


def _together(parts: list[tuple[str, LocatedBatch]]) -> SourceBatch:
    batches = [batch for _, batch in parts]
    counts = [len(batch.events) for batch in batches]
    return SourceBatch(
        EventBatch.concatenate([batch.events for batch in batches]),
        tuple(source for source, _ in parts),
        np.repeat(np.arange(len(parts), dtype=np.int64), counts),
        np.concatenate([batch.lines for batch in batches]),
    )
