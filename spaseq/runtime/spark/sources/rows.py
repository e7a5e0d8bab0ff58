"""The rows that every source gives: documents of whole events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from spaseq.runtime.spark.sources.documents import Document

SCHEMA = "value BINARY, source STRING, line BIGINT, format STRING"
"""value    N-Quads or TriG, whole events; or one line of a signal
source      the file, or TOPIC[PARTITION]@OFFSET, or HOST:PORT
line        lines of the source before the value
format      "nquads" or "trig"
"""
END = b"#!spaseq end\n"
"""Nothing will come on this stream any more."""

_ARROW = pa.schema([("value", pa.binary()), ("source", pa.string()), ("line", pa.int64()), ("format", pa.string())])


def batches(documents: Iterable[Document], source: str, rdf_format: str) -> Iterator[pa.RecordBatch]:
    """One row a document, one batch a row: documents are long."""
    for document in documents:
        yield batch(document.text, source, document.line, rdf_format)


def batch(text: bytes, source: str, line: int = 0, rdf_format: str = "nquads") -> pa.RecordBatch:
    """A batch of one row."""
    return pa.RecordBatch.from_arrays(
        [pa.array([text], pa.binary()), pa.array([source]), pa.array([line], pa.int64()), pa.array([rdf_format])],
        schema=_ARROW,
    )
