"""Rows as a Parquet file."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spaseq.outputs.arrow import ArrowSink

GROUP_ROWS = 1 << 16
"""Rows from which a row group is written; those of the last one are visible when the sink is closed."""


class ParquetSink(ArrowSink):
    """Row groups in the schema of RowBatches."""

    _waiting: list[pa.RecordBatch]

    def _opened(self, file: pa.PythonFile) -> Any:
        self._waiting = []
        return pq.ParquetWriter(file, self._batches.schema)

    def _write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        if sum(map(len, self._waiting)) >= GROUP_ROWS:
            self._write_group(self._writer)

    def _finish(self, writer: Any) -> None:
        if self._waiting:
            self._write_group(writer)
        writer.close()

    def _write_group(self, writer: Any) -> None:
        group, self._waiting = pa.Table.from_batches(self._waiting).unify_dictionaries(), []
        try:
            writer.write_table(group)
        except BaseException:
            self._writer = None
            raise
