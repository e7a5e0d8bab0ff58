"""Batches of a stream that another thread reads while the one before them is used."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from sparql_gpm.columns import Ids
from sparql_gpm.reading.event_builder import Malformed
from spaseq.inputs.streams import OnMalformed, SourceBatch


@dataclass(slots=True, eq=False)
class ReadFaults:
    """The faults that a reader finds, held until its batch is taken: they are reported in the order of the input."""

    report: OnMalformed
    _found: list[tuple[str, Malformed]] = field(default_factory=list)

    def note(self, source: str, fault: Malformed) -> None:
        """One more fault."""
        self._found.append((source, fault))

    def tell(self) -> None:
        """Report those found so far."""
        found, self._found = self._found, []
        for source, fault in found:
            self.report(source, fault)


class BatchesAhead:
    """The batches of a source in turn, one of which is read by another thread from `read_on` until it is taken.

    The dictionary is the one thing that the reader shares with who uses the batches. It must not release terms unless
    `live_ids` has told those that the batch which waits needs.
    """

    def __init__(self, source: Iterator[SourceBatch], faults: ReadFaults) -> None:
        self._source, self._faults = source, faults
        self._coming: Future[SourceBatch | None] | None = None

    def __iter__(self) -> Iterator[SourceBatch]:
        return self

    def __next__(self) -> SourceBatch:
        coming, self._coming = self._coming, None
        try:
            batch = self._read() if coming is None else coming.result()
        finally:
            self._faults.tell()
        if batch is None:
            raise StopIteration
        return batch

    def read_on(self, thread: Executor) -> None:
        """Let a thread read the next batch, unless one waits."""
        if self._coming is None:
            self._coming = thread.submit(self._read)

    def live_ids(self) -> list[Ids]:
        """Columns of every term id of the batch that waits, once nothing is read."""
        if self._coming is None or self._coming.exception() is not None:  # which waits for it
            return []
        batch = self._coming.result()
        return [] if batch is None else list(batch.events.terms)

    def _read(self) -> SourceBatch | None:
        return next(self._source, None)


def reader_thread() -> Executor:
    """The thread that reads batches of all streams of a run, one after the other."""
    return ThreadPoolExecutor(1, thread_name_prefix="spaseq-batches")
