"""No term can say more than itself, wherever it comes from and wherever it is written."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyoxigraph as ox
import pytest
import rdflib
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from pyjelly.integrations.generic.parse import parse_jelly_flat

import spaseq
from kb.results import ResultReader
from kb.source import Source
from sparql_gpm.expressions.functions_terms import ExpressionError, iri
from sparql_gpm.term_text import canonical_token, term_of
from sparql_gpm.terms import IRI, RDF_LANG_STRING, XSD, BlankNode, Literal, Term, to_ntriples
from sparql_gpm.well_formed import fault_of
from spaseq.cli import main
from spaseq.errors import InputError, visible
from spaseq.inputs.arrow import quad_line
from spaseq.inputs.terms import own_term
from spaseq.outputs import FORMATS, open_sink
from spaseq.outputs.rows import Row, ntriples_lines, to_json
from tests.kb.servers import Impostor

BINARY = ("jelly", "parquet", "arrow")
FORGERY = "http://x/z> . <http://forged/s> <http://forged/p> <http://forged/o"
EX = "http://ex.org/"
EVENT = f'<urn:e> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:00:00Z"^^<{XSD}dateTime> .\n'
texts = st.one_of(
    st.text(st.sampled_from("ab>.<\"'\\ \n\r\t{}|^`_:@#-,;é\u202e\x1b\x9b\u2028\x00\ud800\U0001f600"), max_size=12),
    st.sampled_from([FORGERY, 'a" . <urn:s> <urn:p> "b', "a> .\n<urn:s> <urn:p> <urn:o> .", "b . <urn:s> <urn:p> _:x"]),
    st.text(max_size=6),
)
iris = st.builds(IRI, st.one_of(texts, texts.map(lambda text: EX + text)))
labels = st.builds(BlankNode, texts)
literals = st.one_of(
    st.builds(Literal, texts),
    st.builds(Literal, texts, texts),
    st.builds(Literal, texts, st.just(RDF_LANG_STRING), texts),
)
terms: st.SearchStrategy[Term] = st.one_of(iris, labels, literals)
triples = st.tuples(st.one_of(iris, labels), iris, terms)


def query(text: str) -> spaseq.Query:
    return spaseq.parse(
        f"""PREFIX : <{EX}> {text} WITHIN 5 SECONDS FROM STREAM S <urn:s>
        {{ SEQ(A) DEFINE GPM A ON S {{ ?s :v ?v . {{ ?s :v ?w }} }} }}"""
    )


QUERIES = [query("SELECT ?v ?w")]


def same(term: Term, read: object) -> bool:
    """Whether a parsed term is of this sort, and this one if it is one; blank nodes are renamed."""
    match term:
        case IRI(value):
            return isinstance(read, ox.NamedNode) and (fault_of(term) != "" or read.value == value)
        case BlankNode():
            return isinstance(read, ox.BlankNode)
        case Literal(lexical):
            return isinstance(read, ox.Literal) and (fault_of(term) != "" or read.value == lexical)


def read_again(text: str, kind: ox.RdfFormat) -> list[ox.Quad]:
    return list(ox.parse(text.encode(), kind, lenient=True))


@given(triples)
def test_a_line_of_n_triples_is_read_as_the_one_triple_that_it_states(triple: tuple[Term, Term, Term]) -> None:
    (line,) = ntriples_lines([triple])
    (read,) = read_again(line, ox.RdfFormat.N_TRIPLES)
    assert "\n" not in line
    assert all(map(same, triple, (read.subject, read.predicate, read.object)))


@given(terms)
def test_a_term_that_is_rdf_is_read_by_a_strict_parser_as_it_is(term: Term) -> None:
    if not fault_of(term) and not isinstance(term, BlankNode):
        (read,) = ox.parse(f"<urn:s> <urn:p> {to_ntriples(term)} .".encode(), ox.RdfFormat.N_TRIPLES)
        assert own_term(read.object) == term


@given(terms)
def test_the_text_of_a_term_inside_the_process_gives_it_back_whatever_it_holds(term: Term) -> None:
    if not (
        isinstance(term, Literal) and not term.language and (term.datatype == RDF_LANG_STRING or "@" in term.datatype)
    ):
        assert term_of(canonical_token(term)) == term


@given(st.lists(triples, max_size=3), st.lists(st.tuples(st.sampled_from("vw"), terms), max_size=2), texts, texts)
def test_every_format_says_of_a_hostile_row_what_it_holds_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory,
    stated: list[tuple[Term, Term, Term]],
    bound: list[tuple[str, Term]],
    name: str,
    graph: str,
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    bindings = tuple(dict(bound).items())
    rows = [
        Row(name, 0, 0, bindings, (("A", (graph, EX)),)),
        Row(name, 0, 0, (), (("A", (graph,)),), graph, tuple(stated)),
    ]
    written = {}
    for kind in FORMATS:
        sink = open_sink(kind, folder / kind, [*QUERIES, query("CONSTRUCT { :m :p ?v }")])
        with contextlib.closing(sink):
            sink.write(rows)
        written[kind] = (folder / kind).read_bytes().decode(errors="surrogateescape" if kind in BINARY else "strict")

    quads = read_again(written["trig"], ox.RdfFormat.TRIG)
    steps, events = 1 + 2 * 2, len({to_ntriples(IRI(graph)), to_ntriples(IRI(EX))})
    described = 4 + len(bindings) + steps + events
    assert len(quads) == 1 + described + 1 + len(set(ntriples_lines(stated)))
    frames = parse_jelly_flat(io.BytesIO(written["jelly"].encode(errors="surrogateescape")))
    assert len(list(frames)) == len(quads)

    first, second, _ = written["ndjson"].split("\n")
    assert len(json.loads(second)["triples"]) == len(set(ntriples_lines(stated)))
    assert set(json.loads(first)["bindings"]) == {variable for variable, _ in bindings}
    for line in json.loads(second)["triples"]:
        assert len(read_again(line, ox.RdfFormat.N_TRIPLES)) == 1

    batch = pa.ipc.open_stream(written["arrow"].encode(errors="surrogateescape")).read_all()
    assert len(batch["triples"].to_pylist()[1]) == len(set(ntriples_lines(stated)))
    assert [len(taken[0][1]) for taken in batch["events"].to_pylist()] == [2, 1]

    header, *records = csv.reader(io.StringIO(written["csv"], newline=""))
    assert [len(record) for record in records] == [len(header)] * 2

    lines = written["table"].split("\n")
    assert len(lines) == 5 and lines[-1] == ""
    assert visible(written["table"]) == written["table"]
    assert not {unicodedata.category(character) for line in lines for character in line} & {"Cc", "Zl", "Zp", "Cs"}


def constructed(text: str, data: str, tmp_path: Path, **kb: str) -> Iterator[Row]:
    (tmp_path / "s.nq").write_text(EVENT + data, encoding="utf-8")
    return spaseq.run(spaseq.parse(text), {"S": tmp_path / "s.nq"}, **kb)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "computed",
    [
        "IRI(?v)",
        "URI(?v)",
        "STRDT('1', IRI(?v))",
        "IRI(CONCAT('http://x/', ?v))",
        "STRLANG('a', ?v)",
        "STRDT('a', URI(?v))",
    ],
)
def test_what_is_computed_from_a_literal_is_a_term_or_nothing(computed: str, tmp_path: Path) -> None:
    text = f"""PREFIX : <{EX}> CONSTRUCT {{ :m :p ?i . :m :q ?v }} WITHIN 5 SECONDS FROM STREAM S <urn:s>
        {{ SEQ(A) DEFINE GPM A ON S {{ ?s :v ?v BIND({computed} AS ?i) }} }}"""
    (row,) = constructed(text, f'<urn:a> <{EX}v> "{FORGERY}" <urn:e> .\n', tmp_path)
    assert row.triples == ((IRI(EX + "m"), IRI(EX + "q"), Literal(FORGERY)),)
    assert "<http://forged/s>" not in json.loads(to_json(row))["triples"][0].replace(FORGERY, "")


@pytest.mark.parametrize(
    "text", ["", "a b", "relative", "//host/p", "http://x/<", "http://x/\ue000", "http://[x/", "x:\u0001"]
)
def test_iri_of_what_is_none_is_an_error(text: str) -> None:
    with pytest.raises(ExpressionError):
        iri(Literal(text))


HOSTILE_ANSWERS = [
    {"type": "uri", "value": FORGERY},
    {"type": "uri", "value": "no scheme"},
    {"type": "literal", "value": "a", "datatype": FORGERY},
    {"type": "typed-literal", "value": "a", "datatype": "x"},
    {"type": "literal", "value": "a", "xml:lang": "en . <urn:s> <urn:p> <urn:o>"},
]


@pytest.mark.parametrize("value", HOSTILE_ANSWERS)
def test_an_answer_with_what_is_no_term_is_a_failed_answer(value: dict[str, str], tmp_path: Path) -> None:
    said = json.dumps(
        {"head": {"vars": ["x", "y"]}, "results": {"bindings": [{"x": {"type": "uri", "value": "urn:a"}, "y": value}]}}
    )
    with pytest.raises(ValueError, match=r"^not (a|the)"):
        ResultReader(["x", "y"]).decode(said.encode(), "s")


def test_a_failed_answer_is_never_joined(tmp_path: Path) -> None:
    text = f"""PREFIX : <{EX}> SELECT ?w WITHIN 5 SECONDS FROM STREAM S <urn:s> FROM NAMED KB <urn:kb>
        {{ SEQ(A) DEFINE GPM A ON S {{ ?s :v ?v GRAPH <urn:kb> {{ ?s :w ?w }} }} }}"""
    (tmp_path / "s.nq").write_text(f'{EVENT}<urn:a> <{EX}v> "x" <urn:e> .\n')

    def answer(variables: list[str]) -> object:
        row = dict(zip(variables, ({"type": "uri", "value": "urn:a"}, HOSTILE_ANSWERS[0]), strict=True))
        return {"head": {"vars": variables}, "results": {"bindings": [row]}}

    with Impostor(answer) as endpoint:
        source = Source(endpoint.url, "skip")
        job = spaseq.Job([spaseq.parse(text)], {"S": str(tmp_path / "s.nq")}, {"urn:kb": source})
        with contextlib.closing(job):
            assert [row for rows in job.rows() for row in rows] == []
            assert job.statistics.skipped_rows == {"urn:kb": 1}


def test_the_label_of_an_endpoints_blank_node_stays_one_label() -> None:
    binding = {"x": {"type": "bnode", "value": "b . <urn:s> <urn:p> <urn:o>"}}
    said = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": [binding]}})
    ((node,),) = ResultReader(["x"]).decode(said.encode(), "s")
    assert node is not None
    (read,) = ox.parse(f"<urn:s> <urn:p> {to_ntriples(node)} .".encode(), ox.RdfFormat.N_TRIPLES)
    assert isinstance(read.object, ox.BlankNode)


@pytest.mark.parametrize(
    "term",
    [rdflib.URIRef(FORGERY), rdflib.URIRef("relative"), IRI(FORGERY), Literal("a", FORGERY), Literal("\ud800"),
     Literal("a", RDF_LANG_STRING, "no tag"), Literal("a", XSD + "int", "en"), Literal(1), IRI(1),
     rdflib.Literal("\ud800")],
)  # fmt: skip
def test_pushed_terms_that_are_no_rdf_are_refused(term: object) -> None:
    engine = spaseq.Engine()
    engine.register(query("SELECT ?v"))
    with pytest.raises(InputError, match="cannot read the event's graph"):
        engine.push("S", [(IRI("urn:a"), IRI(EX + "v"), term)], 0)


@given(st.lists(texts, min_size=3, max_size=4))
@example(["_:_", "_:_", "_:_"])
def test_a_row_of_cells_is_one_statement_or_malformed(cells: list[str]) -> None:
    """Malformed is what shows the cells as JSON, and terms that can be no statement."""
    line = quad_line(*cells)
    assert line.count("\n") == 1 and "\r" not in line
    try:
        assert len(list(ox.parse(line.encode(), ox.RdfFormat.N_QUADS))) == 1
    except SyntaxError:
        bracketed = [cell if cell.startswith(("<", '"', "_")) else f"<{cell}>" for cell in cells]
        assert line == " ".join((*bracketed, ".\n")) or json.loads(line) == cells


@pytest.mark.parametrize("cell", ["graph", "subject", "predicate", "object"])
def test_a_cell_of_an_arrow_table_cannot_state_another_triple(cell: str, tmp_path: Path) -> None:
    row = {"graph": "urn:e", "subject": "urn:a", "predicate": EX + "v", "object": '"1"'}
    row[cell] = f"{row[cell]}> <urn:p> <urn:o> .\n<urn:forged> <{EX}v> <urn:o"
    table = pa.table({name: [value] for name, value in row.items()} | {"time": [datetime(2026, 1, 1, tzinfo=UTC)]})
    found: list[Row] = []
    with spaseq.Engine() as engine:
        engine.register(query("SELECT ?s"), found.append)
        engine.push_batch("S", table)
    assert found == []
    assert sum(engine.statistics.dead_letters.values()) >= 1


ESCAPES = "\x1b]0;owned\x07\x9b31m\u202eevil\u2066"


def test_the_text_of_a_query_in_an_error_drives_no_terminal(tmp_path: Path) -> None:
    text = f"""SELECT * WITHIN 5 SECONDS FROM STREAM S <urn:s>
        {{ SEQ(A) DEFINE GPM A ON S {{ ?s ?p '{ESCAPES}' . ?x {ESCAPES} }} }}"""
    (tmp_path / f"q{ESCAPES.replace('/', '')}.rq").write_text(text)
    path = next(tmp_path.glob("q*.rq"))
    for command in (["validate", path], ["explain", path], ["run", path, "--stream", f"S={ESCAPES}"]):
        result = CliRunner().invoke(main, [str(part) for part in command])
        assert result.exit_code == 2
        assert "\ufffd" in result.stderr
        assert visible(result.stderr) == result.stderr
    with pytest.raises(spaseq.QueryError) as caught:
        spaseq.parse(text)
    assert visible(str(caught.value)) == str(caught.value)


def test_explain_in_words_drives_no_terminal(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(
        f"SELECT * WITHIN 5 SECONDS FROM STREAM S <urn:s> {{ SEQ(A) DEFINE GPM A ON S {{ ?s ?p '{ESCAPES}' }} }}"
    )
    for kind in ("text", "dot", "mermaid"):
        result = CliRunner().invoke(main, ["explain", str(tmp_path / "q.rq"), "--format", kind])
        assert result.exit_code == 0, result.stderr
        assert visible(result.stdout) == result.stdout
