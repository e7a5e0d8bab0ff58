"""The smart-grid streams as tables: a Parquet file for each, a row of which is an event, and the template beside it."""

from __future__ import annotations

import re
from pathlib import Path

from sparql_gpm.rdf_io import PROV_TIME
from sparql_gpm.terms import XSD
from spaseq.demo.smart_grid import NS

QUADS_PER_EVENT = 5
_HEAD = f"""@prefix : <{NS}> .
@prefix xsd: <{XSD}> .
<urn:{{stream}}:{{number}}> <{PROV_TIME}> "{{time}}"^^xsd:dateTime .
<urn:{{stream}}:{{number}}> {{ """
_POWER = f"""<{NS}{{subject}}> :loc <{NS}{{location}}> ; :pow :Pw . :Pw :source "{{source}}" ; :fare ?fare }}
"""
_WEATHER = f"""<{NS}{{subject}}> :loc <{NS}{{location}}> ; :value :Vl . :Vl :light ?light ; :windsp ?wind }}
"""
_GRAPHS = {"power": _POWER, "weather": _WEATHER, "storage": _POWER}
_LAST = {_POWER: ("source", "fare"), _WEATHER: ("light", "wind")}
_NUMBERS = ("number", "fare", "light", "wind")
_CELLS = re.compile(
    r'<urn:\w+:(\d+)> \S+ "([^"]+)"\S* \.\n\S*#(\w+)> \S+ \S*#(\w+)> .+\n.+\n\S+ \S+ "([^"]+)".+\n\S+ \S+ "([^"]+)".+\n'
)
"""The cells of an event as N-Quads."""


def template_of(table: Path) -> Path:
    """The path of the template of a table."""
    return table.with_suffix(".rows.trig")


def write_tables(folder: Path) -> None:
    """Write the streams in the folder, which are there as N-Quads, as tables with their templates."""
    import polars

    for stream, graph in _GRAPHS.items():
        text = (folder / f"{stream}.nq").read_text(encoding="utf-8")
        rows = _CELLS.findall(text)
        assert len(rows) * QUADS_PER_EVENT == text.count("\n"), stream
        names = ("number", "time", "subject", "location", *_LAST[graph])
        table = folder / f"{stream}.parquet"
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
        numbers = {name: polars.Int64 for name in names if name in _NUMBERS}
        polars.DataFrame(columns).cast(numbers).write_parquet(table)  # type: ignore[arg-type]
        template_of(table).write_text(_HEAD.replace("{stream}", stream) + graph, encoding="utf-8")
