"""Sinks: NDJSON, CSV, tables and TriG."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyoxigraph
import pytest

from sparql_gpm.terms import IRI, XSD, BlankNode, Literal
from spaseq.errors import InputError, RunError
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.outputs import FORMATS, open_sink
from spaseq.outputs.destination import Output, OutputClosed
from spaseq.outputs.rows import Row, to_json
from spaseq.outputs.sink import columns_of
from spaseq.outputs.table import TableSink

SECOND = 1_000_000_000
T10 = 1_767_225_610 * SECOND  # 2026-01-01T00:00:10Z
EX = "http://ex.org/"


def query(select: str = "SELECT ?house ?fare", name: str = "Q1", sequence: str = "A ; B") -> Query:
    text = f"""PREFIX : <{EX}> PREFIX deep: <{EX}a/>
        {select} WITHIN 5 SECONDS FROM STREAM S <urn:s>
        {{ SEQ({sequence})
          DEFINE GPM A ON S {{ ?house :fare ?fare ; :time ?time ; :graph ?graph GRAPH <urn:kb> {{ ?house :owner ?x }} }}
          DEFINE GPM B ON S {{ [] :wind ?w . ?s :of ?house }}
          DEFINE GPM N ON S {{ ?n :of ?house }} }}"""
    return parse(text, name)


CONSTRUCT = query("CONSTRUCT { :m :p ?house }", "C")
ROW = Row(
    query="Q1",
    time=T10 + 10 * SECOND,
    start=T10,
    bindings=(("house", IRI(EX + "H1")), ("fare", Literal("25", XSD + "integer"))),
    events=(("A", ("urn:e1",)), ("B", ("urn:e2", "urn:e3"))),
)
GRAPH_ROW = Row(
    query="C",
    time=T10 + SECOND // 2,
    start=T10,
    graph="urn:g0",
    triples=((BlankNode("b1"), IRI(EX + "p"), Literal('say "hi"\n')), (IRI(EX + "m"), IRI(EX + "p"), BlankNode("b1"))),
    events=(("A", ("urn:e1",)),),
)


def written(format: str, path: Path, rows: Sequence[Row], queries: Sequence[Query] = (query(),), batch: int = 1) -> str:
    sink = open_sink(format, path, queries)
    for start in range(0, len(rows), batch):
        sink.write(rows[start : start + batch])
    sink.close()
    sink.close()
    return path.read_bytes().decode(errors="surrogateescape")


def test_ndjson_is_one_line_per_row(tmp_path: Path) -> None:
    assert written("ndjson", tmp_path / "o", [ROW, GRAPH_ROW]) == f"{to_json(ROW)}\n{to_json(GRAPH_ROW)}\n"


def test_csv_has_its_columns_before_the_first_row(tmp_path: Path) -> None:
    assert written("csv", tmp_path / "o", []) == "query,time,start,house,fare,events.A,events.B\r\n"


def test_csv_terms_stand_bare_and_unbound_is_empty(tmp_path: Path) -> None:
    unbound = Row(query="Q1", time=T10, start=T10, bindings=(("fare", BlankNode("b7")),), events=(("A", ("urn:e9",)),))
    assert written("csv", tmp_path / "o", [ROW, unbound]).splitlines()[1:] == [
        "Q1,2026-01-01T00:00:20Z,2026-01-01T00:00:10Z,http://ex.org/H1,25,urn:e1,urn:e2 urn:e3",
        "Q1,2026-01-01T00:00:10Z,2026-01-01T00:00:10Z,,_:b7,urn:e9,",
    ]


def test_csv_quotes_as_rfc_4180_says(tmp_path: Path) -> None:
    awkward = 'a,"b"\r\nc'
    text = written("csv", tmp_path / "o", [Row(query="Q1", time=0, start=0, bindings=(("house", Literal(awkward)),))])
    assert '"a,""b""\r\nc"' in text
    (record,) = csv.DictReader(io.StringIO(text, newline=""))
    assert record["house"] == awkward


def test_csv_columns_are_the_union_over_the_queries(tmp_path: Path) -> None:
    text = written("csv", tmp_path / "o", [ROW, GRAPH_ROW], [query(), query("SELECT ?x ?fare", "Q2"), CONSTRUCT])
    first, second = csv.DictReader(io.StringIO(text, newline=""))
    assert list(first) == ["query", "time", "start", "graph", "triples", "house", "fare", "x", "events.A", "events.B"]
    assert (first["graph"], first["triples"], first["x"]) == ("", "", "")
    assert second["graph"] == "urn:g0"
    assert second["triples"].split("\n") == [
        "<http://ex.org/m> <http://ex.org/p> _:b1 .",
        r'_:b1 <http://ex.org/p> "say \"hi\"\n" .',
    ]


def test_csv_variable_with_the_name_of_a_fixed_column_keeps_its_question_mark(tmp_path: Path) -> None:
    text = written("csv", tmp_path / "o", [], [query("SELECT ?time ?graph")])
    assert text == "query,time,start,?time,graph,events.A,events.B\r\n"


def test_select_star_lists_variables_of_positive_steps_in_the_order_of_names(tmp_path: Path) -> None:
    star = query("SELECT *", sequence="B : N! : A+ : B?")
    header = written("csv", tmp_path / "o", [], [star])
    assert header == "query,time,start,fare,graph,house,s,?time,w,x,events.B,events.A\r\n"


def test_table_in_a_file_is_aligned_and_never_cut(tmp_path: Path) -> None:
    late = Row(query="Q1", time=T10, start=T10, bindings=(("house", Literal("x" * 200)),), events=(("A", ("urn:e1",)),))
    assert written("table", tmp_path / "o", [ROW, late]).splitlines() == [
        "time                  start                 ?house  ?fare  A       B",
        "────────────────────  ────────────────────  ──────  ─────  ──────  ─────────────",
        "2026-01-01T00:00:20Z  2026-01-01T00:00:10Z  :H1     25     urn:e1  urn:e2 urn:e3",
        f"2026-01-01T00:00:10Z  2026-01-01T00:00:10Z  {'x' * 200}         urn:e1",
    ]


def test_table_shortens_by_the_longest_prefix_and_summarises_long_repetitions(tmp_path: Path) -> None:
    names = tuple(f"{EX}a/e{number}" for number in range(9))
    row = Row(query="Q1", time=T10, start=T10, bindings=(("house", IRI(EX + "b/c")),), events=(("B", names),))
    last = written("table", tmp_path / "o", [row]).splitlines()[-1]
    assert last.endswith("deep:e0 … deep:e8 (9)")
    assert " http://ex.org/b/c " in last


def test_table_of_several_queries_names_the_query_of_each_row(tmp_path: Path) -> None:
    header, _, first, second = written("table", tmp_path / "o", [ROW, GRAPH_ROW], [query(), CONSTRUCT]).splitlines()
    assert header.split() == ["query", "time", "start", "graph", "triples", "?house", "?fare", "A", "B"]
    assert first.startswith("Q1     2026")
    assert "urn:g0" in second and r':m :p _:b1 . _:b1 :p "say \"hi\"\n"' in second


def test_table_counts_wide_characters_as_two_columns(tmp_path: Path) -> None:
    wide = Row(query="Q1", time=T10, start=T10, bindings=(("house", Literal("東京都庁")), ("fare", Literal("1"))))
    narrow = Row(query="Q1", time=T10, start=T10, bindings=(("house", Literal("abcdefgh")), ("fare", Literal("1"))))
    _, _, first, second = written("table", tmp_path / "o", [wide, narrow], batch=2).splitlines()
    assert first.endswith("東京都庁  1")
    assert second.endswith("abcdefgh  1")


def test_table_passes_no_control_character_on(tmp_path: Path) -> None:
    row = Row(query="Q1", time=T10, start=T10, bindings=(("house", Literal("a\x1b[31m\nb\x9b")),))
    assert "a�[31m b�" in written("table", tmp_path / "o", [row])


def test_table_on_a_terminal_cuts_lines_at_its_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    master, slave = pty.openpty()
    with os.fdopen(slave, "wb", buffering=0) as terminal:
        sink = TableSink(Output(terminal), columns_of([query()]))
        sink.write([ROW])
        sink.close()
        shown = os.read(master, 10_000).decode()
    os.close(master)
    header, _, line = shown.splitlines()
    assert header.startswith("\x1b[1mtime") and header.endswith("\x1b[0m")
    assert line == "2026-01-01T00:00:20Z  2026-01-01T00:00:10Z  :H1     25     …"


@pytest.mark.parametrize("format", ["trig", "nquads"])
def test_constructed_graphs_are_a_stream_again(tmp_path: Path, format: str) -> None:
    syntax = {"trig": pyoxigraph.RdfFormat.TRIG, "nquads": pyoxigraph.RdfFormat.N_QUADS}[format]
    quads = list(pyoxigraph.parse(written(format, tmp_path / "o", [GRAPH_ROW]).encode(), syntax))
    graph = pyoxigraph.NamedNode("urn:g0")
    stamp, *rest = quads
    assert stamp == pyoxigraph.Quad(
        graph,
        pyoxigraph.NamedNode("http://www.w3.org/ns/prov#generatedAtTime"),
        pyoxigraph.Literal("2026-01-01T00:00:10.5Z", datatype=pyoxigraph.NamedNode(XSD + "dateTime")),
    )
    assert len(rest) == 2
    assert {quad.graph_name for quad in rest} == {graph}
    assert {quad.object.value for quad in rest if isinstance(quad.object, pyoxigraph.Literal)} == {'say "hi"\n'}


def test_select_rows_become_graphs_about_one_match(tmp_path: Path) -> None:
    spaced = Row(query="my query", time=T10, start=T10, events=(("A", ("urn:e1",)),))
    text = written("trig", tmp_path / "o", [ROW, ROW, spaced])
    store = pyoxigraph.Store()
    store.extend(pyoxigraph.parse(text.encode(), pyoxigraph.RdfFormat.TRIG))
    names = {name.value for name in store.named_graphs() if isinstance(name, pyoxigraph.NamedNode)}
    assert names == {"urn:spaseq:match:Q1:0", "urn:spaseq:match:Q1:1", "urn:spaseq:match:my%20query:0"}
    solutions = store.query("""
        PREFIX prov: <http://www.w3.org/ns/prov#>
        PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
        SELECT ?house ?fare ?start ?end ?second (COUNT(?event) AS ?events) {
          GRAPH <urn:spaseq:match:Q1:1> {
            ?match a <urn:spaseq:vocabulary:Match> ; <urn:spaseq:vocabulary:query> "Q1" ;
              prov:startedAtTime ?start ; prov:endedAtTime ?end ; prov:wasDerivedFrom ?event ;
              <urn:spaseq:variable:house> ?house ; <urn:spaseq:variable:fare> ?fare ;
              <urn:spaseq:step:B> ?list . ?list rdf:rest/rdf:first ?second
          }
        } GROUP BY ?house ?fare ?start ?end ?second""")
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    assert [[value.value for value in solution] for solution in solutions] == [
        [EX + "H1", "25", "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z", "urn:e3", "3"]
    ]


@pytest.mark.parametrize("format", ["trig", "nquads"])
def test_an_empty_constructed_graph_is_an_event_still(tmp_path: Path, format: str) -> None:
    row = Row(query="C", time=T10, start=T10, graph="urn:g0")
    (stamp,) = pyoxigraph.parse(written(format, tmp_path / "o", [row]).encode(), pyoxigraph.RdfFormat.TRIG)
    assert stamp.subject == pyoxigraph.NamedNode("urn:g0")


@pytest.mark.parametrize("format", sorted(FORMATS.keys() - {"arrow"}))
def test_batching_does_not_change_the_output(tmp_path: Path, format: str) -> None:
    rows = [ROW, GRAPH_ROW, ROW, GRAPH_ROW, ROW]
    queries = [query(), CONSTRUCT]
    # Tables take their widths from the first rows that come, so those are the same here.
    texts = {written(format, tmp_path / "o", rows, queries, batch) for batch in (2, 3, 5)}
    assert len(texts) == 1


def test_a_file_that_cannot_be_opened_is_named_before_any_row(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "rows.ndjson"
    with pytest.raises(InputError) as caught:
        open_sink("ndjson", path, [])
    assert caught.value.message == f"cannot write to {path}: no such file or directory"
    assert caught.value.hint


def test_an_unknown_format_lists_the_formats(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown output format 'xml'") as caught:
        open_sink("xml", tmp_path / "o", [])
    assert caught.value.hint == "formats: table, ndjson, csv, trig, nquads, jelly, parquet, arrow"
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_a_full_disk_is_an_error_of_the_run_that_names_the_file(format: str) -> None:
    with pytest.raises(RunError, match="cannot write to /dev/full: no space left on device"):
        sink = open_sink(format, Path("/dev/full"), [query()])
        sink.write([ROW])
        sink.close()


def test_a_reader_that_has_gone_is_told_apart_from_a_failure() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as stream:
        output = Output(stream, "pipe", owned=True)
        with pytest.raises(OutputClosed):
            output.write("gone")
        output.close()


ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from spaseq.errors import RunError
from spaseq.outputs.rows import Row
from spaseq.outputs import open_sink
from spaseq.outputs.destination import OutputClosed
sink = open_sink("ndjson", None, [])
try:
    for _ in range(5000):
        sink.write([Row(query="Q", time=0, start=0)])
except OutputClosed:
    sys.exit(7)
except RunError as error:
    print(error, file=sys.stderr)
    sys.exit(8)
"""


def test_python_says_nothing_of_its_own_when_the_reader_of_standard_output_goes() -> None:
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert json.loads(process.stdout.readline())["query"] == "Q"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 7


def test_python_says_nothing_of_its_own_when_standard_output_is_full() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.stderr.decode() == "cannot write to standard output: no space left on device\n"
    assert done.returncode == 8
