"""Jelly that is written is read back, by pyjelly and as a stream, as what the same is in N-Quads or TriG."""

from __future__ import annotations

import io
import random
from pathlib import Path
from unittest import mock

import pyoxigraph as ox
import pytest
from pyjelly.integrations.generic.parse import parse_jelly_flat

from sparql_gpm.rdf_io import ReadOptions
from sparql_gpm.terms import XSD, BlankNode, Literal
from spaseq.outputs import jelly_frames, open_sink
from spaseq.outputs.jelly_frames import JellyFrames
from spaseq.outputs.rows import Row
from tests.inputs.jelly_files import statement
from tests.inputs.test_sorting import in_order
from tests.inputs.test_units import command, plain
from tests.outputs.test_sinks import CONSTRUCT, GRAPH_ROW, ROW, query
from tests.sparql_gpm.rdf_events import read

QUERY = """PREFIX : <urn:> CONSTRUCT { ?s :was ?v } WITHIN 1 HOUR FROM STREAM S1 <urn:stream>
WHERE { SEQ(A) DEFINE GPM A ON S1 { ?s ?p ?v } }"""


def quads(draw: random.Random, count: int) -> list[ox.Quad]:
    def iri() -> ox.NamedNode:
        spaces = ["http://ex.org/", "http://ex.org/é#", "urn:", "", "http://other.org/a/"]
        return ox.NamedNode(f"{draw.choice(spaces) or 'x:'}{draw.choice('abcdefghijklmn')}{draw.randrange(3)}")

    def target() -> ox.NamedNode | ox.BlankNode | ox.Literal:
        text = draw.choice(["", "a", 'é"\n', "12", "x" * 200])
        typed = ox.Literal(text, datatype=draw.choice([iri(), ox.NamedNode(XSD + "integer")]))
        return draw.choice([iri(), ox.BlankNode("b"), ox.Literal(text), ox.Literal(text, language="en"), typed])

    graphs = [iri(), ox.BlankNode("g"), ox.DefaultGraph()]
    return [
        ox.Quad(draw.choice([iri(), ox.BlankNode("b")]), iri(), target(), draw.choice(graphs)) for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_pyjelly_reads_what_is_written(seed: int) -> None:
    draw = random.Random(seed)
    tables = {"NAMES_MAX": draw.choice([8, 4000]), "PREFIXES_MAX": draw.choice([8, 150]), "DATATYPES_MAX": 8}
    with mock.patch.multiple(jelly_frames, **tables):
        frames, data = JellyFrames(), b""
        stated: list[ox.Quad] = []
        for _ in range(draw.randrange(1, 9)):
            some = quads(draw, draw.randrange(40))
            data += frames.frame(some)
            stated += some
    found = list(parse_jelly_flat(io.BytesIO(data)))
    assert found == [statement(quad, triples=False) for quad in stated]


def written(path: Path, rows: list[Row]) -> bytes:
    sink = open_sink(path.suffix[1:], path, [query(), CONSTRUCT])
    sink.write(rows)
    sink.close()
    sink.close()
    return path.read_bytes()


def test_rows_are_the_graphs_that_they_are_in_trig(tmp_path: Path) -> None:
    bound = Row("Q1", 10**9, 0, (("v", BlankNode("match1n0")),), (("A", ("urn:e1", "urn:e2")),))
    rows = [ROW, bound, GRAPH_ROW, ROW]
    trig, jelly, nquads = (written(tmp_path / name, rows) for name in ("o.trig", "o.jelly", "o.nquads"))
    wanted, reports = read(trig, "trig")
    assert reports == []
    for compiled in (False, True):
        events, reports = read(jelly, "jelly", ReadOptions(compiled=compiled))
        assert (plain(events), reports) == (plain(wanted), [])
    events, reports = read(nquads, "nquads")
    assert (plain(events), reports) == (plain(wanted), [])
    assert nquads.count(b"\n") == len(list(ox.parse(trig, ox.RdfFormat.TRIG)))
    assert len(list(parse_jelly_flat(io.BytesIO(jelly)))) == len(list(ox.parse(trig, ox.RdfFormat.TRIG)))


def test_a_row_without_events_is_the_same_in_every_syntax(tmp_path: Path) -> None:
    group = Row("Q1", 10**9, 0, (("n", Literal("3")),))
    wanted, reports = read(written(tmp_path / "o.trig", [group]), "trig")
    assert reports == [] and [len(event.triples) for event in wanted] == [5]
    for name in ("jelly", "nquads"):
        assert plain(read(written(tmp_path / f"o.{name}", [group]), name)[0]) == plain(wanted)


def test_no_row_is_a_stream_without_an_event(tmp_path: Path) -> None:
    data = written(tmp_path / "o.jelly", [])
    assert list(parse_jelly_flat(io.BytesIO(data))) == []
    assert read(data, "jelly") == ([], [])


@pytest.mark.parametrize("name", ["out.jelly", "out.jelly.gz"])
def test_converted_events_are_the_same(tmp_path: Path, name: str) -> None:
    (tmp_path / "in.nq").write_text(in_order())
    assert command("convert", tmp_path / "in.nq", "-o", tmp_path / name).exit_code == 0
    assert command("convert", tmp_path / name, "-o", tmp_path / "back.nq").exit_code == 0
    assert plain(read((tmp_path / "back.nq").read_text())[0]) == plain(read(in_order())[0])
    assert command("sort", tmp_path / name, "-o", tmp_path / "sorted.jelly").exit_code == 0
    assert command("convert", tmp_path / "sorted.jelly", "-o", tmp_path / "sorted.trig").exit_code == 0
    assert plain(read((tmp_path / "sorted.trig").read_text(), "trig")[0]) == plain(read(in_order())[0])
    assert "<urn:e0> {" in command("peek", tmp_path / name).stdout
    (tmp_path / "none.nq").write_text("")
    command("convert", tmp_path / "none.nq", "-o", tmp_path / "none.jelly")
    assert list(parse_jelly_flat(io.BytesIO((tmp_path / "none.jelly").read_bytes()))) == []


def test_a_run_writes_a_stream_that_a_run_reads(tmp_path: Path) -> None:
    (tmp_path / "in.nq").write_text(in_order())
    (tmp_path / "construct.rq").write_text(QUERY)
    run = ["run", tmp_path / "construct.rq", "--stream", f"S1={tmp_path / 'in.nq'}", "--output"]
    assert command(*run, tmp_path / "out.jelly", "--format", "jelly").exit_code == 0
    assert command(*run, tmp_path / "out.trig", "--format", "trig").exit_code == 0
    assert command(*run, tmp_path / "out.nq", "--format", "nquads").exit_code == 0
    found, reports = read((tmp_path / "out.jelly").read_bytes(), "jelly")
    assert (plain(found), reports) == (plain(read((tmp_path / "out.trig").read_bytes(), "trig")[0]), [])
    found, reports = read((tmp_path / "out.nq").read_bytes(), "nquads")
    assert (plain(found), reports) == (plain(read((tmp_path / "out.trig").read_bytes(), "trig")[0]), [])
    assert len(found) > 10
