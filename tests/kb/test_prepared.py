"""Prepared files answer as the files that they were made from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import spaseq
from kb.errors import KnowledgeBaseError
from kb.prepared import Prepared
from kb.prepared_build import build
from kb.prepared_file import PreparedFile
from kb.prepared_terms import PreparedTerms
from kb.source import Source
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, RDF_LANG_STRING, XSD, BlankNode, Literal, to_ntriples
from tests.kb.test_endpoint import DB, GRAPH, PATTERNS, data, events, query

TERMS = [
    IRI("http://x/é"),
    Literal("14.0", XSD + "double"),
    Literal("14", XSD + "double"),
    Literal('a "b"\n\\n\r\t', XSD + "string"),
    Literal("x", RDF_LANG_STRING, "en-gb"),
    Literal(""),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "kb.nt").write_text(data())
    (folder / "events.nq").write_text(events(120))
    build([str(folder / "kb.nt")], folder / "kb.kb")
    return folder


def rows(folder: Path, body: str, source: str | Source, **options: int) -> list[str]:
    found = spaseq.run(query(body), {"S": folder / "events.nq"}, {DB: source}, **options)
    return sorted(map(repr, found))


@pytest.mark.parametrize("about", PATTERNS)
def test_a_prepared_file_answers_as_its_source_does(folder: Path, about: str) -> None:
    local = rows(folder, PATTERNS[about], str(folder / "kb.nt"))
    assert rows(folder, PATTERNS[about], str(folder / "kb.kb"), batch_events=32) == local


def test_a_prepared_file_answers_inside_exists_and_under_a_service(folder: Path) -> None:
    known = rows(folder, f"?s :reads ?v . {GRAPH} {{ ?s :in ?room }}", str(folder / "kb.nt"))
    assert known == rows(folder, f"?s :reads ?v . SERVICE <{DB}> {{ ?s :in ?room }}", str(folder / "kb.kb"))


def test_terms_are_found_again_with_their_lexical_forms(tmp_path: Path) -> None:
    lines = [f"<http://x/s> <http://x/p{n}> {to_ntriples(term)} ." for n, term in enumerate(TERMS)]
    (tmp_path / "kb.nt").write_text("\n".join([*lines, "_:b <http://x/p> _:c ."]) + "\n")
    triples, terms = build([str(tmp_path / "kb.nt")], tmp_path / "kb.kb")
    assert (triples, terms) == (7, len(TERMS) + 1 + len(TERMS) + 1 + 2)
    found = PreparedTerms(PreparedFile(tmp_path / "kb.kb"), DB)
    for term in TERMS:
        assert found.term(found.stored(term)) == term
    assert not found.stored(IRI("http://x/none"))
    blank = [found.term(i) for i in range(1, terms + 1) if isinstance(found.term(i), BlankNode)]
    assert len(blank) == 2
    assert all(found.term(found.stored(node)) == node for node in blank)
    extra = found.intern(IRI("http://x/none"))
    assert (found.find(IRI("http://x/none")), found.term(extra)) == (extra, IRI("http://x/none"))
    assert len(found.numbers) > extra
    assert found.numbers[found.stored(TERMS[1])] == found.numbers[found.stored(TERMS[2])] == 14


def test_the_blank_nodes_of_a_file_are_those_of_its_knowledge_base_and_content(tmp_path: Path) -> None:
    (tmp_path / "kb.nt").write_text("_:b <http://x/p> <http://x/o> .\n")
    build([str(tmp_path / "kb.nt")], tmp_path / "kb.kb")
    one, again = (PreparedTerms(PreparedFile(tmp_path / "kb.kb"), DB) for _ in range(2))
    other = PreparedTerms(PreparedFile(tmp_path / "kb.kb"), DB + "2")
    (blank,) = [one.term(i) for i in (1, 2, 3) if isinstance(one.term(i), BlankNode)]
    assert one.stored(blank) == again.stored(blank) != 0
    assert not other.stored(blank)
    (tmp_path / "kb.nt").write_text("_:b <http://x/p> <http://x/o2> .\n")
    build([str(tmp_path / "kb.nt")], tmp_path / "kb.kb")
    assert not PreparedTerms(PreparedFile(tmp_path / "kb.kb"), DB).stored(blank)


def test_several_files_make_one_graph_without_repeated_triples(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text("<http://x/1> <http://x/p> <http://x/2> .\n")
    (tmp_path / "b.ttl").write_text("@prefix : <http://x/> . :1 :p :2, :3 .")
    assert build([str(tmp_path / "a.nt"), str(tmp_path / "b.ttl")], tmp_path / "kb.kb")[0] == 2


def test_a_prepared_file_is_replaced_at_once(tmp_path: Path) -> None:
    (tmp_path / "kb.nt").write_text("<http://x/1> <http://x/p> <http://x/2> .\n")
    build([str(tmp_path / "kb.nt")], tmp_path / "kb.kb")
    old = PreparedFile(tmp_path / "kb.kb")
    (tmp_path / "kb.nt").write_text("<http://x/1> <http://x/p> <http://x/2>, <http://x/3> .\n")
    with pytest.raises(KnowledgeBaseError):
        build([str(tmp_path / "kb.nt")], tmp_path / "kb.kb")
    assert PreparedFile(tmp_path / "kb.kb")["subjects"].tolist() == old["subjects"].tolist()
    assert sorted(os.listdir(tmp_path)) == ["kb.kb", "kb.nt"]
    (tmp_path / "kb.nt").write_text("<http://x/1> <http://x/p> <http://x/3> .\n" * 2)
    build([str(tmp_path / "kb.nt")], tmp_path / "kb.kb")
    assert old["hashes"].tolist() != PreparedFile(tmp_path / "kb.kb")["hashes"].tolist()


@pytest.mark.parametrize("damage", ["cut", "other", "version", "short", "missing"])
def test_what_is_no_prepared_file_is_refused(tmp_path: Path, damage: str) -> None:
    (tmp_path / "kb.nt").write_text(data())
    path = tmp_path / "kb.kb"
    build([str(tmp_path / "kb.nt")], path)
    whole = path.read_bytes()
    damaged = {
        "cut": whole[: len(whole) // 2],
        "other": b"<http://x/1> <http://x/p> <http://x/3> .\n" * 5,
        "version": whole[:8] + b"\x09" + whole[9:],
        "short": b"SPASEQ",
    }
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(damaged[damage])
    with pytest.raises(KnowledgeBaseError) as caught:
        Prepared.opened(Source(str(path)), DB, Dictionary())
    assert str(path) in str(caught.value)
    assert caught.value.hint
