"""Lines of JSON that a kernel reads as columns give what the same lines give one by one."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Callable
from unittest import mock

import pytest

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions
from sparql_gpm.reading import blocks
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.terms import to_ntriples
from spaseq.errors import InputError
from spaseq.inputs.reading import StreamFormat, StreamReader
from spaseq.inputs.tables import json_lines
from spaseq.inputs.tables.options import TableOptions
from spaseq.inputs.tables.template import parse_template
from spaseq.inputs.texts import OpenInput

HEAD = """@prefix : <http://ex.org/> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
GRAPHS = ("", "<http://ex.org/e/{id}>", "<http://ex.org/e/{name}/{id}>")
TIMES = ("?time", '"{time}"^^xsd:integer', '"{when}"^^xsd:dateTime', "?when", "?at.time", '"{at.when}"^^xsd:dateTime')
OBJECTS = (
    ":price ?price", ":name ?name", ':kind "{kind}"@en', ":of <http://ex.org/s/{name}>", ":to <{link}>", ":x ?at.x.y",
    ':year "{year}"^^xsd:gYear', ':both "{kind} {price}"', ":all ?größe", ":it <http://ex.org/{at.x.y}>", ":tag ?tags",
    ':tagged "{tags} {kind}"',
)  # fmt: skip
ODD = (
    None, True, False, 0, -0.0, 10**30, -5, 1.5, "", "x", 'q"u\\o\n', "né", "😀", "\x00", "\ud800", "2026", {},
    {"y": 1},
)  # fmt: skip
WRITTEN = (
    "1.10",
    "1e3",
    "-0",
    "-0.0",
    "1E+05",
    "0.0e-0",
    "01",
    "1.",
    ".5",
    "-",
    "+1",
    "NaN",
    "Infinity",
    "-Infinity",
    "nul",
)
LISTS = ([], [1, None], [[2], {"y": 1}])
LINES = (
    b"", b"  \t", b"\x0b", b"\r", b"null", b"[]", b"{}", b"{", b"{}}", b"{,}", b'{"id":1,}', b'{"id" 1}', b"x", b'{"id',
    b'{"a":"\xff"}', b'{"a":"\\x"}', b'{"a":"\\u12g4"}', b'{"a":"\t"}', b"\xef\xbb\xbf{}", b'{"a":[1,]}',
    b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", b'{"a":' + b"[" * 9_000 + b"}", b'{"a":"' + b"x" * 20_000 + b'"}',
    b'{"at.when":"2026-01-01T00:00:00Z","id":7}', b'{"a":[1 2]}',
)  # fmt: skip


def a_template(draw: random.Random) -> str:
    graph, time = draw.choice(GRAPHS), draw.choice(TIMES)
    subject = draw.choice(("[]", ":it", "<http://ex.org/{id}>"))
    objects = (*OBJECTS, ":at ?at") if draw.random() < 0.1 else OBJECTS
    triples = [f"{subject} {each} ." for each in draw.sample(objects, draw.randrange(1, 5))]
    if not graph:
        return HEAD + "\n".join([*triples, f"{subject} prov:generatedAtTime {time} ."])
    return HEAD + f"{graph} prov:generatedAtTime {time} .\n{graph} {{ {' '.join(triples)} }}"


def columns(draw: random.Random) -> dict[str, Callable[[int], object]]:
    """What the values of a file are like, by their keys."""
    names = draw.choice((("acme", "b-c"), ("acme", "né & co", ""), ("a\tb", "😀", 'q"u')))
    prices = draw.choice(((1.5, 2.25, 7.0), (1, 2), (1, 2.5, None), (1, "2", True)))
    links = ("urn:x", "urn:y") if draw.random() < 0.7 else ("urn:x", "http://ex.org/ü", "no iri")
    years = draw.choice((("2020", "2021"), (2020, 2021)))
    found: dict[str, Callable[[int], object]] = {
        "id": lambda number: number,
        "time": lambda number: number,
        "when": lambda number: f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z",
        "name": lambda _: draw.choice(names),
        "kind": lambda _: draw.choice("AB"),
        "price": lambda _: draw.choice(prices),
        "year": lambda _: draw.choice(years),
        "größe": lambda _: draw.choice((1, 22)),
        "link": lambda _: draw.choice(links),
        "more": lambda _: draw.choice(([1, {"a": []}], {"id": 3, "b": "}"}, "]")),
    }
    tags = ((1, 2), ("a", "é", ""), (1, "1", None, ["x", [2.50]]), ({},))[min(3, int(draw.expovariate(1)))]
    found["tags"] = lambda _: [draw.choice(tags) for _ in range(draw.randrange(4))] if draw.random() < 0.8 else "a"
    found["at"] = lambda number: {"time": number, "when": found["when"](number), "x": {"y": draw.choice(names)}}
    return found


def a_file(draw: random.Random, faults: float) -> bytes:
    makes, order = columns(draw), draw.random() < 0.7
    dumps = json.JSONEncoder(
        ensure_ascii=draw.random() < 0.3, separators=draw.choice(((",", ":"), (" , ", ": ")))
    ).encode
    missing = draw.choice((0, 0, 0.1))
    lines = []
    for number in range(draw.randrange(1, 120)):
        row = {key: make(number) for key, make in makes.items() if draw.random() >= missing}
        if not order:
            row = dict(draw.sample(list(row.items()), len(row)))
        lines.append(a_line(draw, row, dumps, faults))
    end = draw.choice((b"\n", b"\n", b"\r\n"))
    text = end.join(lines) + draw.choice((b"", end))
    if draw.random() < faults * 10:
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.randbytes(draw.randrange(3)) + text[at + draw.randrange(5) :]
    return (b"\xef\xbb\xbf" if draw.random() < 0.1 else b"") + text


def a_line(draw: random.Random, row: dict[str, object], dumps: Callable[[object], str], faults: float) -> bytes:
    if draw.random() < faults:
        return draw.choice(LINES)
    if row and draw.random() < faults:
        row[draw.choice(list(row))] = draw.choice(ODD)
    if draw.random() < faults:
        row["price"] = draw.choice(LISTS)  # lists in two columns are refused, or not, by the batch
    text = dumps(row)
    if row and draw.random() < faults:
        key = draw.choice(list(row))
        twice = f"{json.dumps(key, ensure_ascii=draw.random() < 0.5)}: {draw.choice(WRITTEN)}"
        text = f"{{{twice}, {text[1:]}" if draw.random() < 0.5 else f"{text[:-1]}, {twice}}}"
    if row and draw.random() < faults:
        text = re.sub(r":\s*\d+", lambda _: ":" + draw.choice(WRITTEN), text, count=1)
    return text.encode("utf-8", "surrogatepass")


def events_of(text: bytes, template: str, compiled: bool, live: bool = False) -> tuple[list[object], list[object]]:
    """The events, and the reports by their lines."""
    dictionary, reports, found = Dictionary(), list[Malformed](), []
    how = StreamFormat("ndjson", parse_template(template, "t", (PROV_TIME,)), TableOptions(bytes_max=15_000))
    reader = StreamReader(dictionary, ReadOptions(compiled=compiled), how, reports.append)
    try:
        for batch in reader.read(OpenInput(io.BytesIO(text), "ndjson", live), "x"):
            events = batch.events
            terms = [
                [to_ntriples(dictionary.term(each)) for each in column.tolist()]
                for column in (events.subjects, events.predicates, events.objects)
            ]
            triples = list(zip(*terms, strict=True))
            for event, line in enumerate(batch.lines.tolist()):
                begin, end = events.offsets[event : event + 2].tolist()
                own = sorted("_:b".join(re.split(r"_:\S+", " ".join(triple))) for triple in triples[begin:end])
                found.append((line, int(events.times[event]), events.names[event], own))
    except InputError as error:
        return [str(error)], []
    return found, sorted(map(str, reports))


@pytest.mark.parametrize("seed", range(6))
def test_lines_by_the_kernel_are_those_one_by_one(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(6):
        template, text = a_template(draw), a_file(draw, draw.choice((0, 0, 0.02, 0.2)))
        wanted = events_of(text, template, compiled=False)
        with (
            mock.patch.object(json_lines, "BLOCK_BYTES_MIN", draw.choice((0, 0, 400))),
            mock.patch.object(json_lines, "PIECES_MAX", draw.choice((0, 2, 16))),
            mock.patch.object(blocks, "BLOCK_BYTES", draw.choice((16, 250, 1 << 20))),
        ):
            assert events_of(text, template, compiled=True, live=draw.random() < 0.3) == wanted, (template, text)


def kinds_of(
    text: bytes, reading: ReadOptions, paths: tuple[tuple[str, ...], ...] = (("id",), ("at", "x"))
) -> list[str]:
    """The batches of rows, by their classes, each with its number of rows."""
    lines = json_lines.JsonLines(TableOptions(), lambda *_: None, paths, reading)
    found = lines.rows(blocks.Blocks(io.BytesIO(text), live=False))
    return [f"{type(rows).__name__} {len(rows.numbers)}" for rows in found]


def test_only_lines_with_odd_values_are_objects() -> None:
    regular = b"".join(b'{"id": %d, "at": {"x": "\\u00e9"}, "no": [{}]}\n' % number for number in range(400))
    odd = b'{"id": [{}], "at": {"x": 1}}\n'
    compiled = ReadOptions(compiled=True)
    assert kinds_of(regular + b'{"x\n\n' + regular, compiled) == ["JsonRows 800"]
    assert kinds_of(regular + odd + odd + regular, compiled) == ["JsonRows 400", "ObjectRows 2", "JsonRows 400"]
    assert kinds_of((b'{"id": 1}\n' + odd) * 400, compiled) == ["ObjectRows 800"]
    assert kinds_of(regular, ReadOptions(compiled=False)) == ["ObjectRows 400"]
    assert kinds_of(regular, compiled, ()) == ["ObjectRows 400"]


@pytest.mark.parametrize(("kept", "length", "expected", "by"), [
    (True, 3 << 20, 0, "JsonRows"), (True, 1 << 20, 0, "ObjectRows"), (False, 3 << 20, 0, "ObjectRows"),
    (False, 1 << 20, 1 << 26, "JsonRows"), (True, 1 << 20, 3 << 20, "JsonRows"),
])  # fmt: skip
def test_the_kernel_reads_what_is_long_enough_for_it(kept: bool, length: int, expected: int, by: str) -> None:
    line = b'{"id": 1, "at": {"x": "%b"}}\n' % (b"x" * 40_000)
    with mock.patch.object(json_lines, "_kernel_is_kept", lambda: kept):
        found = kinds_of(line * (length // len(line)), ReadOptions(bytes_expected=expected))
    assert found[-1].startswith(by)


def test_values_of_lists_are_cells_of_their_rows() -> None:
    texts = ("[1, [2, null]]", '"a"', "[]", "null", '["a"]', "[[{}]]", "[3]")
    text = b"".join(b'{"at": {"x": %b}}\n' % each.encode() for each in texts)
    with mock.patch.object(json_lines, "BLOCK_BYTES_MIN", 0):
        lines = json_lines.JsonLines(TableOptions(), lambda *_: None, [("at", "x")], ReadOptions(compiled=True))
        found = list(lines.rows(blocks.Blocks(io.BytesIO(text), live=False)))
    assert [rows.numbers.tolist() for rows in found] == [[1, 2, 3, 4, 5], [6], [7]]
    cells = [part.cells(("at", "x")) for part in (*found[0].parts(3), found[2])]
    assert [each.owner for each in cells] == [("at",)] * 3
    values = [[None if code < 0 else each.lexicals[code] for code in each.codes.tolist()] for each in cells]
    rows = [[] if each.rows is None else each.rows.tolist() for each in cells]
    assert (values, rows) == ([["1", "2", None, "a"], [None, "a"], ["3"]], [[0, 0, 0, 1], [1, 2], [0]])


def test_a_column_has_each_text_once_however_it_is_written() -> None:
    text = b"".join(
        b'{"id": "%b"}\n' % name for name in (b"A", b"\\u0041", b"", b"a longer text", b"\\u0061 longer text")
    )
    with mock.patch.object(json_lines, "BLOCK_BYTES_MIN", 0):
        lines = json_lines.JsonLines(TableOptions(), lambda *_: None, [("id",)], ReadOptions(compiled=True))
        (rows,) = lines.rows(blocks.Blocks(io.BytesIO(text + b'{"no": 1}\n'), live=False))
    cells = rows.cells(("id",))
    assert [None if code < 0 else cells.lexicals[code] for code in cells.codes.tolist()] == [
        "A", "A", "", "a longer text", "a longer text", None,
    ]  # fmt: skip
    assert sorted(filter(None, cells.lexicals)) == ["A", "a longer text"]
