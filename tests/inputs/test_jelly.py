"""Jelly gives the events that the same data has as N-Quads."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyoxigraph as ox
import pytest

from sparql_gpm.rdf_io import PROV_TIME, ReadOptions
from sparql_gpm.reading.jelly_rows import Rows
from sparql_gpm.reading.protobuf import BadMessage
from tests.inputs.jelly_files import written
from tests.inputs.test_sorting import QUERY, in_order
from tests.inputs.test_units import command, drawn, nquads, plain
from tests.sparql_gpm.rdf_events import read


def named(seed: int) -> list[list[ox.Quad]]:
    return [quads for quads in drawn(seed) if any(not isinstance(q.graph_name, ox.DefaultGraph) for q in quads)]


def parsed(text: str) -> list[ox.Quad]:
    return list(ox.parse(text.encode(), ox.RdfFormat.N_QUADS))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("physical", ["quads", "graphs"])
@pytest.mark.parametrize(("tables", "namespaces"), [(8, False), (100, False), (8, True)])
def test_quads_are_the_events_that_they_are_as_nquads(seed: int, physical: str, tables: int, namespaces: bool) -> None:
    units = named(seed)
    text = nquads(units)
    wanted, _ = read(text)
    flat = written([parsed(text)], physical, "flat quads", tables, namespaces=namespaces)
    framed = written(units, physical, "datasets", tables, namespaces=namespaces)
    for data in (flat, framed):
        for options in (ReadOptions(), ReadOptions(batch_events=1)):
            events, reports = read(data, "jelly", options)
            assert reports == []
            assert plain(events) == plain(wanted)
    assert [event.name for event in read(flat, "jelly")[0]] == [event.name for event in wanted]


def test_frames_of_graphs_are_events_and_flat_triples_are_one() -> None:
    time = ox.NamedNode(PROV_TIME)
    integer = ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer")
    units = [
        [ox.Quad(ox.BlankNode("b"), time, ox.Literal(str(n), datatype=integer)),
         ox.Quad(ox.BlankNode("b"), ox.NamedNode("urn:p"), ox.Literal("é"))]
        for n in range(3)
    ]  # fmt: skip
    events, reports = read(written(units, "triples", "graphs"), "jelly")
    assert reports == []
    assert [(event.name, event.time // 10**9, len(event.triples)) for event in events] == [
        (f"urn:spaseq:event:S:{n}", n, 2) for n in range(3)
    ]
    assert len({event.triples[0].split()[0] for event in events}) == 3
    one, _ = read(written(units[:1], "triples", "flat triples"), "jelly")
    assert [(event.name, event.time, len(event.triples)) for event in one] == [("urn:spaseq:event:S:0", 0, 2)]


def test_triples_that_are_one_event_are_as_long_as_a_document_may_be() -> None:
    triples = [ox.Quad(ox.BlankNode("b"), ox.NamedNode(f"urn:p{n}"), ox.Literal("x")) for n in range(40)]
    triples.append(ox.Quad(ox.BlankNode("b"), ox.NamedNode(PROV_TIME), ox.Literal(5)))
    data = written([triples], "triples", "flat triples", 100)
    events, reports = read(data, "jelly", ReadOptions(line_bytes_max=len(data)))
    assert ([len(event.triples) for event in events], reports) == ([41], [])
    events, reports = read(data, "jelly", ReadOptions(line_bytes_max=len(data) // 2))
    assert (events, [report.kind for report in reports]) == ([], ["too long"])
    assert reports[0].whole_event and "a document of " in reports[0].reason
    quads = [ox.Quad(each.subject, each.predicate, each.object, ox.BlankNode("b")) for each in triples]
    data = written([quads], "quads", "flat quads", 100)
    assert [len(event.triples) for event in read(data, "jelly", ReadOptions(line_bytes_max=len(data) // 2))[0]] == [41]


def test_identifiers_of_no_iri_are_not_kept() -> None:
    rows = Rows()
    rows.take(OPTIONS, 2, len(OPTIONS))
    for name in range(20, 60):
        bad = row(3, bytes([10, 2, 16, name]))
        with pytest.raises(BadMessage, match="there is no name"):
            rows.take(bad, 2, len(bad))
    assert not rows._iris


def test_a_frame_without_its_length_is_the_whole_input() -> None:
    quads = parsed(in_order())[:3]
    data = written([quads], "quads", "datasets", 100)
    begin = next(index for index, byte in enumerate(data) if byte < 128) + 1
    events, reports = read(data[begin:], "jelly")
    assert ([event.name for event in events], reports) == (["urn:e0"], [])


@pytest.mark.parametrize("name", ["in.jelly", "in.jelly.gz"])
def test_a_run_reads_jelly(tmp_path: Path, name: str) -> None:
    data = written([parsed(in_order())], "quads", "flat quads", 50)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    (tmp_path / "in.nq").write_text(in_order())
    (tmp_path / "pairs.rq").write_text(QUERY)
    run = ["run", tmp_path / "pairs.rq", "--format", "ndjson", "--stream"]
    wanted = command(*run, f"S1={tmp_path / 'in.nq'}")
    found = command(*run, f"S1={tmp_path / name}")
    assert (found.stdout, found.exit_code) == (wanted.stdout, 0)
    assert len(found.stdout.splitlines()) > 5


def test_a_truncated_file_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    data = written([parsed(in_order())], "quads", "flat quads", 50)
    (tmp_path / "in.jelly").write_bytes(data[: len(data) * 3 // 4])
    result = command("convert", tmp_path / "in.jelly", "-o", tmp_path / "out.nq")
    assert result.exit_code == 1 and "breaks off: a frame ends too early" in result.stderr
    assert 5 < len(read((tmp_path / "out.nq").read_text())[0]) < 12


def row(number: int, body: bytes) -> bytes:
    return bytes([0x0A, len(body) + 2, number << 3 | 2, len(body)]) + body


OPTIONS = row(1, bytes([2 << 3, 2, 9 << 3, 8, 10 << 3, 8, 11 << 3, 8, 14 << 3, 2, 15 << 3, 1]))


def frame(*rows: bytes) -> bytes:
    body = b"".join(rows)
    return bytes([len(body)]) + body


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (frame(OPTIONS) + frame(row(9, bytes([8, 9]))), 2, "name 9 is beyond the table's size, 8"),
        (frame(OPTIONS) + frame(row(3, bytes([10, 2, 16, 3]))), 2, "there is no name 3"),
        (frame(OPTIONS) + frame(row(3, b"")), 2, "a statement repeats a term that there was not"),
        (frame(row(9, b"")), 1, "the stream does not begin with its options"),
        (frame(row(1, bytes([15 << 3, 3]))), 1, "version 3 of Jelly: at most 2 is read"),
        (frame(row(1, bytes([2 << 3, 7]))), 1, "the physical type 7 is none of TRIPLES, QUADS and GRAPHS"),
        (frame(OPTIONS) + frame(b"\x0a\x7f"), 2, "a field is longer than its message"),
        (frame(OPTIONS) + frame(row(4, bytes([8, 127]))), 2, "the name of a graph is a message"),
        (
            frame(OPTIONS) + frame(row(3, bytes([34, 0, 50, 1, 120, 82, 1, 120]))),
            2,
            "triple terms (RDF-star, RDF 1.2) are not supported in Jelly",
        ),
        (
            frame(OPTIONS) + frame(row(3, bytes([18, 1, 97, 50, 1, 120, 90, 11, 10, 1, 120, 18, 6]) + b"en--ltr"[:6])),
            2,
            "base directions (RDF 1.2) are not supported in Jelly: the language en--lt",
        ),
    ],
)
def test_what_is_no_jelly_is_reported_with_frame_and_byte(data: bytes, line: int, reason: str) -> None:
    events, reports = read(data, "jelly")
    assert events == []
    assert reports[0].line == line and reports[0].column >= 1
    assert reason in reports[0].reason


def test_a_stream_goes_on_behind_a_frame_that_cannot_be_read(tmp_path: Path) -> None:
    units = [parsed("".join(in_order().splitlines(keepends=True)[n : n + 4])) for n in range(0, 48, 4)]
    data = written(units, "quads", "datasets", 100)
    sizes, at = [], 0
    while at < len(data):
        size, shift = 0, 0
        while True:
            size, shift, at = size | (data[at] & 127) << shift, shift + 7, at + 1
            if data[at - 1] < 128:
                break
        at += size
        sizes.append(at)
    end = sizes[-2]
    broken = data[: end - 2] + b"\x7f\x7f" + data[end:]
    (tmp_path / "in.jelly").write_bytes(broken)
    result = command("convert", tmp_path / "in.jelly", "-o", tmp_path / "out.nq", "--dead-letter", tmp_path / "letters")
    assert result.exit_code == 0
    assert [event.name for event in read((tmp_path / "out.nq").read_text())[0]] == [
        f"urn:e{n}" for n in range(12) if n != 10
    ]
    assert [json.loads(line)["line"] for line in (tmp_path / "letters").read_text().splitlines()] == [11]
