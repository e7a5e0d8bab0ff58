"""The rows of `format("spaseq")`: RDF texts of whole events, or where they are in a file."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from spaseq.inputs.file_ranges import FileRange
from spaseq.inputs.texts import InputText

SCHEMA = pa.schema(
    [
        ("value", pa.binary()), ("source", pa.string()), ("line", pa.int64()), ("format", pa.string()),
        ("first_byte", pa.int64()), ("last_byte", pa.int64()), ("breaks_off", pa.string()),
    ]
)  # fmt: skip
"""value    RDF text of whole events, or one signal; null: it is left in the file
source      the file, or TOPIC[PARTITION]@OFFSET, or HOST:PORT
line        lines of the source before the value
format      one of spaseq.inputs.formats
first_byte, last_byte   the range of a value that is left in the file `source`; last_byte null: the whole file
breaks_off  the reason why the source breaks off with this value; null: it does not
"""


def signal(words: str) -> InputText:
    """A signal of `tasks.signal` as a text."""
    return InputText(f"#!spaseq {words}\n".encode(), format="nquads")


END = signal("end")
"""The signal that a stream has ended."""


def batch(text: InputText) -> pa.RecordBatch:
    """A batch of one row with a text, since texts are long."""
    return _batch(text.text, text.source, text.line, text.format, None, None, text.breaks_off)


def reference(part: FileRange) -> pa.RecordBatch:
    """A batch of one row that says where a text is."""
    return _batch(None, part.file, part.line, part.format, part.begin, part.end)


def _batch(*cells: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(SCHEMA.names, cells, strict=False))], schema=SCHEMA)
