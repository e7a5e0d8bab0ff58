"""JSON-LD, NDJSON-LD and messages give the events that the same data has as N-Quads."""

from __future__ import annotations

import gzip
import io
import json
import random
import warnings
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
from click.testing import CliRunner, Result

import spaseq
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.reading.json_depth import JSON_DEPTH_MAX, check_depth, is_deep
from sparql_gpm.terms import XSD
from spaseq.cli import main
from tests.inputs.test_sorting import QUERY, in_order
from tests.sparql_gpm.rdf_events import Event, read

CONTEXT = {"@vocab": "http://ex.org/", "at": {"@id": PROV_TIME, "@type": XSD + "dateTime"}}
URL = "https://ex.org/context.jsonld"


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def drawn(seed: int) -> list[list[ox.Quad]]:
    """Units: the quads of some graphs each, with their times in the default graph or inside."""
    draw = random.Random(seed)
    units = []
    for unit in range(draw.randrange(1, 6)):
        quads = []
        for number in range(draw.randrange(1, 4)):
            graph = ox.NamedNode(f"urn:e{unit}.{number}")
            time = ox.Literal(f"2026-01-01T00:{unit:02}:{number:02}Z", datatype=ox.NamedNode(XSD + "dateTime"))
            inside = draw.random() < 0.3
            quads.append(ox.Quad(graph, ox.NamedNode(PROV_TIME), time, graph if inside else ox.DefaultGraph()))
            for index in range(draw.randrange(4)):
                subject = draw.choice([ox.BlankNode(f"b{draw.randrange(2)}"), ox.NamedNode("urn:s")])
                value = draw.choice(
                    [ox.Literal("é\n\"x\""), ox.Literal("1.50", datatype=ox.NamedNode(XSD + "decimal")),
                     ox.Literal("hi", language="en"), ox.NamedNode("urn:o"), ox.BlankNode("b0")]
                )  # fmt: skip
                quads.append(ox.Quad(subject, ox.NamedNode(f"urn:p{index}"), value, graph))
        units.append(quads)
    return units


def nquads(units: list[list[ox.Quad]]) -> str:
    """The same events by the convention: the time of a graph before it."""
    lines = []
    for quads in units:
        for graph in dict.fromkeys(q.graph_name for q in quads if not isinstance(q.graph_name, ox.DefaultGraph)):
            lines += [f"{q} ." for q in quads if isinstance(q.graph_name, ox.DefaultGraph) and q.subject == graph]
            lines += [f"{q} ." for q in quads if q.graph_name == graph]
        alone = [q for q in quads if isinstance(q.graph_name, ox.DefaultGraph)]
        lines += [f"{q} ." for q in alone if not any(q.subject == other.graph_name for other in quads)]
    return "".join(f"{line}\n" for line in lines)


def json_ld(quads: list[ox.Quad]) -> str:
    """A document in expanded form, as serializers write it."""
    data = ox.serialize(quads, format=ox.RdfFormat.JSON_LD)
    assert data is not None
    return data.decode().replace("\n", "")


def plain(events: list[Event]) -> list[tuple[str, int, list[str]]]:
    """Events whatever the labels of blank nodes."""

    def triple(text: str) -> str:
        return " ".join("_:b" if part.startswith("_:") else part for part in text.split(" "))

    return sorted((each.name, each.time, sorted(map(triple, each.triples))) for each in events)


@pytest.mark.parametrize("seed", range(12))
def test_units_are_the_events_that_they_are_as_nquads(seed: int) -> None:
    units = [quads for quads in drawn(seed) if any(not isinstance(q.graph_name, ox.DefaultGraph) for q in quads)]
    wanted, faults = read(nquads(units))
    assert faults == []
    lines = "".join(json_ld(quads) + "\n" for quads in units)
    trig = "".join("# @message\n" + ox.serialize(quads, format=ox.RdfFormat.TRIG).decode() for quads in units)
    quoted = "".join("# @message\n" + "".join(f"{quad} .\n" for quad in quads) for quads in units)
    found: list[tuple[list[Event], list[Malformed]]] = [
        read(lines, "ndjsonld"), read(lines, "ndjsonld", ReadOptions(batch_events=1)),
        read(trig, "messages"), read(quoted, "nquads messages"),
    ]  # fmt: skip
    if len(units) == 1:
        found.append(read(lines, "jsonld"))
    for events, reports in found:
        assert reports == []
        assert plain(events) == plain(wanted)


def document(number: int, context: Any = CONTEXT) -> dict[str, Any]:
    return {"@context": context, "at": f"2026-01-01T00:00:0{number}Z", "v": number, "@type": "AB"[number % 2]}


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.rq"
    path.write_text(QUERY)
    return path


def test_data_of_an_ordinary_serializer_gives_its_rows_with_one_option(tmp_path: Path, query: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its own code uses what it deprecates
        dataset = rdflib.Dataset()
        dataset.parse(data=in_order(), format="nquads")
        (tmp_path / "in.jsonld").write_text(dataset.serialize(format="json-ld"))
    (tmp_path / "in.nq").write_text(in_order())
    options = ["--format", "ndjson"]
    wanted = command("run", query, "--stream", f"S1={tmp_path / 'in.nq'}", *options).stdout
    result = command("run", query, "--stream", f"S1={tmp_path / 'in.jsonld'}", *options, "--unordered")
    assert (result.stdout, result.exit_code) == (wanted, 0)
    assert len(wanted.splitlines()) > 5


@pytest.mark.parametrize("name", ["in.ndjsonld", "in.jsonl", "in.ndjson.gz", "folder"])
def test_documents_are_events_by_suffix(tmp_path: Path, query: Path, name: str) -> None:
    lines = "".join(json.dumps(document(number)) + "\n" for number in range(4)).encode()
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        for number, line in enumerate(lines.splitlines()):
            (path / f"{number}.jsonld").write_bytes(line)
    else:
        path.write_bytes(gzip.compress(lines) if name.endswith("gz") else lines)
    result = command("run", query, "--stream", f"S1={path}", "--format", "csv")
    assert result.exit_code == 0, result.stderr
    assert [line.split(",")[3:5] for line in result.stdout.splitlines()[1:]] == [["0", "1"], ["2", "3"]]


def test_contexts_are_supplied_and_never_fetched(tmp_path: Path, query: Path) -> None:
    other = "https://ex.org/more"
    contexts = [URL, [URL], [URL, {"x": "urn:x"}], {"@import": URL, "@version": 1.1}]
    lines = "".join(json.dumps(document(number, contexts[number])) + "\n" for number in range(4))
    (tmp_path / "in.ndjsonld").write_text(lines)
    (tmp_path / "context.json").write_text(json.dumps({"@context": CONTEXT}))
    run = ["run", query, "--stream", f"S1={tmp_path / 'in.ndjsonld'}", "--format", "csv"]
    missing = command(*run)
    assert missing.exit_code == 1
    assert f"in.ndjsonld: the JSON-LD context {URL} is not given" in missing.stderr
    assert f"hint: --context {URL}=FILE supplies it" in missing.stderr
    given = command(*run, "--context", f"{URL}={tmp_path / 'context.json'}")
    assert (given.exit_code, len(given.stdout.splitlines())) == (0, 3), given.stderr
    (tmp_path / "context.json").write_text(json.dumps({"@context": [other, CONTEXT]}))
    nested = command(*run, "--context", f"{URL}={tmp_path / 'context.json'}")
    assert nested.exit_code == 1 and f"the JSON-LD context {other} is not given" in nested.stderr
    for text in ("[]", "{", '{"a": 1}'):
        (tmp_path / "context.json").write_text(text)
        wrong = command(*run, "--context", f"{URL}={tmp_path / 'context.json'}")
        assert wrong.exit_code == 2 and "is no JSON-LD context" in wrong.stderr
    assert command(*run, "--context", URL).exit_code == 2


def test_json_literals_are_no_contexts() -> None:
    data = {"@context": CONTEXT, "at": "2026-01-01T00:00:00Z", "v": {"@type": "@json", "@value": {"@context": "x"}}}
    events, reports = read(json.dumps(data), "jsonld")
    assert (len(events), reports) == (1, [])


@pytest.mark.parametrize(
    ("star", "column"),
    [
        ('"v": {"@annotation": {"v": 1}}', 8),
        ('"v": {"@triple": {}}', 8),
        ('"@id" : {"@id": "urn:a"}', 2),
        ('"@annotation":[]', 2),
    ],
)
def test_triple_terms_of_json_ld_star_are_refused_at_the_first_one(star: str, column: int) -> None:
    good = '{"urn:a": "\\"@annotation\\": @triple", "urn:b": ["@annotation"], "urn:at": 1}'
    options = ReadOptions(time_predicates=("urn:at",))
    events, reports = read(f"{good}\n{{{star}, {star}}}\n{good}", "ndjsonld", options)
    assert [(report.line, report.column) for report in reports] == [(2, column)]
    assert "RDF 1.2, JSON-LD-star) cannot be read from JSON-LD" in reports[0].reason
    assert len(events) == 2


def test_malformed_lines_are_reported_with_their_place_and_the_stream_goes_on() -> None:
    good = json.dumps(document(1))
    lines = [good, '{"a": }', "", '{"@id": 5}', json.dumps({"@context": CONTEXT, "v": 1}), good, "[" * 50_000, "\x00"]
    events, reports = read("\n".join(lines), "ndjsonld")
    assert len(events) == 2
    assert [(report.line, report.whole_event) for report in reports] == [(n, True) for n in (2, 4, 5, 7, 8)]
    assert read(good[:-1], "jsonld")[1][0].line == 1
    long = json.dumps({"x": "y" * 500})
    many, (report,) = read("\n".join([good, long, good]), "ndjsonld", ReadOptions(line_bytes_max=300))
    assert (len(many), report.line, report.kind) == (2, 2, "too long")


MESSAGES = """VERSION "1.2-messages"
PREFIX : <http://ex.org/> PREFIX prov: <http://www.w3.org/ns/prov#>
_:b :p 1 ; prov:generatedAtTime 5 .
# @message the second
_:b :p 2 ; prov:generatedAtTime 6 .
MESSAGE
:bad .
@message .
<urn:g> prov:generatedAtTime 7 . <urn:g> { :a :b :c }
"""


@pytest.mark.parametrize("name", ["in.ttl", "in.trig", "in.ttl.gz"])
def test_a_message_log_is_known_by_its_first_line(tmp_path: Path, name: str) -> None:
    data = MESSAGES.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    letters = tmp_path / "letters"
    result = command("convert", tmp_path / name, "-o", tmp_path / "out.nq", "--dead-letter", letters)
    assert result.exit_code == 0, result.stderr
    events, _ = read((tmp_path / "out.nq").read_text())
    assert [(event.name, event.time // 10**9) for event in events] == [
        ("urn:spaseq:event:S:0", 5), ("urn:spaseq:event:S:1", 6), ("urn:g", 7),
    ]  # fmt: skip
    assert events[0].triples[0].split()[0] != events[1].triples[0].split()[0]
    assert [json.loads(line)["line"] for line in letters.read_text().splitlines()] == [7]


def test_messages_of_nquads_are_read_where_an_option_says_so(tmp_path: Path) -> None:
    integer = f'"%d"^^<{XSD}integer>'
    quads = f"_:b <{PROV_TIME}> {integer % 1} .\n# @message\n_:b <{PROV_TIME}> {integer % 2} .\n"
    (tmp_path / "in.nt").write_text(quads)
    (tmp_path / "in.nq").write_text(quads)
    for name in ("in.nt", "in.nq"):
        result = command("convert", tmp_path / name, "-o", tmp_path / "out.nq", "--input-format", "messages")
        assert result.exit_code == 0, result.stderr
        assert [event.time // 10**9 for event in read((tmp_path / "out.nq").read_text())[0]] == [1, 2]


def test_an_engine_takes_lines_of_json_ld() -> None:
    rows: list[Any] = []
    with spaseq.Engine() as engine:
        engine.register(spaseq.parse(QUERY), rows.append)
        engine.push_batch("S1", "".join(json.dumps(document(n)) + "\n" for n in range(4)), format="ndjsonld")
    assert len(rows) == 2


@pytest.mark.parametrize("rdf_format", ["jsonld", "ndjsonld"])
def test_json_as_deep_as_no_stack_may_be_is_malformed(rdf_format: str) -> None:
    fine, deep = (b'{"http://ex.org/p":' * depth + b"1" + b"}" * depth for depth in (JSON_DEPTH_MAX, 30_000))
    _, reports = read(fine, rdf_format)
    assert [report.kind for report in reports] == ["no timestamp"]
    events, reports = read(deep, rdf_format)
    assert (events, [(report.kind, report.line) for report in reports]) == ([], [("syntax", 1)])
    assert reports[0].column == JSON_DEPTH_MAX * len(b'{"http://ex.org/p":') + 1
    assert "500 objects and arrays one in the other" in reports[0].reason


class Pieces(io.BytesIO):
    """A stream that gives a few bytes at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(1 + self.tell() % 40)


@pytest.mark.parametrize("depth", [3, JSON_DEPTH_MAX, JSON_DEPTH_MAX + 1])
def test_the_depth_of_json_is_found_in_pieces_of_any_size(depth: int) -> None:
    draw = random.Random(depth)
    opened = [draw.choice([b"[", b'{"]]}\\"}":', b'{ "a" : ']) for _ in range(depth)]
    closed = [b"]" if each == b"[" else b"}" for each in reversed(opened)]
    text = b"".join(opened) + b'"[[[["' + b"".join(closed)
    assert is_deep(Pieces(text)) == (depth > JSON_DEPTH_MAX)
    if depth <= JSON_DEPTH_MAX:
        check_depth(text)
        return
    with pytest.raises(SyntaxError, match="one in the other") as raised:
        check_depth(text)
    assert raised.value.offset == len(b"".join(opened[:-1])) + 1
