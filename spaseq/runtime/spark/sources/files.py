"""Files as a Spark source: all that exist, or a directory that grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from spaseq.errors import InputError
from spaseq.inputs.file_ranges import FileRange
from spaseq.inputs.formats import SUFFIXES
from spaseq.runtime.spark.sources.directory import Directory, FilePosition
from spaseq.runtime.spark.sources.options import SourceOptions
from spaseq.runtime.spark.sources.rows import END, batch, reference

_SIGNAL_BYTES_MAX = 1 << 12
"""A shorter range may be a signal."""
_BYTES_MAX = 1 << 62


@dataclass
class FilePartition(InputPartition):
    """The input of one task, in order; without ranges it is the end of the stream. `longest`: see `texts_of`."""

    ranges: tuple[FileRange, ...]
    text: bool
    longest: int


def _partitions(ranges: Iterable[FileRange], options: SourceOptions) -> Iterator[FilePartition]:
    """The ranges divided among tasks: small files, each of which may be one event, are read together."""
    group: list[FileRange] = []
    size = 0
    for part in ranges:
        if group and size + part.size > options.partition_bytes:
            yield FilePartition(tuple(group), options.text, options.max_line)
            group, size = [], 0
        group.append(part)
        size += part.size
    if group:
        yield FilePartition(tuple(group), options.text, options.max_line)


class _Reading:
    """The part that static and streaming readers share."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The texts of a partition, or where they are, or the signal; a range that may be a signal is read."""
        assert isinstance(partition, FilePartition)
        if not partition.ranges:
            yield batch(END)
        for part in partition.ranges:
            if not partition.text and part.size > _SIGNAL_BYTES_MAX:
                yield reference(part)
            else:
                yield from map(batch, part.texts(partition.longest))


def _directory(options: SourceOptions) -> Directory:
    return Directory(options.path, options.lose, options.file_format, options.tables)


class FilesReader(_Reading, DataSourceReader):
    """All files that exist, as a static DataFrame; partitions are in the order of the input."""

    def partitions(self) -> Sequence[InputPartition]:
        """Partitions of about `partition_bytes`; raises InputError if there is no file."""
        ranges = _directory(self._options).ranges(FilePosition(), self._options.partition_bytes)
        found = list(_partitions(ranges, self._options))
        if not found:
            hint = f"a stream is files that end in {SUFFIXES}"
            raise InputError(f"there are no events in {self._options.path}", hint=hint)
        return found


class FilesStreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A directory that grows, in name order. Equal offsets give equal rows, since files do not change."""

    def __init__(self, options: SourceOptions) -> None:
        super().__init__(options)
        self._directory = _directory(options)
        self._target: FilePosition | None = None

    def initialOffset(self) -> dict[str, Any]:
        """The place before the first file."""
        return FilePosition().offset()

    def getDefaultReadLimit(self) -> ReadLimit:
        """The bytes of one micro-batch."""
        return ReadMaxBytes(self._options.bytes_per_trigger)

    def prepareForTriggerAvailableNow(self) -> None:
        """Leave files that appear from now on to the next run."""
        self._target = self._directory.end()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The place that the limit allows, at most the end of the run; the signal of the end is a micro-batch."""
        here = self._directory.kept(FilePosition.of(start))
        if here.ended:
            self._options.check_ended(any(self._directory.ranges(here, _BYTES_MAX, self._target)))
            return start
        admitted = None if isinstance(limit, ReadAllAvailable) else getattr(limit, "max_bytes", None)
        reached = self._advanced(here, _BYTES_MAX if admitted is None else admitted)
        if reached == here and self._options.end and self._target is not None:
            return replace(here, ended=True).offset()
        return reached.offset()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The partitions between two offsets, in the order of the input."""
        first, last = FilePosition.of(start), FilePosition.of(end)
        ranges = self._directory.ranges(first, self._options.partition_bytes, last)
        found: list[InputPartition] = list(_partitions(ranges, self._options))
        return [*found, FilePartition((), True, self._options.max_line)] if last.ended and not first.ended else found

    def _advanced(self, here: FilePosition, bytes_max: int) -> FilePosition:
        """The place after the ranges that fit; the first always does, so that files of any size are read."""
        last: FileRange | None = None
        size = 0
        for part in self._directory.ranges(here, bytes_max, self._target):
            size += part.size
            if last is not None and size > bytes_max:
                break
            last = part
        return here if last is None else self._directory.after(last)
