"""Result rows and their destinations: `open_sink` opens a sink of one of FORMATS.

To add a row format, write a module of its name with a sink class, and its entry in FORMATS. Modules are imported when
they are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from spaseq.errors import InputError

if TYPE_CHECKING:
    from spaseq.algebra.nodes import AnyQuery
    from spaseq.outputs.sink import Sink

FORMATS = {
    "table": "TableSink",
    "ndjson": "NdjsonSink",
    "csv": "CsvSink",
    "trig": "TrigSink",
    "jelly": "JellySink",
    "parquet": "ParquetSink",
    "arrow": "ArrowSink",
}
"""Format → the class of its sink, in the module of this package with the format's name."""
FILE_FORMATS = ("ndjson", "csv")
"""The formats of the files of Spark's micro-batches."""


def open_sink(format: str, path: Path | None, queries: Sequence[AnyQuery]) -> Sink:
    """A sink of the queries' rows on a file, None: standard output; InputError for a format or file that is no good."""
    if format not in FORMATS:
        raise InputError(f"unknown output format '{format}'", hint=f"formats: {', '.join(FORMATS)}")
    from spaseq.outputs.destination import Output
    from spaseq.outputs.sink import columns_of

    try:
        module = import_module(f"spaseq.outputs.{format}")
    except ModuleNotFoundError as error:
        reason = f"the format {format} needs the Python package {error.name}"
        raise InputError(reason, hint='install it: pip install "spaseq[tables]"') from error
    sink: Sink = getattr(module, FORMATS[format])(Output.open(path), columns_of(queries))
    return sink
