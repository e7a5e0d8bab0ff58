"""Tables and templates of the fuzzer, and inputs in any order."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from random import Random

import pyarrow as pa
import pyoxigraph as ox
import zstandard
from pyarrow import parquet

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import BrokenOff
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from spaseq.errors import SPAseqError
from spaseq.inputs.compression import ZstandardReader
from spaseq.inputs.paths import InputFile
from spaseq.inputs.reading import StreamFormat, StreamReader
from spaseq.inputs.sorting import Sorting, SortOptions
from spaseq.inputs.tables.template import parse_template
from spaseq.inputs.texts import OpenInput
from tests.fuzz.mutate import mutated
from tests.inputs.jelly_files import written

TEMPLATE = """@prefix : <http://ex.org/> . @prefix prov: <http://www.w3.org/ns/prov#> .
<http://ex.org/{id}> prov:generatedAtTime ?time .
<http://ex.org/{id}> { <http://ex.org/{name}> :v ?v ; :w "{v} {{{name}"@en ; :x <{link}> ; :t ?tags.n . [] :of :x }
"""
_ROWS = [
    {"id": n, "time": n, "name": f"né {n}", "v": v, "link": "urn:x", "tags": [{"n": n}, {"n": None}]}
    for n, v in enumerate([1.5, None, -2.0, 3.0, None])
]
_FLAT = "".join(f'{row["id"]},{row["time"]},"{row["name"]}",{row["v"]},urn:x,3\n' for row in _ROWS)
CSV = ("id,time,name,v,link,tags.n\n" + _FLAT).encode()
NDJSON = "".join(str(row).replace("'", '"').replace("None", "null") + "\n" for row in _ROWS).encode()


def _parquet() -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(_ROWS), buffer)
    return buffer.getvalue()


SEEDS = {"csv": CSV, "tsv": CSV.replace(b",", b"\t"), "ndjson": NDJSON, "parquet": _parquet()}
_TIME = f'<{PROV_TIME}> "%d"^^<http://www.w3.org/2001/XMLSchema#integer> .'
QUADS = "".join(f'<urn:e{n}> {_TIME % n}\n<urn:s> <urn:p> "é{n}" <urn:e{9 - n}> .\n' for n in range(10)).encode()


def make_table(table_format: str, random: Random) -> bytes:
    """A table with a fault."""
    return mutated(random, SEEDS[table_format], tuple(SEEDS.values()))


def take_table(table_format: str, data: bytes) -> None:
    """Rows are events or reported."""
    how = StreamFormat(table_format, parse_template(TEMPLATE, "t.trig", (PROV_TIME,)))
    _read(data, how)


def make_template(random: Random) -> bytes:
    """A template with a fault."""
    return mutated(random, TEMPLATE.encode(), (CSV,))


def take_template(data: bytes) -> None:
    """A template is used, or refused with its place."""
    try:
        template = parse_template(data.decode("utf-8", "replace"), "t", (PROV_TIME,))
        _read(CSV, StreamFormat("csv", template))
        _read(NDJSON, StreamFormat("ndjson", template))
    except SPAseqError:
        return


def _read(data: bytes, how: StreamFormat) -> None:
    reports: list[Malformed] = []
    reader = StreamReader(Dictionary(), ReadOptions(), how, reports.append)
    source = OpenInput(io.BytesIO(data), how.name or "", False)
    try:
        for batch in reader.read(source, "fuzz"):
            assert (batch.events.times[:, None] >= -(2**63) + 1).all()
    except SPAseqError:
        return


def make_quads(random: Random) -> bytes:
    """Quads in any order, with a fault."""
    return mutated(random, QUADS, (QUADS,))


def take_quads(data: bytes) -> None:
    """What is sorted is a stream without late events; sorting it again changes nothing."""
    once = _sorted(data, ".nq")
    assert _sorted(once, ".nq") == once
    _sorted(data, ".trig")


def _sorted(data: bytes, suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"in{suffix}")
        path.write_bytes(data)
        rdf_format = "trig" if suffix == ".trig" else "nquads"
        options = SortOptions(ReadOptions(), lambda _source, _fault: None, memory=2_000)
        return b"".join(Sorting([InputFile(str(path), rdf_format)], options).texts())


def make_zstandard(random: Random) -> bytes:
    """A packed text with a fault."""
    return mutated(random, zstandard.compress(QUADS))


def take_zstandard(data: bytes) -> None:
    """It is read as far as it goes."""
    reader = io.BufferedReader(ZstandardReader(io.BufferedReader(io.BytesIO(data))))  # type: ignore[arg-type]
    try:
        while reader.read1(1000):
            pass
    except BrokenOff:
        return


JSON_LD = b"""{"@context": {"@vocab": "http://ex.org/", "at": {"@id": "http://www.w3.org/ns/prov#generatedAtTime"}},
 "@id": "urn:e1", "at": 5, "@graph": [{"@id": "urn:s", "p": [1.5, {"@value": "x", "@language": "en"}],
  "q": {"r": null}}]}"""
LINES = JSON_LD.replace(b"\n", b"") + b"\n" + JSON_LD.replace(b"\n", b"").replace(b"e1", b"e2") + b"\n"
MESSAGES = b"""# @message
PREFIX : <http://ex.org/> PREFIX prov: <http://www.w3.org/ns/prov#>
_:b :p 1 ; prov:generatedAtTime 5 .
# @message
<urn:g> prov:generatedAtTime 7 . <urn:g> { :a :b "# @message" }
MESSAGE
:s prov:generatedAtTime 9 .
"""
JELLY = written([list(ox.parse(QUADS, ox.RdfFormat.N_QUADS))], "quads", "flat quads", 8)
UNITS = {"jelly": JELLY, "jsonld": JSON_LD, "ndjsonld": LINES, "messages": MESSAGES}


def make_units(rdf_format: str, random: Random) -> bytes:
    """A document of units with a fault."""
    return mutated(random, UNITS[rdf_format], tuple(UNITS.values()))


def take_units(rdf_format: str, data: bytes) -> None:
    """Units are events or reported; a context that is not given ends the run."""
    _read(data, StreamFormat(rdf_format))
