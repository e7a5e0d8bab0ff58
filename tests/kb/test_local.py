"""Reading knowledge bases from files."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb import local
from kb.errors import KnowledgeBaseError
from kb.loaded import Loaded
from kb.local import files_of, load_graph
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.reading import strict
from sparql_gpm.terms import XSD, BlankNode, Literal, to_ntriples
from tests.drawn import drawn

IRI = "http://kb.example/db"
S, P = "<http://x/s>", "<http://x/p>"
TRIPLE = f'{S} {P} "14.0"^^<{XSD}double>'
TEXTS = {
    "kb.ttl": f"@prefix : <http://x/> . {S} :p '14.0'^^<{XSD}double> .",
    "kb.nt": TRIPLE + " .\n",
    "kb.nq": TRIPLE + " <http://x/graph> .\n" + TRIPLE + " .\n",
    "kb.trig": f"<http://x/graph> {{ {TRIPLE} }} {TRIPLE} .",
    "kb.rdf": '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://x/"><r:Description '
    f'r:about="http://x/s"><p r:datatype="{XSD}double">14.0</p></r:Description></r:RDF>',
    "kb.jsonld": f'{{"@id": "http://x/s", "http://x/p": {{"@value": "14.0", "@type": "{XSD}double"}}}}',
}


def triples(source: str | Path, dictionary: Dictionary | None = None) -> list[str]:
    dictionary = dictionary or Dictionary()
    batch = load_graph(source, IRI, dictionary)
    assert len(batch) == 1
    columns = (batch.subjects, batch.predicates, batch.objects)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return sorted(" ".join(to_ntriples(dictionary.term(i)) for i in row) for row in rows)


def error_of(source: str | Path) -> KnowledgeBaseError:
    with pytest.raises(KnowledgeBaseError) as caught:
        triples(source)
    return caught.value


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def _write(name: str, text: str) -> Path:
        path = tmp_path / name
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return _write


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_every_format_gives_the_same_triple_once_with_its_lexical_form(
    name: str, suffix: str, write: Callable[[str, str], Path]
) -> None:
    assert triples(write(name + suffix, TEXTS[name])) == [TRIPLE]


def test_a_directory_is_read_file_by_file_and_other_files_are_left_alone(
    tmp_path: Path, write: Callable[[str, str], Path]
) -> None:
    write("a.nt", f"{S} {P} <http://x/1> .")
    write("b.ttl.gz", f"{S} {P} <http://x/2> .")
    write("README.md", "not RDF")
    for hidden in (".c.nt", "._a.nt", ".d.ttl.gz"):
        write(hidden, "what an editor or a file server left")
    assert triples(tmp_path) == [f"{S} {P} <http://x/{i}>" for i in (1, 2)]


def test_a_glob_names_files(tmp_path: Path, write: Callable[[str, str], Path]) -> None:
    for i in (1, 2, 3):
        write(f"part{i}.nt", f"{S} {P} <http://x/{i}> .")
    write("other.nt", f"{S} {P} <http://x/4> .")
    assert len(triples(str(tmp_path / "part*.nt"))) == 3


def test_a_blank_node_is_local_to_its_file(tmp_path: Path, write: Callable[[str, str], Path]) -> None:
    write("a.nt", f"_:b {P} {S} .\n_:b {P} {P} .")
    write("b.nt", f"_:b {P} {S} .")
    dictionary = Dictionary()
    batch = load_graph(tmp_path, IRI, dictionary)
    labels = {dictionary.term(i) for i in batch.subjects.tolist()}
    assert len(labels) == 2
    assert all(isinstance(label, BlankNode) for label in labels)


def test_terms_stay_when_the_dictionary_forgets_as_long_as_the_knowledge_base_is_there(
    write: Callable[[str, str], Path],
) -> None:
    dictionary = Dictionary()
    graph = load_graph(write("kb.nt", TEXTS["kb.nt"]), IRI, dictionary)
    knowledge = Loaded(lambda: graph, dictionary, ExpressionEvaluator(dictionary))
    assert dictionary.retain([]) == 0
    assert dictionary.find(Literal("14.0", XSD + "double"))
    del knowledge
    assert dictionary.retain([]) == 3
    assert not dictionary.find(Literal("14.0", XSD + "double"))


def test_relative_names_belong_to_the_knowledge_base(write: Callable[[str, str], Path]) -> None:
    assert triples(write("kb.ttl", "<s> <#p> <> .")) == [f"<http://kb.example/s> <{IRI}#p> <{IRI}>"]


def test_language_tags_are_folded(write: Callable[[str, str], Path]) -> None:
    assert triples(write("kb.ttl", f'{S} {P} "x"@EN-gb .')) == [f'{S} {P} "x"@en-gb']


def test_a_syntax_error_names_file_line_and_column(write: Callable[[str, str], Path]) -> None:
    path = write("kb.ttl", f"{S} {P} {S} .\n{S} {P} oops .\n")
    error = error_of(path)
    assert (error.source, error.line) == (str(path), 2)
    assert error.column > 0
    assert str(error).startswith(f"{path}:2:{error.column}: ")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("missing.ttl", "No such file"),
        ("none*.ttl", "no file matches"),
        ("kb.csv", "unknown suffix '.csv'"),
        (".", "no RDF file"),
    ],
)
def test_what_cannot_be_found_is_named_with_a_way_out(tmp_path: Path, name: str, part: str) -> None:
    error = error_of(str(tmp_path / name))
    assert part in error.message
    assert str(tmp_path) in error.source
    assert error.hint


def test_a_damaged_gzip_file_is_an_error(tmp_path: Path) -> None:
    whole = gzip.compress(TEXTS["kb.nt"].encode() * 50)
    (tmp_path / "cut.nt.gz").write_bytes(whole[:-20])
    (tmp_path / "plain.nt.gz").write_bytes(TEXTS["kb.nt"].encode())
    assert "damaged gzip" in error_of(tmp_path / "cut.nt.gz").message
    assert "damaged gzip" in error_of(tmp_path / "plain.nt.gz").message


def test_nothing_opens_a_connection(write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    error = error_of(write("kb.jsonld", '{"@context": "http://127.0.0.1:9/context.jsonld", "name": "x"}'))
    assert "never fetched" in error.message
    entity = '<!DOCTYPE r [<!ENTITY e SYSTEM "http://127.0.0.1:9/e">]>' + TEXTS["kb.rdf"].replace("14.0", "&e;")
    error_of(write("kb.rdf", entity))


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_annotations_and_triple_terms_of_json_ld_are_refused_at_the_first_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, packed: str
) -> None:
    monkeypatch.setattr(strict, "_PIECE_BYTES", piece)
    path = tmp_path / f"kb.jsonld{packed}"
    for star in ('"@annotation" : {}', '"@id": \n{"@id": "urn:a"}', '"@triple":1'):
        text = f'{{"@id": "urn:a",\n"urn:p": "\\"@triple\\": @id", "urn:q": [{{{star}, {star}}}]}}'.encode()
        path.write_bytes(gzip.compress(text) if packed else text)
        error = error_of(path)
        assert ("JSON-LD-star" in error.message, (error.line, error.column)) == (True, (2, 41))
    text = b'{"@id": "urn:a", "urn:p": ["@annotation", "@triple"]}'
    path.write_bytes(gzip.compress(text) if packed else text)
    assert len(load_graph(path, "urn:db", Dictionary()).subjects) == 2


def test_terms_of_rdf_1_2_are_read_and_blank_nodes_in_them_belong_to_their_file(
    write: Callable[[str, str], Path],
) -> None:
    text = f'{S} {P} <<( _:b {P} "x"@en--ltr )>> , _:b .'
    texts = {"a.ttl": text, "b.ttl": text + "\n"}
    first, second = ([line.split(" ", 2)[2] for line in triples(write(*each))] for each in texts.items())
    triple_term, node = first
    assert triple_term == f'<<( {node} {P} "x"@en--ltr )>>'
    assert not {*first} & {*second}


@pytest.mark.parametrize("suffix", [".nt", ".nq"])
@settings(max_examples=drawn(40), deadline=None)
@given(
    lines=st.lists(st.sampled_from(['VERSION "1.2"', "VERSION '1.1' # b", '<urn:s> <urn:p> "VERSION" .', "# x"])),
    end=st.sampled_from(["\n", "\r\n"]),
    is_ended=st.booleans(),
    piece=st.integers(1, 40),
)
def test_a_version_may_be_said_on_any_line(suffix: str, lines: list[str], end: str, is_ended: bool, piece: int) -> None:
    with TemporaryDirectory() as folder, mock.patch.object(local, "_PIECE_BYTES", piece):
        path = Path(folder) / f"kb{suffix}"
        path.write_bytes((end.join(lines) + end * is_ended).encode())
        graph = load_graph(path, "urn:kb", Dictionary())
    assert len(graph.subjects) == any(line.startswith("<") for line in lines)


def test_one_path_is_one_file(tmp_path: Path) -> None:
    assert files_of(str(tmp_path / "kb.ttl")) == (tmp_path / "kb.ttl",)
