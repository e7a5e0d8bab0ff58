"""`spaseq test`: the worked cases as test files, differences, files that cannot be run, exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from click.testing import CliRunner

from sparql_gpm.terms import IRI, XSD, BlankNode, Literal, Term, to_ntriples
from spaseq.cli import main
from spaseq.errors import InputError
from spaseq.testing import run_test
from spaseq.testing.texts import report, rows_text
from tests.conformance.cases import OWN, Case, case_folders

PREFIXES = """@prefix : <http://x/> .
@prefix s: <urn:spaseq:vocabulary:> .
@prefix var: <urn:spaseq:variable:> .
@prefix step: <urn:spaseq:step:> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
QUERY = """PREFIX : <http://x/>
SELECT ?sensor ?high WITHIN 1 HOUR SLIDING FROM STREAM S <http://x/s>
{ SEQ(Cold ; Hot)
  DEFINE GPM Cold ON S { ?sensor :temp ?low  FILTER (?low < 10) }
  DEFINE GPM Hot  ON S { ?sensor :temp ?high FILTER (?high > 30) } }
"""
EVENTS = """[] a s:Test .
:e1 prov:generatedAtTime "2026-01-01T00:00:00Z"^^xsd:dateTime . :e1 { :s1 :temp 5 }
:e2 prov:generatedAtTime "2026-01-01T00:10:00Z"^^xsd:dateTime . :e2 { :s1 :temp 35.5 }
"""
CASES = [case for case in case_folders(OWN) if len(case.queries) == 1 and "late" not in case.folder.name][::8]
"""A test file says how many events are late; a case does not."""


def written(folder: Path, text: str, query: str = QUERY) -> Path:
    (folder / "cold.rq").write_text(query)
    (folder / "cold.trig").write_text(PREFIXES + text)
    return folder / "cold.trig"


# --- the worked cases -------------------------------------------------------------------------------


def as_test(case: Case) -> str:
    """A worked case as a test file, with its rows from `expected.ndjson`."""
    (query,) = case.queries
    lines = [f"[] a s:Test ; s:query <{query.as_uri()}> .\n"]
    for name, path in case.streams.items():
        quads = list(ox.parse(path=str(path)))
        named = [quad.subject if isinstance(quad.graph_name, ox.DefaultGraph) else quad.graph_name for quad in quads]
        lines += [f'{event} s:stream "{name}" .\n' for event in dict.fromkeys(map(str, named))]
        lines += [quad_text(quad, name) for quad in quads]
    for iri, path in case.kbs.items():
        lines += [f"<{iri}> s:file <{path.as_uri()}> .\n"]
    select, construct = [], []
    for number, row in enumerate(case.expected):
        (construct if "triples" in row else select).append((number, row))
    lines += ["s:rows {\n", *(f"  [] {' ; '.join(stated(row))} .\n" for _, row in select), "}\n"] if select else []
    for number, row in construct:
        body = "".join(f"  {line}\n" for line in row["triples"])
        lines.append(f"<urn:out:{number}> a s:Graph ; {' ; '.join(stated(row))} .\n<urn:out:{number}> {{\n{body}}}\n")
    return PREFIXES + "".join(lines)


def quad_text(quad: ox.Quad, stream: str) -> str:
    triple = f"{quad.subject} {quad.predicate} {quad.object} ."
    return f"{triple}\n" if isinstance(quad.graph_name, ox.DefaultGraph) else f"{quad.graph_name} {{ {triple} }}\n"


def stated(row: dict[str, Any]) -> Iterator[str]:
    yield f'prov:startedAtTime "{row["start"]}"^^xsd:dateTime'
    yield f'prov:endedAtTime "{row["time"]}"^^xsd:dateTime'
    for name, value in row.get("bindings", {}).items():
        yield f"<urn:spaseq:variable:{name}> {to_ntriples(term_of(value))}"
    for step, names in row["events"].items():
        yield f"<urn:spaseq:step:{step}> ( {' '.join(f'<{name}>' for name in names)} )"


def term_of(value: dict[str, str]) -> Term:
    match value["type"]:
        case "uri":
            return IRI(value["value"])
        case "bnode":
            return BlankNode(value["value"])
    if "xml:lang" in value:
        return Literal(
            value["value"], XSD.replace("2001/XMLSchema", "1999/02/22-rdf-syntax-ns") + "langString", value["xml:lang"]
        )
    return Literal(value["value"], value.get("datatype", XSD + "string"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder.name)
def test_a_worked_case_passes_as_a_test_file_and_its_printed_rows_do(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "case.trig"
    text = as_test(case)
    path.write_text(text, encoding="utf-8")
    outcome = run_test(path)
    assert outcome.passed, report(outcome)
    events = text.split("s:rows {")[0].split("<urn:out:0>")[0]
    path.write_text(events + rows_text(outcome), encoding="utf-8")
    assert run_test(path).passed
    if case.expected:
        path.write_text(events, encoding="utf-8")
        (found,) = run_test(path).differences
        assert len(found.unexpected) == found.found == len(case.expected)


# --- differences ------------------------------------------------------------------------------------


def test_a_row_states_as_much_as_the_test_wants(tmp_path: Path) -> None:
    for row in ("var:sensor :s1", "var:high 35.5 ; step:Hot ( :e2 )", "step:Cold :e1", "prov:endedAtTime 1767226200"):
        assert run_test(written(tmp_path, f"{EVENTS} s:rows {{ [] {row} . }}")).passed, row


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ("[] var:high 35.50 .", ["1 row: 1 missing (-), 1 not expected (+)", "- ?high 35.50", "+ ?high 35.5"]),
        ("[] var:sensor :s1 . [] var:sensor :s1 .", ["1 row: 1 missing (-), 0 not expected (+)", "- ?sensor :s1"]),
        (
            "[] var:sensor :s1 . [] step:Hot ( :e2 ) .",
            ["2 missing (-), 1 not", "- ?sensor :s1", "- step Hot ( :e2 )", "+ ?sensor :s1  step Hot ( :e2 )"],
        ),
        ("", ["0 missing (-), 1 not", "+ ?sensor :s1  ?high 35.5  step Cold ( :e1 )  step Hot ( :e2 )  start 2026-"]),
    ],
)
def test_what_differs_is_shown_with_the_prefixes_of_the_file(tmp_path: Path, rows: str, lines: list[str]) -> None:
    outcome = run_test(written(tmp_path, f"{EVENTS} s:rows {{ {rows} }}"))
    assert not outcome.passed
    found = report(outcome).splitlines()
    assert len(found) == len(lines) + 1
    assert all(line in shown for line, shown in zip(lines, found[1:], strict=True))


def test_several_queries_run_together_and_what_only_feeds_another_is_not_compared(tmp_path: Path) -> None:
    alarms = "PREFIX : <http://x/> REGISTER STREAM <http://x/alarms> AS CONSTRUCT { ?sensor :was ?high } "
    (tmp_path / "alarms.rq").write_text(alarms + QUERY[QUERY.index("WITHIN") :])
    (tmp_path / "twice.rq").write_text(
        "PREFIX : <http://x/> SELECT ?sensor WITHIN 1 HOUR FROM STREAM X <http://x/alarms> FROM STREAM S <http://x/s> "
        "{ SEQ(A) DEFINE GPM A ON X { ?sensor :was ?high } }"
    )
    text = EVENTS.replace("s:Test", "s:Test ; s:query <alarms.rq>, <twice.rq>")
    one = 's:rows { [] s:query "twice" ; var:sensor :s1 . }'
    outcome = run_test(written(tmp_path, text + one))
    assert outcome.passed and [each.query for each in outcome.differences] == ["twice"]
    graph = ':g a s:Graph ; prov:generatedAtTime "2026-01-01T00:10:00Z"^^xsd:dateTime . :g { :s1 :was VALUE }'
    assert run_test(written(tmp_path, text + one + graph.replace("VALUE", "35.5"))).passed
    outcome = run_test(written(tmp_path, text + one + graph.replace("VALUE", "35")))
    assert "query 'alarms', 1 row: 1 missing (-), 1 not expected (+)" in report(outcome)


def test_late_events_are_counted_and_settings_are_those_of_a_run(tmp_path: Path) -> None:
    more = ':e3 prov:generatedAtTime "2026-01-01T02:00:00Z"^^xsd:dateTime . :e3 { :s1 :temp 20 }'
    turned = "\n".join([EVENTS.splitlines()[0], *reversed(EVENTS.splitlines()[1:]), more])
    rows = "s:rows { [] var:sensor :s1 . }"
    outcome = run_test(written(tmp_path, turned + rows))
    assert "late events: 1, expected 0" in report(outcome)
    assert run_test(written(tmp_path, turned.replace("s:Test", "s:Test ; s:late 1"))).passed
    assert run_test(written(tmp_path, turned.replace("s:Test", 's:Test ; s:maxDelay "10m"') + rows)).passed
    stated = EVENTS.replace("s:Test", 's:Test ; s:timePredicate :at ; s:timeUnit "ms"')
    stated = stated.replace('prov:generatedAtTime "2026-01-01T00:00:00Z"^^xsd:dateTime', ":at 1000")
    stated = stated.replace('prov:generatedAtTime "2026-01-01T00:10:00Z"^^xsd:dateTime', ":at 2000")
    times = "s:rows { [] prov:startedAtTime 1 ; prov:endedAtTime 2 . }"
    assert run_test(written(tmp_path, stated + times)).passed


def test_a_query_may_stand_in_the_file_and_blank_nodes_are_equal(tmp_path: Path) -> None:
    inside = EVENTS.replace("s:Test", f's:Test ; s:query """{QUERY}"""').replace(":s1 :temp 35.5", "_:x :temp 35.5")
    path = written(tmp_path, inside.replace(":s1 :temp 5", "[] :temp 5"))
    (tmp_path / "cold.rq").unlink()
    assert run_test(path).passed  # they are two nodes
    path.write_text(path.read_text().replace("?sensor :temp", "?any :temp").replace("SELECT ?sensor", "SELECT ?any"))
    single = path.read_text().replace("SEQ(Cold ; Hot)", "SEQ(Hot)")
    path.write_text(single + "s:rows { [] var:any [] . }")
    assert run_test(path).passed


# --- what cannot be run -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has 0 tests"),
        (EVENTS + "[] a s:Test .", "has 2 tests"),
        (EVENTS + "s:rows { [] var:hight 1 . }", "selects no ?hight"),
        (EVENTS + "s:rows { [] step:Warm ( :e1 ) . }", "has no step Warm"),
        (EVENTS + "s:rows { [] :sensor :s1 . }", "<http://x/sensor> is nothing that a row has"),
        (EVENTS + 's:rows { [] s:query "other" ; var:high 1 . }', 'query "other", which is not tested'),
        (EVENTS + "s:rows { [] var:high 1, 2 . }", "two values"),
        (EVENTS + "s:rows { [] prov:endedAtTime :now . }", "not a time"),
        (EVENTS + ":g a s:Graph . :g { :a :b :c }", "no CONSTRUCT query is tested"),
        (EVENTS + ':e1 s:stream "T" .', 'no query reads a stream "T"'),
        (EVENTS + ":e1 s:strean :x .", "no word <urn:spaseq:vocabulary:strean>"),
        (EVENTS + "s:rows { [] a s:Row . }", "no word <urn:spaseq:vocabulary:Row>"),
        (EVENTS + ":e3 { :s1 :temp 1 }", "an event is malformed"),
        (EVENTS.replace("s:Test", "s:Test ; s:late 1.5"), "s:late is the number"),
        (EVENTS.replace("s:Test", 's:Test ; s:maxDelay "soon"'), "s:maxDelay"),
        (EVENTS.replace("s:Test", "s:Test ; s:query <gone.rq>"), "cannot read query"),
        (EVENTS.replace("s:Test", "s:Test ; s:query <http://x/q.rq>"), "is no file"),
        (EVENTS.replace("s:Test", 's:Test ; s:query "a", "b"'), "several queries in it"),
        ("[] a s:Test ; ", "is no TriG"),
    ],
)
def test_a_file_that_cannot_be_run_says_why(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        run_test(written(tmp_path, text))
    assert message in str(caught.value)
    assert caught.value.hint


def test_an_event_of_several_streams_has_to_say_which(tmp_path: Path) -> None:
    two = QUERY.replace("{ SEQ", "FROM STREAM T <http://x/t> { SEQ")
    with pytest.raises(InputError, match="on which stream is the event <http://x/e1>") as caught:
        run_test(written(tmp_path, EVENTS, two))
    assert 's:stream "S" or "T"' in caught.value.hint
    stated = EVENTS + ':e1 s:stream "S" . :e2 s:stream <http://x/s> . s:rows { [] var:high 35.5 . }'
    assert run_test(written(tmp_path, stated, two)).passed


# --- the command ------------------------------------------------------------------------------------


def test_exit_codes_and_the_last_line(tmp_path: Path) -> None:
    right, wrong, broken = (tmp_path / name for name in ("a", "b", "c"))
    for folder in (right, wrong, broken):
        folder.mkdir()
    written(right, EVENTS + "s:rows { [] var:high 35.5 . }")
    written(wrong, EVENTS)
    written(broken, EVENTS + "s:rows { [] var:gone 1 . }")
    (right / "data.trig").write_text("<urn:a> <urn:b> <urn:c> .")

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["test", *words])
        return done.exit_code, done.stdout.splitlines()[-1]

    assert run(str(right)) == (0, "1 test, all as expected")
    assert run(str(right), str(wrong)) == (1, "2 tests, 1 failed")
    assert run(str(tmp_path)) == (2, "3 tests, 1 failed, 1 could not be run")
    (tmp_path / "d").mkdir()
    assert CliRunner().invoke(main, ["test", str(tmp_path / "d")]).exit_code == 2


def test_printed_rows_can_be_pasted(tmp_path: Path) -> None:
    path = written(tmp_path, EVENTS)
    printed = CliRunner().invoke(main, ["test", "--print-rows", str(path)])
    assert printed.exit_code == 0 and "var:high 35.5 ;" in printed.stdout
    path.write_text(path.read_text() + printed.stdout)
    assert run_test(path).passed


def test_a_service_and_a_knowledge_base_are_graphs_of_the_file(tmp_path: Path) -> None:
    joined = QUERY.replace("?sensor :temp ?high", "?sensor :temp ?high SERVICE <http://h/q> { ?sensor :in ?room }")
    joined = joined.replace("?sensor :temp ?low", "?sensor :temp ?low GRAPH <http://x/kb> { ?sensor a :Good }")
    knowledge = "<http://h/q> { :s1 :in :kitchen } <http://x/kb> { :s1 a :Good }"
    rows = "s:rows { [] var:sensor :s1 . }"
    assert run_test(written(tmp_path, EVENTS + knowledge + rows, joined)).passed
    assert not run_test(written(tmp_path, EVENTS + knowledge.replace("a :Good", "a :Bad") + rows, joined)).passed
    (tmp_path / "kb.ttl").write_text("<http://x/s1> a <http://x/Good> .")
    text = EVENTS + knowledge.split("<http://x/kb>")[0] + "<http://x/kb> s:file <kb.ttl> ." + rows
    assert run_test(written(tmp_path, text, joined)).passed
