"""Rows as an Arrow IPC stream."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from spaseq.outputs.destination import Output
from spaseq.outputs.row_batches import RowBatches
from spaseq.outputs.row_table import RowTable, parts_of
from spaseq.outputs.rows import Row
from spaseq.outputs.sink import Columns, Sink


class ArrowSink(Sink):
    """A record batch for each piece of rows, in the schema of RowBatches; dictionaries are those of the batch."""

    def __init__(self, output: Output, columns: Columns) -> None:
        super().__init__(output, columns)
        self._batches = RowBatches(columns)
        self._writer: Any = self._opened(pa.PythonFile(_Bytes(output), mode="w"))

    def write(self, rows: Sequence[Row] | RowTable) -> None:
        """Write rows, in this order, piece by piece."""
        for part in parts_of(rows):
            self._write(self._batches.batch(part))

    def close(self) -> None:
        """Finish the stream and close the destination; a second call does nothing."""
        writer, self._writer = self._writer, None
        if writer is not None:
            self._finish(writer)
        super().close()

    def _opened(self, file: pa.PythonFile) -> Any:
        return pa.ipc.new_stream(file, self._batches.schema)

    def _write(self, batch: pa.RecordBatch) -> None:
        try:
            self._writer.write_batch(batch)
        except BaseException:
            self._writer = None  # there is nowhere to finish the stream
            raise

    def _finish(self, writer: Any) -> None:
        writer.close()


class _Bytes(io.RawIOBase):
    """A file of bytes that go to an output."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._output.write(bytes(data))
        return len(data)
