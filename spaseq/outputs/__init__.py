"""Result rows and their destinations: `open_sink` opens a sink of one of FORMATS.

To add a row format, write a module of its name with a sink class, and its entry in FORMATS. Modules are imported when
they are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spaseq.errors import InputError

if TYPE_CHECKING:
    from spaseq.algebra.nodes import AnyQuery
    from spaseq.outputs.sink import Sink

FORMATS = {
    "table": "TableSink",
    "ndjson": "NdjsonSink",
    "csv": "CsvSink",
    "trig": "TrigSink",
    "nquads": "NquadsSink",
    "jelly": "JellySink",
    "parquet": "ParquetSink",
    "arrow": "ArrowSink",
}
"""Format → the class of its sink, in the module of this package with the format's name."""
GRAPH_FORMATS = ("trig", "nquads", "jelly")
"""The formats in which a row is a named graph."""
FILE_FORMATS = ("ndjson", "csv")
"""The formats of the files of Spark's micro-batches."""


def open_sink(format: str, path: Path | None, queries: Sequence[AnyQuery], provenance: bool = False) -> Sink:
    """A sink of the queries' rows on a file, None: standard output; InputError for a format or file that is no good.

    provenance  PROV-O stands beside the graphs of CONSTRUCT, in one of GRAPH_FORMATS
    """
    if format not in FORMATS:
        raise InputError(f"unknown output format '{format}'", hint=f"formats: {', '.join(FORMATS)}")
    from spaseq.outputs.destination import Output
    from spaseq.outputs.sink import columns_of

    module = with_package(f"spaseq.outputs.{format}", f"the format {format}")
    columns = replace(columns_of(queries), provenance=provenance)
    sink: Sink = getattr(module, FORMATS[format])(Output.open(path), columns)
    return sink


def with_package(module: str, use: str, package: str = "spaseq[tables]") -> Any:
    """The module, which this use needs; raises InputError where a package that it imports is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        reason = f"{use} needs the Python package {error.name}"
        raise InputError(reason, hint=f'install it: pip install "{package}"') from error
