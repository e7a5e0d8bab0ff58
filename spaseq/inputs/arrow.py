"""Events in Arrow tables and record batches: quads in columns, or RDF texts in rows. pyarrow is not imported."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sparql_gpm.reading.document_terms import is_token
from sparql_gpm.terms import XSD
from sparql_gpm.times import format_time
from spaseq.errors import InputError
from spaseq.inputs.file_ranges import FileRange
from spaseq.inputs.terms import nanoseconds
from spaseq.inputs.texts import InputText

QUADS = ("graph", "subject", "predicate", "object", "time")
"""The columns of quads: N-Triples terms (brackets of an IRI are optional), and a timestamp, number or xsd:dateTime."""
BESIDE = ("source", "path", "line", "format", "first_byte", "last_byte", "breaks_off")
"""Optional columns beside the column of texts: fields of InputText, or the range of a file."""
Quad = tuple[str, str | None, str | None, str | None, datetime | float | str]


def quads_of(table: Any) -> Iterator[Quad]:
    """The rows of a table or record batch with the columns QUADS; raises InputError for any other value."""
    try:
        return zip(*(table.column(name).to_pylist() for name in QUADS), strict=True)
    except (AttributeError, KeyError) as error:
        raise InputError(
            f"cannot read {type(table).__name__} as events: {error}",
            hint=f"text, bytes, or an Arrow table with the columns {', '.join(QUADS)}",
        ) from error


def lines_of(quads: Iterable[Quad], time_predicate: str) -> Iterator[str]:
    """Lines of N-Quads, the time of each event before its quads; an event without quads has no subject."""
    current: tuple[str, datetime | float | str] | None = None
    for graph, subject, predicate, target, time in quads:
        if (graph, time) != current:
            current = graph, time
            yield quad_line(graph, f"<{time_predicate}>", _time(time))
        if subject is not None and predicate is not None and target is not None:
            yield quad_line(subject, predicate, target, graph)


def texts_of(batch: Any, columns: Sequence[str], source: str) -> Iterator[InputText]:
    """The texts of a record batch: in the first column, or where the columns beside it say; `source` is the default."""
    cells = {name: batch.column(name).to_pylist() for name in columns}
    missing = [None] * batch.num_rows
    beside = [cells.get(name, missing) for name in BESIDE]
    for text, own, path, line, rdf_format, first, last, breaks_off in zip(cells[columns[0]], *beside, strict=True):
        name = own or path or source
        if text is not None:
            raw = text.encode() if isinstance(text, str) else text
            yield InputText(raw, name, line or 0, rdf_format, breaks_off=breaks_off)
        elif first is not None:
            part = FileRange(name, rdf_format, first, last, line)
            yield InputText(b"", name, line, rdf_format, part.opened)


def _time(time: datetime | float | str) -> str:
    text = time if isinstance(time, str) else format_time(nanoseconds(time))
    return text if text.startswith('"') else f'"{text}"^^<{XSD}dateTime>'


def quad_line(*cells: str) -> str:
    """The statement of the cells, each an N-Triples term or an IRI without brackets.

    A cell that is anything but one term makes the line malformed, whatever it says.
    """
    tokens = [cell if cell[:1] in ("<", '"', "_") else f"<{cell}>" for cell in cells if isinstance(cell, str)]
    if len(tokens) == len(cells) and all(is_token(token.encode("utf-8", "surrogatepass")) for token in tokens):
        return " ".join(tokens) + " .\n"
    return json.dumps(cells, default=repr) + "\n"
