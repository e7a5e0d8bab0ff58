"""Labels of blank nodes of knowledge bases, which a written state holds."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from kb.local import load_graph
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.parse import parse_group
from sparql_gpm.terms import to_ntriples

DB = "http://kb.example/db"
TEXTS = {
    "kb.ttl": "@prefix : <http://x/> . [ :name 'a' ; :in [ :name 'b' ] ] . _:b0 :name 'c' . "
    ":s :says <<( _:t :in _:b0 )>> .",
    "kb.nt": '_:b <http://x/name> "a" .\n_:a <http://x/in> _:b .\n',
    "kb.jsonld": '{"http://x/name": "a", "http://x/in": {"http://x/name": "b"}}',
    "kb.rdf": '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://x/"><r:Description>'
    "<in><r:Description><name>a</name></r:Description></in></r:Description></r:RDF>",
}


def triples(path: Path, iri: str = DB, *groups: str) -> set[str]:
    """The triples of a file, or those that some patterns can use."""
    dictionary = Dictionary()
    usable = [parse_group(group, {"": "http://x/"}, None).pattern for group in groups] or None
    batch = load_graph(path, iri, dictionary, usable=usable)
    rows = zip(*(column.tolist() for column in (batch.subjects, batch.predicates, batch.objects)), strict=True)
    return {" ".join(to_ntriples(dictionary.term(i)) for i in row) for row in rows}


@pytest.mark.parametrize("name", TEXTS)
def test_they_are_the_same_however_often_and_for_whatever_patterns_the_file_is_read(tmp_path: Path, name: str) -> None:
    (path := tmp_path / name).write_text(TEXTS[name])
    known = triples(path)
    assert "_:" in " ".join(known)
    assert triples(path) == known
    assert triples(path, DB, "?x :in ?y") == {triple for triple in known if "<http://x/in>" in triple.split(" ", 2)[1]}


@pytest.mark.parametrize("name", TEXTS)
def test_another_knowledge_base_another_content_and_another_file_have_others(tmp_path: Path, name: str) -> None:
    def labels(path: Path, iri: str = DB) -> set[str]:
        return {word for triple in triples(path, iri) for word in triple.split() if word.startswith("_:")}

    (path := tmp_path / name).write_text(TEXTS[name])
    known = labels(path)
    assert known.isdisjoint(labels(path, DB + "2"))
    path.write_text(TEXTS[name] + "\n")
    assert known.isdisjoint(labels(path))
    (tmp_path / f"2{name}").write_text(TEXTS[name] + "\n")
    assert len(labels(tmp_path)) == 2 * len(known)


def test_a_packed_file_has_labels_too(tmp_path: Path) -> None:
    (path := tmp_path / "kb.ttl.gz").write_bytes(gzip.compress(TEXTS["kb.ttl"].encode(), mtime=0))
    assert triples(path) == triples(path)


def test_a_pipe_which_cannot_be_read_twice_is_read(tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "kb.nt")
    writer = threading.Thread(target=path.write_text, args=(TEXTS["kb.nt"],))
    writer.start()
    assert len(triples(path)) == 2
    writer.join()
