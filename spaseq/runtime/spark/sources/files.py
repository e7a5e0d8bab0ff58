"""Files as a Spark source: a batch of them, or a folder that grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from spaseq.errors import InputError
from spaseq.runtime.spark.sources.options import SourceOptions
from spaseq.runtime.spark.sources.plan import EXPECTED, Directory, Place, Slice
from spaseq.runtime.spark.sources.rows import END, batch, batches, reference

_SIGNAL_BYTES_MAX = 1 << 12
"""What is shorter may be a signal."""


@dataclass
class FilePartition(InputPartition):
    """What one task reads, in order; no slice: the end of the stream."""

    stretches: tuple[Slice, ...]
    text: bool

    def rows(self) -> Iterator[pa.RecordBatch]:
        """The documents of the slices, or where they are, or the signal. One that may be a signal is read."""
        if not self.stretches:
            yield batch(END, "")
        for slice_ in self.stretches:
            if not self.text and slice_.size > _SIGNAL_BYTES_MAX:
                yield reference(slice_)
            else:
                yield from batches(slice_.documents(), slice_.file, slice_.format)


def _tasks(stretches: Iterable[Slice], options: SourceOptions) -> Iterator[FilePartition]:
    """The slices divided among tasks: small files, each of which may be one event, are read together."""
    group: list[Slice] = []
    size = 0
    for slice_ in stretches:
        if group and size + slice_.size > options.partition_bytes:
            yield FilePartition(tuple(group), options.text)
            group, size = [], 0
        group.append(slice_)
        size += slice_.size
    if group:
        yield FilePartition(tuple(group), options.text)


class FilesReader(DataSourceReader):
    """All files that are there, as a static DataFrame; partitions are in the order of the input."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Slices of about the size asked for; raises InputError if there is no file."""
        stretches = Directory(self._options.path).stretches(Place(), self._options.partition_bytes)
        found = list(_tasks(stretches, self._options))
        if not found:
            raise InputError(f"there are no events in {self._options.path}", hint=EXPECTED)
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        assert isinstance(partition, FilePartition)
        return partition.rows()


class FilesStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A folder that grows, in name order.

    Places are bytes in files that do not change, so that the same offsets always give the same rows.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._directory = Directory(options.path)
        self._target: Place | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Before the first file."""
        return Place().offset()

    def getDefaultReadLimit(self) -> ReadLimit:
        """So many bytes a micro-batch."""
        return ReadMaxBytes(self._options.bytes_per_trigger)

    def prepareForTriggerAvailableNow(self) -> None:
        """Files that come from now on are left to the next run."""
        self._target = self._directory.end()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """As far as the limit lets, and not further than what was there at first; the end is told by itself."""
        here = Place.of(start)
        if here.ended:
            return start
        admitted = None if isinstance(limit, ReadAllAvailable) else getattr(limit, "max_bytes", None)
        reached = self._advanced(here, admitted)
        if reached == here and self._options.end and self._target is not None:
            return replace(here, ended=True).offset()
        return reached.offset()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """What lies between two places, in the order of the input."""
        first, last = Place.of(start), Place.of(end)
        stretches = self._directory.stretches(first, self._options.partition_bytes, last)
        found: list[InputPartition] = list(_tasks(stretches, self._options))
        return [*found, FilePartition((), True)] if last.ended and not first.ended else found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        assert isinstance(partition, FilePartition)
        return partition.rows()

    def _advanced(self, here: Place, admitted: int | None) -> Place:
        """A slice is never left half read, and the first always fits; so files of any size get through."""
        unlimited = admitted is None
        step = 1 << 62 if unlimited else admitted
        assert step is not None
        last: Slice | None = None
        taken = 0
        for slice_ in self._directory.stretches(here, step, self._target):
            size = self._directory.size(slice_)
            if last is not None and not unlimited and taken + size > step:
                break
            last, taken = slice_, taken + size
        return here if last is None else self._directory.after(last)
