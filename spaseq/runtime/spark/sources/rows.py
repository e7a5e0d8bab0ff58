"""The rows that every source gives: documents of whole events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from spaseq.inputs.documents import Document
from spaseq.runtime.spark.sources.plan import Slice

SCHEMA = "value BINARY, source STRING, line BIGINT, format STRING, first_byte BIGINT, last_byte BIGINT"
"""value    RDF text, whole events; or one line of a signal; null: it is left in the file
source      the file, or TOPIC[PARTITION]@OFFSET, or HOST:PORT
line        lines of the source before the value
format      one of sparql_gpm.rdf_io.FORMATS
first_byte, last_byte   where a value that is null begins and ends in the file `source`; the end is null for all of it
"""
END = b"#!spaseq end\n"
"""Nothing will come on this stream any more."""

_ARROW = pa.schema(
    [
        ("value", pa.binary()), ("source", pa.string()), ("line", pa.int64()), ("format", pa.string()),
        ("first_byte", pa.int64()), ("last_byte", pa.int64()),
    ]
)  # fmt: skip


def batches(documents: Iterable[Document], source: str, rdf_format: str) -> Iterator[pa.RecordBatch]:
    """One row a document, one batch a row: documents are long."""
    for document in documents:
        yield batch(document.text, source, document.line, rdf_format)


def batch(text: bytes, source: str, line: int = 0, rdf_format: str = "nquads") -> pa.RecordBatch:
    """A batch of one row."""
    row = {"value": text, "source": source, "line": line, "format": rdf_format}
    return pa.RecordBatch.from_pylist([row], schema=_ARROW)


def reference(slice_: Slice) -> pa.RecordBatch:
    """A batch of one row, which says where the text is."""
    row = {
        "source": slice_.file, "line": slice_.line, "format": slice_.format,
        "first_byte": slice_.begin, "last_byte": slice_.end,
    }  # fmt: skip
    return pa.RecordBatch.from_pylist([row], schema=_ARROW)
