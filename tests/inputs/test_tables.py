"""Rows of tables as events, by a template."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import subprocess
import sys
import tracemalloc
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zstandard
from click.testing import CliRunner, Result
from pyarrow import parquet

import spaseq
from sparql_gpm.terms import XSD
from spaseq.cli import main
from spaseq.errors import InputError
from spaseq.inputs.opening import opened
from spaseq.inputs.paths import InputFile
from spaseq.inputs.tables import sources
from spaseq.inputs.tables.arrow_rows import ArrowRows
from spaseq.inputs.tables.options import TableOptions
from spaseq.inputs.tables.slots import encoded
from spaseq.inputs.tables.template import parse_template
from tests.sparql_gpm.rdf_events import read

HEAD = """@prefix : <http://ex.org/> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
TEMPLATE = (
    HEAD
    + """<http://ex.org/t/{id}> prov:generatedAtTime ?time .
<http://ex.org/t/{id}> {
  <http://ex.org/s/{name}> a :{kind} .
  <http://ex.org/s/{name}> :price ?price ; :note "{name} of {{{id}}}"@EN ; :year "{year}"^^xsd:gYear ; :link <{link}> .
  [] :of <http://ex.org/s/{name}/{kind}> }
""".replace("a :{kind}", "a <http://ex.org/{kind}>")
)
QUERY = """PREFIX : <http://ex.org/>
SELECT ?x ?y WITHIN 1000 SECONDS FROM STREAM S1 <http://ex.org/s1>
WHERE { SEQ(A ; B) DEFINE GPM A ON S1 { ?s a :A ; :price ?x } DEFINE GPM B ON S1 { ?s a :B ; :price ?y } }
"""
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
START = datetime(2026, 1, 1, tzinfo=UTC)


def rows(count: int, seed: int) -> list[dict[str, str]]:
    """Rows of text, some cells of which are empty."""
    draw = random.Random(seed)
    return [
        {
            "id": str(number),
            "time": (START + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "name": draw.choice(["acme", "Größe & Co", "a/b", 'q"u\no,te', "", "日本\t"]),
            "kind": draw.choice("AB"),
            "price": draw.choice(["1", "-2.50", "1e3", "NaN", "true", "2020-02-29", "2020-02-30", "x", ""]),
            "year": draw.choice(["2020", ""]),
            "link": draw.choice(["urn:x", "http://ex.org/ü", ""]),
        }
        for number in range(count)
    ]


def typed(cell: str) -> str:
    for name, values in {
        "integer": ["1"], "decimal": ["-2.50"], "double": ["1e3", "NaN"], "boolean": ["true"], "date": ["2020-02-29"],
    }.items():  # fmt: skip
        if cell in values:
            return f'"{cell}"^^<{XSD}{name}>'
    return json.dumps(cell, ensure_ascii=False)


def expected(table: list[dict[str, str]]) -> str:
    """The events of the rows in N-Quads, by hand."""
    lines = []
    for row in table:
        graph = f"<http://ex.org/t/{row['id']}>"
        lines.append(f'{graph} <{PROV}> "{row["time"]}"^^<{XSD}dateTime> .')
        name = row["name"]
        subject = f"<http://ex.org/s/{encoded(name)}>"
        if name:
            lines.append(
                f"{subject} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex.org/{row['kind']}> {graph} ."
            )
            if row["price"]:
                lines.append(f"{subject} <http://ex.org/price> {typed(row['price'])} {graph} .")
            note = json.dumps(f"{name} of {{{row['id']}}}", ensure_ascii=False)
            lines.append(f"{subject} <http://ex.org/note> {note}@en {graph} .")
            if row["year"]:
                lines.append(f'{subject} <http://ex.org/year> "{row["year"]}"^^<{XSD}gYear> {graph} .')
            if row["link"]:
                lines.append(f"{subject} <http://ex.org/link> <{row['link']}> {graph} .")
            lines.append(f"_:b <http://ex.org/of> <http://ex.org/s/{encoded(name)}/{row['kind']}> {graph} .")
    return "".join(f"{line}\n" for line in lines)


def as_csv(table: list[dict[str, str]], delimiter: str = ",", header: bool = True) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, table[0], delimiter=delimiter, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(table)
    return text.getvalue().encode()


def spaseq_command(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)


def converted(folder: Path, name: str, data: bytes, *options: object, template: str = TEMPLATE) -> tuple[str, Result]:
    """The events of a table as N-Quads."""
    (folder / name).write_bytes(data)
    (folder / "rows.trig").write_text(template)
    output = folder / "out.nq"
    output.unlink(missing_ok=True)
    result = spaseq_command("convert", folder / name, "-o", output, "--template", folder / "rows.trig", *options)
    return output.read_text() if output.exists() else "", result


def same(found: str, wanted: str) -> bool:
    (events, reports), (others, _) = read(found), read(wanted)
    assert reports == []

    def plain(triples: tuple[str, ...]) -> list[str]:
        return sorted("_:b" + triple[triple.index(" ") :] if triple.startswith("_:") else triple for triple in triples)

    return [(each.name, each.time, plain(each.triples)) for each in events] == [
        (each.name, each.time, plain(each.triples)) for each in others
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", ["rows.csv", "rows.tsv", "rows.csv.gz", "rows.csv.zst"])
def test_rows_of_text_are_the_events_of_the_template(tmp_path: Path, form: str, seed: int) -> None:
    table = rows(60, seed)
    data = as_csv(table, "\t" if "tsv" in form else ",")
    packed = gzip.compress(data) if form.endswith("gz") else zstandard.compress(data) if form.endswith("zst") else data
    found, result = converted(tmp_path, form, packed)
    assert result.exit_code == 0, result.stderr
    assert same(found, expected(table))


def test_columns_and_delimiter_are_said_where_the_file_does_not(tmp_path: Path) -> None:
    table = rows(20, 9)
    data = as_csv(table, ";", header=False)
    found, result = converted(tmp_path, "x.csv", data, "--delimiter", ";", "--columns", ",".join(table[0]))
    assert (same(found, expected(table)), result.exit_code) == (True, 0)


TYPED_TEMPLATE = HEAD + "[] prov:generatedAtTime ?time ; :v ?v ; :w <http://ex.org/{v}> ."


@pytest.mark.parametrize(
    ("array", "literal"),
    [
        (pa.array([7, None], pa.int16()), f'"7"^^<{XSD}integer>'),
        (pa.array([1.5, None]), f'"1.5"^^<{XSD}double>'),
        (pa.array([0.1, None], pa.float32()), f'"0.1"^^<{XSD}float>'),
        (pa.array([True, None]), f'"true"^^<{XSD}boolean>'),
        (pa.array([Decimal("1.50"), None]), f'"1.50"^^<{XSD}decimal>'),
        (pa.array(["1.50", None]), '"1.50"'),
        (pa.array(["a", None]).dictionary_encode(), '"a"'),
        (pa.array([date(2026, 2, 1), None]), f'"2026-02-01"^^<{XSD}date>'),
        (pa.array([START, None], pa.timestamp("ms", "Europe/Rome")), f'"2026-01-01T00:00:00Z"^^<{XSD}dateTime>'),
        (pa.array([START.replace(tzinfo=None), None], pa.timestamp("ns")), f'"2026-01-01T00:00:00"^^<{XSD}dateTime>'),
        (pa.array([timedelta(seconds=-90), None], pa.duration("us")), f'"-PT90S"^^<{XSD}dayTimeDuration>'),
        (pa.array([b"\x0f", None]), f'"0F"^^<{XSD}hexBinary>'),
    ],
)
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_value_has_the_type_of_its_column(tmp_path: Path, array: pa.Array, literal: str, form: str) -> None:
    table = pa.table({"time": pa.array([1, 2]), "v": array})
    if form == "parquet":
        buffer = io.BytesIO()
        parquet.write_table(table, buffer, compression="zstd")
        found, result = converted(tmp_path, "x.parquet", buffer.getvalue(), template=TYPED_TEMPLATE)
        assert result.exit_code == 0, result.stderr
        assert f"<http://ex.org/v> {literal} <urn:spaseq:event:S:0> ." in found
        assert found.count("http://ex.org/v>") == 1
    else:
        assert [row["x"].lexical for row in rows_of_table(tmp_path, table)] == [literal.split('"')[1]]


def rows_of_table(folder: Path, table: Any, template: str = TYPED_TEMPLATE) -> list[Any]:
    (folder / "rows.trig").write_text(template)
    query = spaseq.parse(
        "PREFIX : <http://ex.org/> SELECT ?x WITHIN 9 SECONDS FROM STREAM S1 <urn:s1> "
        "WHERE { SEQ(A) DEFINE GPM A ON S1 { ?s :v ?x } }"
    )
    found = spaseq.run(query, streams={"S1": table}, template={"S1": folder / "rows.trig"})
    return [{"x": dict(row.bindings)["x"]} for row in found]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda data: pa.record_batch(data)])
def test_tables_of_a_program_are_streams(tmp_path: Path, make: Any) -> None:
    found = rows_of_table(tmp_path, make({"time": [1, 2, 3], "v": ["a", "b", "c"]}))
    assert [row["x"].lexical for row in found] == ["a", "b", "c"]


def test_a_table_without_a_template_is_a_wrong_argument() -> None:
    query = spaseq.parse(
        "SELECT ?x WITHIN 9 SECONDS FROM STREAM S1 <urn:s1> WHERE { SEQ(A) DEFINE GPM A ON S1 { ?s ?p ?x } }"
    )
    with pytest.raises(InputError, match="is a table without a template"):
        spaseq.run(query, streams={"S1": pa.table({"v": [1]})})


def test_a_list_that_is_null_gives_no_triple_whatever_cells_it_has() -> None:
    lists = pa.ListArray.from_arrays([0, 2, 4, 5], ["x", "y", "z", "z", "w"], mask=pa.array([False, True, False]))
    cells = ArrowRows(pa.record_batch({"tags": lists}), np.arange(3)).cells(("tags",))
    assert cells.rows is not None
    assert [(row, cells.lexicals[code]) for row, code in zip(cells.rows, cells.codes, strict=True)] == [
        (0, "x"),
        (0, "y"),
        (2, "w"),
    ]


def test_fields_and_lists_give_a_triple_for_each(tmp_path: Path) -> None:
    records = [
        {"at": 1, "who": {"name": "ann"}, "tags": ["x", "y"], "items": [{"n": "a", "p": 1}, {"n": "b", "p": None}]},
        {"at": 2, "who": {"name": None}, "tags": [], "items": None},
    ]
    template = HEAD + (
        "[] prov:generatedAtTime ?at . :s :name ?who.name ; :tag ?tags ; :tagged <http://ex.org/{tags}> ."
        ' <http://ex.org/{items.n}> :price ?items.p ; :label "{items.n} by {who.name}" .'
    )
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(records), buffer)
    lines = "".join(json.dumps(record) + "\n" for record in records)
    for name, data in (("x.parquet", buffer.getvalue()), ("x.ndjson", lines.encode())):
        found, result = converted(tmp_path, name, data, template=template)
        assert result.exit_code == 0, result.stderr
        (first, second), _ = read(found)
        assert len(second.triples) == 1
        assert sorted(triple for triple in first.triples if not triple.startswith("_:")) == [
            '<http://ex.org/a> <http://ex.org/label> "a by ann"',
            f'<http://ex.org/a> <http://ex.org/price> "1"^^<{XSD}integer>',
            '<http://ex.org/b> <http://ex.org/label> "b by ann"',
            '<http://ex.org/s> <http://ex.org/name> "ann"',
            '<http://ex.org/s> <http://ex.org/tag> "x"',
            '<http://ex.org/s> <http://ex.org/tag> "y"',
            "<http://ex.org/s> <http://ex.org/tagged> <http://ex.org/x>",
            "<http://ex.org/s> <http://ex.org/tagged> <http://ex.org/y>",
        ]


def test_numbers_of_json_keep_their_digits(tmp_path: Path) -> None:
    data = b'{"time": 1, "v": 1.50}\n{"time": 2, "v": 100}\n{"time": 3, "v": true}\n{"time": 4, "v": "1"}\n'
    found, _ = converted(tmp_path, "x.jsonl", data, template=TYPED_TEMPLATE)
    values = [line.split("<http://ex.org/v> ")[1].split(" <urn")[0] for line in found.splitlines() if "org/v>" in line]
    assert values == [f'"1.50"^^<{XSD}double>', f'"100"^^<{XSD}integer>', f'"true"^^<{XSD}boolean>', '"1"']


def test_rows_that_are_no_events_are_dead_letters_with_their_number(tmp_path: Path) -> None:
    data = "id,time,name,kind,price,year,link\n1,1,a,A,1,,\n2\n3,3,a,A,1,,no iri\n4,soon,a,A,1,,\n5,,a,A,1,,\n"
    raw = data.encode() + b"1,6,a,A,1,,\n" + b"7,7,\xff,A,1,,\n8,8,a,A,1,,\n"
    letters = tmp_path / "letters"
    found, result = converted(tmp_path, "x.csv", raw, "--dead-letter", letters)
    assert [event.name[-1] for event in read(found)[0]] == ["1", "8"]
    lost = [json.loads(line) for line in letters.read_text().splitlines()]
    assert {each["line"]: each["reason"].split(":")[0][:40] for each in lost} == {
        3: "the row has 1 cells, and the header 7", 4: "the cell 'no iri' gives no valid IRI or ",
        5: "the time of the row cannot be read", 6: "the row has no time", 7: "graph <http",
        8: "the cell 'None' gives no valid IRI or te",
    }  # fmt: skip
    assert result.exit_code == 0
    strict = converted(tmp_path, "x.csv", raw, "--strict")[1]
    assert strict.exit_code == 1 and "x.csv:3:1" in strict.stderr


def test_lines_that_are_no_json_are_dead_letters(tmp_path: Path) -> None:
    data = (
        b'{"time": 1, "v": 1}\n[1]\n{"time": 2,\n\n{"time": 3, "v": NaN}\n'
        + b"[" * 100_000
        + b'\n\xff\n{"time": 4, "v": 2}'
    )
    letters = tmp_path / "letters"
    found, result = converted(tmp_path, "x.ndjson", data, "--dead-letter", letters, template=TYPED_TEMPLATE)
    assert (len(read(found)[0]), result.exit_code) == (2, 0)
    assert [json.loads(line)["line"] for line in letters.read_text().splitlines()] == [2, 3, 5, 6, 7]


@pytest.mark.parametrize(("choice", "second"), [(None, None), ("earliest", 1), ("latest", 3)])
def test_times_inside_follow_the_options(tmp_path: Path, choice: str | None, second: int | None) -> None:
    template = HEAD + ":s :at ?a ; :at ?b ; :seen [ :in ?c ] ."
    how = ["--time-predicate", "http://ex.org/at", *(["--time-choice", choice] if choice else [])]
    found, result = converted(tmp_path, "x.csv", b"a,b,c\n3,1,9\n", *how, template=template)
    if second is None:
        assert result.exit_code == 1 and "--time-choice" in result.stderr
    else:
        assert result.exit_code == 0
    path = ["--time-predicate", "<http://ex.org/seen>/<http://ex.org/in>", "--time-unit", "ms"]
    found, result = converted(tmp_path, "x.csv", b"a,b,c\n3,1,9\n", *path, template=template)
    assert result.exit_code == 0, result.stderr
    assert '"9"' in found


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("<http://ex.org/{id}> { :s :p ?missing }", "there is no column 'missing'"),
        ("?id :p 1 .", "rows.trig:1:1: ?c is the value of a cell"),
        (":s :p ?id . }", "rows.trig:4:"),
        (':s :p "{id" .', "rows.trig:4:8: a brace that belongs to no cell"),
        (":s :p <x/{id}> .", "an IRI with cells in it begins with its scheme"),
        ("<urn:{id}> { :s :p 1 } <urn:b> { :s :p 2 }", "the template has 2 graphs"),
        ("<urn:{id}> { :s :p 1 } :s :p 2 .", "outside the graph stands only the time"),
        ("", "the template has no triple"),
    ],
)
def test_a_template_that_cannot_be_used_is_bad_usage(tmp_path: Path, template: str, message: str) -> None:
    result = converted(tmp_path, "x.csv", b"id,time\n1,2\n", template=HEAD + template)[1]
    assert result.exit_code == 2 and message in result.stderr, result.stderr
    assert len(result.stderr.splitlines()) == 2


def test_a_table_without_a_template_names_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n1\n")
    result = spaseq_command("convert", tmp_path / "x.csv", "-o", tmp_path / "o.nq")
    assert result.exit_code == 2 and "'spaseq template" in result.stderr


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.ndjson"])
def test_the_template_that_is_proposed_makes_events(tmp_path: Path, name: str) -> None:
    table = [
        {"id": n, "odd name": f"n{n}", "when": f"2026-01-01T00:00:0{n}Z", "link": "http://ex.org/x"} for n in range(3)
    ]
    data = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist([each | {"when": START} for each in table]), data)
    lines = "".join(json.dumps(each | {"when": n + 1}) + "\n" for n, each in enumerate(table))
    texts = {"x.csv": as_csv([{k: str(v) for k, v in each.items()} for each in table]), "x.parquet": data.getvalue()}
    (tmp_path / name).write_bytes(texts.get(name, lines.encode()))
    proposed = spaseq_command("template", tmp_path / name)
    assert proposed.exit_code == 0, proposed.stderr
    found, result = converted(tmp_path, name, (tmp_path / name).read_bytes(), template=proposed.stdout)
    assert result.exit_code == 0, result.stderr
    events, _ = read(found)
    assert [len(event.triples) for event in events] == [4, 4, 4]
    assert all("<http://ex.org/x>" in " ".join(event.triples) for event in events)


def test_a_run_reads_tables_from_files_and_pipes_and_sorts_them(tmp_path: Path) -> None:
    table = rows(40, 3)
    for row in table:
        row["name"], row["price"] = "acme", row["id"]
    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "t.trig").write_text(TEMPLATE)
    (tmp_path / "in.nq").write_text(expected(table))
    (tmp_path / "in.csv").write_bytes(as_csv(table))
    (tmp_path / "mixed.csv").write_bytes(as_csv(random.Random(1).sample(table, len(table))))
    query, template = tmp_path / "q.rq", f"S1={tmp_path / 't.trig'}"
    wanted = spaseq_command("run", query, "--stream", f"S1={tmp_path / 'in.nq'}", "--format", "csv").stdout
    assert len(wanted.splitlines()) > 5
    how = ["--format", "csv", "--template", template]
    assert spaseq_command("run", query, "--stream", f"S1={tmp_path / 'in.csv'}", *how).stdout == wanted
    mixed = ["--stream", f"S1={tmp_path / 'mixed.csv'}", *how]
    assert spaseq_command("run", query, *mixed, "--unordered").stdout == wanted
    piped = subprocess.run(
        [sys.executable, "-m", "spaseq.cli", "run", query, "--stream", "S1=-", "--input-format", "S1=csv", *how],
        input=as_csv(table), capture_output=True, check=True,
    )  # fmt: skip
    assert piped.stdout.decode().replace("\r\n", "\n") == wanted


def test_a_truncated_table_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    packed = gzip.compress(as_csv(rows(4_000, 5)))
    found, result = converted(tmp_path, "x.csv.gz", packed[: len(packed) // 2])
    assert result.exit_code == 1 and "breaks off" in result.stderr
    assert len(found.splitlines()) > 1000
    broken = converted(tmp_path, "x.parquet", b"PAR1 and no more")[1]
    assert broken.exit_code == 1 and "cannot be read" in broken.stderr


def test_all_but_unreserved_characters_are_encoded() -> None:
    assert encoded("aZ0-._~/?#é日\x00 %\ue000") == "aZ0-._~%2F%3F%23é日%00%20%25%EE%80%80"


def test_cells_are_never_looked_at_as_templates(tmp_path: Path) -> None:
    found, _ = converted(tmp_path, "x.csv", b"time,v\n1,{time}\n2,?time\n", template=TYPED_TEMPLATE)
    assert '"{time}"' in found and '"?time"' in found and "<http://ex.org/%7Btime%7D>" in found


def test_a_template_is_a_value() -> None:
    assert parse_template(TEMPLATE, "a", (PROV,)) == parse_template(TEMPLATE, "b", (PROV,))


@pytest.mark.parametrize("name", ["x.parquet", "x.parquet.gz"])
def test_parquet_is_read_in_pieces(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SPOOLED_BYTES_MAX", 1 << 16)
    draw = np.random.default_rng(1)
    table = pa.table({"id": range(10_000), "noise": [draw.bytes(1_000) for _ in range(10_000)]})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=500, compression=None)
    text = (tmp_path / "x.parquet").read_bytes()
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(text, 1))
    before = pa.total_allocated_bytes()
    held, numbers = 0, list[int]()
    tracemalloc.start()
    with opened(InputFile(str(tmp_path / name), "parquet")) as source:
        for batch in sources.rows_of(source, TableOptions(rows_max=250), lambda *_: None):
            held = max(held, pa.total_allocated_bytes() - before)
            numbers += batch.numbers.tolist()
    own = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert numbers == list(range(1, 10_001))
    assert len(text) > 10_000_000 > 5_000_000 > max(held, own)
