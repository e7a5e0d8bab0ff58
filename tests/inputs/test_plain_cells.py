"""Cells that become terms many at once give what they give one by one: events, terms, numbers, reports."""

from __future__ import annotations

import io
import random
from dataclasses import replace
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, Malformed, ReadOptions
from sparql_gpm.terms import XSD
from spaseq.inputs.reading import StreamFormat, StreamReader
from spaseq.inputs.tables import slots
from spaseq.inputs.tables.options import TableOptions
from spaseq.inputs.tables.template import parse_template
from spaseq.inputs.texts import OpenInput
from tests.drawn import drawn

TEMPLATE = f"""@prefix : <http://ex.org/> .
<http://ex.org/t/{{id}}> <{PROV_TIME}> TIME .
<http://ex.org/t/{{id}}> {{ <http://ex.org/s/{{name}}> :v ?v ; :w "a \\"{{name}}\\" b"@en ; :n "{{n}}"^^<{XSD}integer> ;
  :k "{{name}}{{n}}" ; :l <http://{{name}}/x> ; :g "{{n}}"^^<{XSD}gYear> . [] :time "{{time}}"^^<{XSD}dateTime> }}
"""
NAMES = (["a", "b-c", "D_e~.9"], ["a", ""], ["a", "x y", "é", 'q"u', "two\nlines", "back\\slash", ""])
VALUES = (
    ["1", "-0", "007"],
    ["1", "+5", "2.50", "x", ""],
    ["2026-01-01T00:00:00Z", "2026-02-28T23:59:59.5"],
    ["12" * 20],
    ["1", "2.50", "0.125", "-3.5"],
    ["-0.0", "3"],
    ["7.25", "7.25000001"],
)
TIMES = (["Z", "", ".25Z"], ["Z", "+01:00"], ["Z", "Zx"], ["Z"])


def table(draw: random.Random) -> list[dict[str, str]]:
    """Rows; cells of a column are plain, or some of them are not."""
    names, values, zones = draw.choice(NAMES), draw.choice(VALUES), draw.choice(TIMES)
    counts = draw.choice((["4", "-17"], ["4", "-17"], ["2.5", "1"], ["2026-01-01T00:00:00Z"]))
    days = draw.choice(["0123456789", "0123456789", "29"])
    again = draw.random() < 0.2
    return [
        {
            "id": str(draw.randrange(20) if again else number), "name": draw.choice(names), "v": draw.choice(values),
            "n": draw.choice(["4", "-17", "x"] if again else counts),
            "time": f"2026-02-{draw.choice('012')}{draw.choice(days)}T00:00:{number:02}{draw.choice(zones)}",
        }
        for number in range(draw.randrange(1, 40))
    ]  # fmt: skip


def as_csv(rows: list[dict[str, str]]) -> bytes:
    cells = [list(rows[0]), *(list(row.values()) for row in rows)]
    quoted = [['"' + cell.replace('"', '""') + '"' if cell else "" for cell in row] for row in cells]
    return "".join(",".join(row) + "\n" for row in quoted).encode()


def as_parquet(rows: list[dict[str, str]]) -> bytes:
    found = pa.Table.from_pylist(rows)
    buffer = io.BytesIO()
    parquet.write_table(found, buffer)
    return buffer.getvalue()


def read(data: bytes, form: str, template: str, compiled: bool) -> tuple[list[object], list[Malformed]]:
    reports: list[Malformed] = []
    how = StreamFormat(form, parse_template(template, "t", (PROV_TIME,)), TableOptions(rows_max=7))
    dictionary = Dictionary()
    reader = StreamReader(dictionary, replace(ReadOptions(), compiled=compiled), how, reports.append)
    source = io.BytesIO(data)
    found: list[object] = []
    for located in reader.read(OpenInput(source, form, live=False, file=source), "t"):
        batch = located.events
        columns = [[(dictionary.token(i), dictionary.number(i)) for i in ids.tolist()] for ids in batch.terms]
        triples = [str(triple).replace("nan", "NaN") for triple in zip(*columns, strict=True)]
        found.append((list(batch.names), batch.times.tolist(), np.diff(batch.offsets).tolist(), unscoped(triples)))
        dictionary.retain([])
    return found, reports


def unscoped(triples: list[str]) -> list[str]:
    return [triple.split(", ", 2)[2] if triple.startswith("((b'_:") else triple for triple in triples]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_many_cells_at_once_are_what_they_are_one_by_one(form: str) -> None:
    plain = 0
    for seed in range(drawn(80)):
        draw = random.Random(seed)
        rows = table(draw)
        data = as_csv(rows) if form == "csv" else as_parquet(rows)
        template = TEMPLATE.replace("TIME", draw.choice(["?time", f'"{{time}}"^^<{XSD}dateTime>']))
        with mock.patch.object(slots, "plain_terms", lambda slot, cells: None):
            one_by_one = read(data, form, template, compiled=False)
        assert read(data, form, template, compiled=False) == one_by_one, seed
        assert read(data, form, template, compiled=True) == one_by_one, seed
        plain += not one_by_one[1]
    assert plain > 1
