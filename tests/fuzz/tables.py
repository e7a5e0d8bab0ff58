"""Tables in each format, templates, and inputs in any order."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, partial
from random import Random
from unittest import mock

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from spaseq.errors import SPAseqError
from spaseq.inputs.paths import InputFile
from spaseq.inputs.reading import StreamFormat, StreamReader
from spaseq.inputs.sorting import Sorting, SortOptions
from spaseq.inputs.tables import json_lines, sources
from spaseq.inputs.tables.template import Template, parse_template
from spaseq.inputs.texts import OpenInput
from tests.fuzz.corpora import QUADS
from tests.fuzz.mutate import LENGTH_MAX, mutated
from tests.fuzz.target import Finding, Target, folder

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
_NO_LISTS = re.sub(rb'\[({"n": \d+}), {"n": null}\]', rb"\1", NDJSON)


def _parquet(rows: list[dict[str, object]], **options: object) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), buffer, **options)
    return buffer.getvalue()


def _other_parquet() -> bytes:
    """Pages without dictionaries, of the second version, packed."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [{**row, "time": moment, "v": Decimal("1.50"), "name": b"\x00\xff"} for row in _ROWS]
    return _parquet(rows, compression="zstd", use_dictionary=False, data_page_version="2.0", row_group_size=2)


_BLOCK_BYTES = 1_000
"""Of CSV; the seeds are shorter, and repeated rows are longer."""
SEEDS = {
    "csv": (CSV,),
    "tsv": (CSV.replace(b",", b"\t"),),
    "ndjson": (NDJSON, _NO_LISTS),
    "parquet": (_parquet(_ROWS, compression="none"), _parquet(_ROWS), _other_parquet()),
}
_TEXTS = tuple(seed for name in ("csv", "tsv", "ndjson") for seed in SEEDS[name])


def targets() -> tuple[Target, ...]:
    """Tables, templates, and quads to be sorted."""
    return (
        *(Target(name, partial(_make_table, name), partial(_take_table, name)) for name in SEEDS),
        Target("arrow", _make_arrow, _take_arrow),
        Target("template", _make_template, _take_template),
        Target("quads", _make_quads, _take_quads),
    )


def _make_table(table_format: str, random: Random) -> bytes:
    """A table with a fault."""
    seeds, binary = SEEDS[table_format], table_format == "parquet"
    seed = random.choice(seeds)
    if binary and random.random() < 0.5:  # what stands in the footer
        length = 8 + int.from_bytes(seed[-8:-4], "little")
        return seed[:-length] + mutated(random, seed[-length:], (seed,), binary)
    return mutated(random, seed, seeds if binary else _TEXTS, binary)


@cache
def _template() -> Template:
    return parse_template(TEMPLATE, "t.trig", (PROV_TIME,))


def _take_table(table_format: str, data: bytes) -> None:
    """Rows are events or reported; half of the inputs are read in short blocks."""
    block_bytes = _BLOCK_BYTES if zlib.crc32(data) % 2 else LENGTH_MAX
    how = StreamFormat(table_format, _template())
    with mock.patch.object(sources, "FILE_BLOCK_BYTES", block_bytes):
        found = _read(data, how)
    if found is None or table_format != "ndjson":
        return
    with mock.patch.multiple(json_lines, BLOCK_BYTES_MIN=0, PIECES_MAX=len(data) % 4):
        scanned = _read(data, how, ReadOptions(compiled=True))
    if scanned is not None and scanned != found:  # lists in two columns are refused, or not, by the batch
        raise Finding("lines by the kernel are not those one by one")


_VALUES: tuple[tuple[pa.DataType, Callable[[Random], object]], ...] = (
    (pa.int64(), lambda random: random.choice((0, 1, -1, 2**63 - 1, -(2**63)))),
    (pa.uint64(), lambda random: random.choice((0, 2**64 - 1))),
    (pa.float64(), lambda random: random.choice((0.5, -0.0, float("nan"), float("inf"), 1e300))),
    (pa.float32(), lambda random: random.choice((0.1, float("-inf"), 1e30))),
    (pa.float16(), lambda random: random.choice((0.5, -1.0))),
    (pa.bool_(), lambda random: random.random() < 0.5),
    (pa.string(), lambda random: random.choice(("", "x", "é😀", "urn:x", "2026-01-01T00:00:00Z", "\x00\n{", "5"))),
    (pa.large_string(), lambda random: random.choice(("", "x y", "é"))),
    (pa.string_view(), lambda random: random.choice(("", "x y", "a longer text than is inlined"))),
    (pa.dictionary(pa.int8(), pa.string()), lambda random: random.choice(("a", "b", "urn:x"))),
    (pa.binary(), lambda random: random.randbytes(random.randrange(4))),
    (pa.binary(3), lambda random: random.randbytes(3)),
    (pa.decimal128(9, 3), lambda random: Decimal(random.randrange(-(10**8), 10**8)).scaleb(-3)),
    (pa.decimal256(60, 0), lambda random: Decimal(10) ** 20),
    (pa.timestamp("ns"), lambda random: random.choice((0, 1, 2**63 - 1, -(2**63)))),
    (pa.timestamp("s", tz="UTC"), lambda random: random.choice((0, 10**9, 2**62, -(2**62)))),
    (pa.timestamp("us", tz="Europe/Vienna"), lambda random: random.choice((0, 10**15, 2**62))),
    (pa.date32(), lambda random: random.choice((0, 20_000, 2**31 - 1, -(2**31)))),
    (pa.date64(), lambda random: random.choice((0, 86_400_000 * 20_000))),
    (pa.time32("ms"), lambda random: random.randrange(86_400_000)),
    (pa.time64("ns"), lambda random: random.randrange(86_400 * 10**9)),
    (pa.duration("us"), lambda random: random.choice((0, -1, 2**62))),
    (pa.month_day_nano_interval(), lambda random: (1, random.randrange(9), 3)),
    (pa.null(), lambda random: None),
    (pa.list_(pa.int64()), lambda random: [1, None, 3][: random.randrange(4)]),
    (pa.large_list(pa.struct([("n", pa.int8())])), lambda random: [{"n": 1}, None, {"n": None}][: random.randrange(4)]),
    (pa.list_(pa.string(), 2), lambda random: ["a", random.choice(("b", None))]),
    (pa.struct([("n", pa.string())]), lambda random: {"n": random.choice(("a", None))}),
    (pa.map_(pa.string(), pa.int8()), lambda random: [("a", 1)]),
)
"""Types of Arrow, and values of each."""
_NULL_SHARE = 0.15
_MEMORIES = (2_000, 100_000, 100_000, 100_000)
"""Bytes of a sorting: seldom so few that records go to files again and again."""


def _make_arrow(random: Random) -> bytes:
    """A table that a program holds, as an Arrow stream, with a fault more often than not."""
    names = [name for name in _ROWS[0] if random.random() < 0.97]
    count = random.randrange(1, 7)
    batch = pa.RecordBatch.from_arrays([_column(random, name, count) for name in names], names)
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, batch.schema) as writer:
        step = random.choice((count, 2))
        for begin in range(0, count, step):
            writer.write_batch(batch.slice(begin, step))
    found = buffer.getvalue()
    return mutated(random, found, (found,), binary=True) if random.random() < 0.6 else found


def _column(random: Random, name: str, count: int) -> pa.Array:
    """The cells of a column, mostly of the type that the template's use of it suggests."""
    if random.random() < 0.6:
        return pa.array([_ROWS[number % len(_ROWS)][name] for number in range(count)])
    kind, draw = random.choice(_VALUES)
    cells = [None if random.random() < _NULL_SHARE else draw(random) for _ in range(count)]
    return pa.array(cells, kind)


def _take_arrow(data: bytes) -> None:
    """Tables that Arrow itself takes are events or reported."""
    try:
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError):
        return
    reader = StreamReader(Dictionary(), ReadOptions(), StreamFormat(None, _template()), lambda report: None)
    with suppress(SPAseqError):
        for batch in reader.read_table(table):
            assert len(batch.events.times) == len(batch.lines)


def _make_template(random: Random) -> bytes:
    """A template with a fault."""
    return mutated(random, TEMPLATE.encode(), (CSV,))


def _take_template(data: bytes) -> None:
    """A template is used, or refused with its place."""
    try:
        template = parse_template(data.decode("utf-8", "replace"), "t", (PROV_TIME,))
        _read(CSV, StreamFormat("csv", template))
        _read(NDJSON, StreamFormat("ndjson", template))
    except SPAseqError:
        return


def _read(data: bytes, how: StreamFormat, options: ReadOptions = ReadOptions()) -> tuple[object, object] | None:  # noqa: B008
    """The events, by line, time, name and number of triples, and the reports; None for what is refused as a whole."""
    reports: list[Malformed] = []
    found: list[tuple[int, int, str, int]] = []
    reader = StreamReader(Dictionary(), options, how, reports.append)
    source = OpenInput(io.BytesIO(data), how.name or "", False)
    try:
        for batch in reader.read(source, "fuzz"):
            events = batch.events
            assert (events.times[:, None] >= -(2**63) + 1).all()
            sizes = np.diff(events.offsets).tolist()
            found += zip(batch.lines.tolist(), events.times.tolist(), events.names, sizes, strict=True)
    except SPAseqError:
        return None
    return found, sorted(map(str, reports))


def _make_quads(random: Random) -> bytes:
    """Quads in any order, with a fault."""
    return mutated(random, QUADS, (QUADS,))


def _take_quads(data: bytes) -> None:
    """What is sorted is a stream without late events; sorting it again changes nothing."""
    memory = _MEMORIES[zlib.crc32(data) % len(_MEMORIES)]
    once = _sorted(data, "nquads", memory)
    if _sorted(once, "nquads", memory) != once:
        raise Finding("what is sorted changes when it is sorted again")
    _sorted(data, "trig", memory)


def _sorted(data: bytes, rdf_format: str, memory: int) -> bytes:
    path = folder() / "quads"
    path.write_bytes(data)
    options = SortOptions(ReadOptions(), lambda _source, _fault: None, memory=memory)
    return b"".join(Sorting([InputFile(str(path), rdf_format)], options).texts())
