"""A template proposed for a table, by the names and types of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from sparql_gpm.reading.document_terms import is_token
from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import parse_time
from spaseq.engine.options import RunOptions
from spaseq.engine.sorting import STREAM
from spaseq.engine.stream_formats import stream_format
from spaseq.errors import InputError
from spaseq.inputs.formats import TABLES
from spaseq.inputs.opening import opened
from spaseq.inputs.paths import input_files
from spaseq.inputs.tables.cells import Cells, RowBatch

_VARIABLE = re.compile(r"\w+")
_LOCAL = re.compile(r"[A-Za-z]\w*", re.ASCII)
_ADDRESSES = ("http://", "https://", "urn:")
_DATES = (XSD + "dateTime", XSD + "date")
_TIME_NAMES = re.compile(r"time|date|stamp|when|at$", re.IGNORECASE)


def proposed_template(path: str, options: RunOptions) -> str:
    """A template for the first rows of a table; raises InputError for an input that is none."""
    how = stream_format(options, (STREAM,), options.time_reading({}))
    file = input_files(path, how.name, tables=True)[0]
    with opened(file) as source:
        if source.format not in TABLES:
            raise InputError(f"{path} is no table", hint=f"a table is one of {', '.join(TABLES)}")
        from spaseq.inputs.tables.sources import rows_of

        rows = next(rows_of(replace(source, live=False), how.table, lambda *_: None), None)
    if rows is None or not len(rows.numbers):
        raise InputError(f"{path} has no row", hint="a template is proposed by the first rows")
    return "".join(f"{line}\n" for line in _lines(Path(path).name.partition(".")[0], rows))


def _lines(name: str, rows: RowBatch) -> Iterator[str]:
    columns = [(path, rows.cells(path)) for path in rows.names()]
    usable = [(path, cells) for path, cells in columns if not set("{}\r\n") & set(".".join(path))]
    time = next((path for path, cells in usable if _is_time(path, cells)), None)
    yield "# A row is one event. Change the properties; delete what no query needs."
    yield f"@prefix : <urn:table:{quote(name, safe='')}:> ."
    yield "@prefix prov: <http://www.w3.org/ns/prov#> ."
    yield ""
    yield "[]"
    if time is None:
        yield "  # no column is a time: say which one, or run with --arrival-time"
    else:
        yield f"  prov:generatedAtTime {_written(time, dict(usable)[time])} ;"
    for path, cells in usable:
        if path != time:
            yield f"  {_property(path)} {_written(path, cells)} ;"
    yield "  ."


def _written(path: tuple[str, ...], cells: Cells) -> str:
    """The cell as an IRI if all of them are web addresses or URNs, else as a typed value, or a string."""
    whole = ".".join(path)
    texts = [text for text in cells.lexicals if text]
    if texts and all(text.startswith(_ADDRESSES) and is_token(f"<{text}>".encode()) for text in texts):
        return f"<{{{whole}}}>"
    return f"?{whole}" if all(map(_VARIABLE.fullmatch, path)) else f'"{{{whole}}}"'


def _property(path: tuple[str, ...]) -> str:
    local = "_".join(path)
    return f":{local}" if _LOCAL.fullmatch(local) else f"<urn:table:{quote(local, safe='')}>"


def _is_time(path: tuple[str, ...], cells: Cells) -> bool:
    """True if all cells are times; numbers only under a name that says so."""
    values = [cells.literal(index) for index in range(len(cells.lexicals)) if cells.lexicals[index]]
    if not values or not all(map(_VARIABLE.fullmatch, path)):
        return False
    try:
        for value in values:
            parse_time(value or Literal(""))
    except ValueError:
        return False
    dated = all(value is not None and value.datatype in _DATES for value in values)
    return dated or bool(_TIME_NAMES.search(path[-1]))
