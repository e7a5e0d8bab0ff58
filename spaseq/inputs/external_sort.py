"""Records sorted in bounded memory: sorted runs in temporary files, merged when all are there."""

from __future__ import annotations

import heapq
import struct
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import msgspec

Record = tuple[Any, int, bytes]
"""Two keys, bytes or numbers and then a number that is unique, and what is sorted."""

RUNS_MAX = 64
"""Files that are merged at once; of more, the first ones are merged into one."""
_RECORD_BYTES = 200
"""Memory of a record beside its bytes."""
_BUFFER_BYTES = 1 << 18
_LENGTH = struct.Struct("<I")


class ExternalSort:
    """Records by their keys, in about `memory` bytes and temporary files, which end with it."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._held: list[Record] = []
        self._bytes = 0
        self._runs: list[IO[bytes]] = []

    def add(self, record: Record) -> None:
        """Add a record."""
        self._held.append(record)
        self._bytes += len(record[2]) + _RECORD_BYTES
        if self._bytes >= self._memory:
            self._spill(iter(sorted(self._held)))
            self._held, self._bytes = [], 0
            if len(self._runs) >= RUNS_MAX:
                runs, self._runs = self._runs, []
                self._spill(_merged(runs))

    def __iter__(self) -> Iterator[Record]:
        """All records in order, once; none may be added any more."""
        self._held.sort()
        yield from heapq.merge(_merged(self._runs), iter(self._held)) if self._runs else self._held
        self.close()

    def close(self) -> None:
        """Remove the files."""
        for run in self._runs:
            run.close()
        self._held, self._runs = [], []

    def _spill(self, records: Iterator[Record]) -> None:
        encode = msgspec.msgpack.Encoder().encode
        run = tempfile.TemporaryFile(prefix="spaseq-sort-", buffering=_BUFFER_BYTES)  # noqa: SIM115  (close() does)
        self._runs.append(run)
        for record in records:
            text = encode(record)
            run.write(_LENGTH.pack(len(text)))
            run.write(text)
        run.seek(0)


def _merged(runs: list[IO[bytes]]) -> Iterator[Record]:
    yield from heapq.merge(*map(_records, runs))
    for run in runs:
        run.close()


def _records(run: IO[bytes]) -> Iterator[Record]:
    decode = msgspec.msgpack.Decoder().decode
    while head := run.read(_LENGTH.size):
        first, second, text = decode(run.read(_LENGTH.unpack(head)[0]))
        yield first, second, text
