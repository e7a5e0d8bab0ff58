"""Rows of tables whose triples are never made give what the same events give as N-Quads."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import spaseq
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.matching.regular_view import RegularView
from sparql_gpm.numbered_names import NumberedNames
from sparql_gpm.pattern import BGP, TermParts, Triple, Variable
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions
from sparql_gpm.reading.closed_graphs import ClosedGraphs
from sparql_gpm.regular_batch import RegularBatch
from sparql_gpm.terms import IRI
from spaseq.errors import RunError
from spaseq.inputs.reading import StreamFormat
from spaseq.inputs.streams import open_stream
from spaseq.inputs.tables import events, json_lines
from spaseq.inputs.tables.template import parse_template
from tests.inputs.test_tables import spaseq_command

HEAD = """@prefix : <http://ex.org/> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
SUBJECTS = ("[]", "<http://ex.org/t/{id}>", ":it", "<http://ex.org/s/{name}>", "<{link}>")
OBJECTS = (
    ':kind "{kind}"', ':name "{name}"@en', ":price ?price", ":of <http://ex.org/s/{name}>", ':year "{year}"^^xsd:gYear',
    ":number ?number", "a :Trade", ":to <{link}>", ':both "{kind} {name}"', ":kind2 <http://ex.org/{kind}>",
    ':joint "{kind}{name}{number}"', ":kind3 <http://ex.org/{kind}/{number}>",
)  # fmt: skip
PATTERNS = (
    '{ ?s :kind "A" ; :price ?p }', "{ ?s a :Trade ; :kind ?k ; :number ?p FILTER (?p > 3) }",
    "{ [] :price ?p ; :name ?n FILTER (?p != 2) }", "{ ?s :number ?p OPTIONAL { ?s :price ?q } }",
    "{ ?s :of ?p . ?s ?any ?o }", "{ ?s :kind2 <http://ex.org/A> ; :number ?p }", "{ ?s :to ?p }",
    "{ ?p :kind ?p }", "{ ?s :price ?p ; :number ?p }", "{ :it :price ?p ; :kind 'B' }", '{ ?p :name "acme"@en }',
    "{ SELECT ?k (COUNT(*) AS ?p) { ?s :kind ?k ; :price ?x } GROUP BY ?k }", "{ ?s :price|:number ?p }",
    "{ ?s :kind 'A' . ?t :number ?p FILTER EXISTS { ?t :price ?q } }", "{ ?s :missing ?p }",
    "{ ?s :joint ?p ; :number ?n }", "{ ?s :kind3 <http://ex.org/A/4> ; :both ?p }", '{ ?p :both "A acme" }',
)  # fmt: skip


def a_template(draw: random.Random) -> str:
    graph = draw.choice(("", "", "<http://ex.org/e/{id}>", "<http://ex.org/e/{name}/{id}>", "<http://ex.org/{key}>"))
    time = draw.choice(('"{time}"^^xsd:integer', "?time", "?when", '"{when}"^^xsd:dateTime'))
    several = draw.random() < 0.2
    triples = draw.sample(OBJECTS, draw.randrange(1, len(OBJECTS)))
    subject = draw.choice(SUBJECTS)
    about = [f"{draw.choice(SUBJECTS) if several else subject} {each} ." for each in triples]
    if several:
        about.append(f"{subject} :price ?number .")
    if not graph:
        return HEAD + "\n".join([*about, f"{subject} prov:generatedAtTime {time} ."])
    return HEAD + f"{graph} prov:generatedAtTime {time} .\n{graph} {{ {' '.join(about)} }}"


def a_table(draw: random.Random, rows: int) -> dict[str, list[object]]:
    plain = draw.random() < 0.7
    names = ("acme", "b-c", "d") if plain else ("acme", "Größe & Co", "a/b", "", "\ufdd0", "日本", 'q"u')
    links = ("urn:x", "http://ex.org/y") if plain or draw.random() < 0.5 else ("urn:x", "no iri", "")
    start = np.datetime64("2026-01-01T00:00:00")
    seconds = np.cumsum([draw.randrange(3) for _ in range(rows)]).tolist()
    ids = list(range(rows)) if draw.random() < 0.8 else [draw.randrange(rows) for _ in range(rows)]
    return {
        "id": ids, "key": [f"k{number:03}" for number in ids], "time": seconds,
        "when": [f"{start + second}Z" for second in seconds],
        "kind": [draw.choice("AB") for _ in range(rows)], "name": [draw.choice(names) for _ in range(rows)],
        "price": [draw.choice((1.5, 2.0, 7.25) if plain else (1.5, 2.0, None)) for _ in range(rows)],
        "number": [draw.choice((1, 3, 4, 9) if plain else (1, 4, None)) for _ in range(rows)],
        "year": [draw.choice(("2020", "2021")) for _ in range(rows)], "link": [draw.choice(links) for _ in range(rows)],
    }  # fmt: skip


def a_query(draw: random.Random) -> str:
    one, other = (draw.choice(PATTERNS).replace("?s", f"?s{n}").replace("?q", f"?q{n}") for n in range(2))
    joined = draw.random() < 0.3
    other = other if joined else other.replace("?p", "?r").replace("?k", "?k1").replace("?n", "?n1")
    return (
        f"PREFIX : <http://ex.org/> SELECT * WITHIN {draw.choice((3, 20))} SECONDS "
        f"FROM STREAM S1 <http://ex.org/s1> WHERE {{ SEQ(A{draw.choice(',;:')} B) "
        f"DEFINE GPM A ON S1 {one} DEFINE GPM B ON S1 {other} }}"
    )


def rows_of(query: str, path: Path, **how: object) -> list[str]:
    try:
        return sorted(unlabelled(str(row)) for row in spaseq.run(spaseq.parse(query), {"S1": str(path)}, **how))
    except RunError as error:
        return [str(error)]


def unlabelled(row: str) -> str:
    """A row whose blank nodes are numbered from 0 on."""
    known: dict[str, int] = {}
    return re.sub(r'"e\d+_', lambda found: f'"e{known.setdefault(found[0], len(known))}_', row)


def as_text(table: Mapping[str, list[object]], path: Path, quotes: bool) -> None:
    """The table as CSV, without quotes where it can do without."""
    style = "needed" if quotes or '"' in str(table["name"]) else "none"
    arrow_csv.write_csv(pa.table(dict(table)), path, arrow_csv.WriteOptions(quoting_style=style))


@pytest.mark.parametrize("seed", range(12))
def test_rows_of_tables_are_those_of_the_same_events_as_n_quads(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    template, table = a_template(draw), a_table(draw, draw.choice((40, 120)))
    files = [tmp_path / "t.csv", tmp_path / "t.parquet", tmp_path / "t.ndjson"]
    as_text(table, files[0], quotes=seed % 3 == 0)
    parquet.write_table(pa.table(table), files[1])
    lines = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    files[2].write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "rows.trig").write_text(template)
    how = {"template": str(tmp_path / "rows.trig")}
    query = a_query(draw)
    for file in files:
        quads = tmp_path / f"{file.name}.nq"
        with mock.patch.object(events, "is_regular", lambda template: False):
            spaseq_command("convert", file, "-o", quads, "--template", tmp_path / "rows.trig")
            if not quads.exists():
                continue
            expected = rows_of(query, file, **how)
        some = draw.choice((None, 7, 33))
        with mock.patch.multiple(json_lines, KERNEL_BYTES_MIN=0, BLOCK_BYTES_MIN=0):
            assert rows_of(query, file, batch_events=some, **how) == expected, (template, query)
        if "[]" not in template and "could be used" not in str(expected):
            quads.write_text(quads.read_text().replace("urn:spaseq:event:S:", "urn:spaseq:event:S1:"))
            assert rows_of(query, quads) == expected, (template, query)


def _refuse(*malformed: object) -> None:
    raise AssertionError(malformed)


def test_no_term_of_a_regular_table_gets_an_id_that_nobody_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,time,kind\n" + "".join(f"{n},{n},{'AB'[n % 2]}\n" for n in range(1000)))
    template = '<http://x/{id}> prov:generatedAtTime ?time . <http://x/{id}> { <http://x/{id}> :kind "{kind}" }'
    dictionary = Dictionary()
    how = StreamFormat(template=parse_template(HEAD + template, "t", (PROV_TIME,)))
    (batch,) = open_stream(str(path), "S", dictionary, _refuse, ReadOptions(), how)
    assert isinstance(batch.events, RegularBatch)
    assert isinstance(batch.events.names, NumberedNames)
    assert len(dictionary) == 1  # the predicate
    assert batch.events.triples[0].objects.distinct().tolist() == [2, 3]
    assert len(dictionary) == 3
    assert len(batch.events.subjects) == 1000
    assert len(dictionary) == 1003


def test_parts_of_regular_batches_have_the_triples_of_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time,kind,n\n" + "".join(f"{n},{'AB'[n % 2]},{n % 3 or ''}\n" for n in range(100)))
    template = HEAD + '[] prov:generatedAtTime ?time ; :k "{kind}" ; :n ?n .'
    how = StreamFormat(template=parse_template(template, "t", (PROV_TIME,)))
    dictionary = Dictionary()
    (found,) = open_stream(str(path), "S", dictionary, _refuse, ReadOptions(), how)
    batch = found.events
    assert isinstance(batch, RegularBatch)
    some = np.array([3, 5, 50, 99])
    plain = batch.whole
    joined = EventBatch.concatenate([batch.between(10, 20), batch.take(some), batch.between(0, 0)])
    assert isinstance(joined, RegularBatch)
    for lazy, made in (
        (batch.take(some), plain.take(some)),
        (batch.between(7, 60), plain.between(7, 60)),
        (batch.between(7, 60).take(some[:3]), plain.between(7, 60).take(some[:3])),
        (joined, EventBatch.concatenate([plain.between(10, 20), plain.take(some)])),
        (joined.between(8, 12), EventBatch.concatenate([plain.between(18, 20), plain.take(some[:2])])),
        (joined.take(np.array([0, 11])), plain.take(np.array([10, 5]))),
        (EventBatch.concatenate([joined, joined]).between(9, 15), joined.whole.take(np.array([9, *range(10, 14), 0]))),
    ):
        assert lazy.times.tolist() == made.times.tolist()
        assert list(lazy.names) == list(made.names)
        assert lazy.with_triples == made.with_triples
        assert [column.tolist() for column in (lazy.offsets, *lazy.terms)] == [
            column.tolist() for column in (made.offsets, *made.terms)
        ]


def test_no_cell_of_a_regular_table_is_a_triple_term(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time,k,n\n1,A,x\n2,B,y\n")
    template = HEAD + '<http://ex.org/s> prov:generatedAtTime ?time ; :k "{k}" ; :n <http://ex.org/{n}> .'
    how = StreamFormat(template=parse_template(template, "t", (PROV_TIME,)))
    dictionary = Dictionary()
    (found,) = open_stream(str(path), "S", dictionary, _refuse, ReadOptions(), how)
    assert isinstance(found.events, RegularBatch)
    subject, kind, inner = map(Variable, ("s", "k", "o"))
    for term in ("_:t", "s"):
        triples = (
            Triple(subject, IRI("http://ex.org/k"), kind),
            Triple(subject, IRI("http://ex.org/n"), Variable("_:t")),
        )
        pattern = BGP((*triples, TermParts(Variable(term), inner, IRI("http://ex.org/p"), kind)))
        matcher = compile_pattern(pattern, dictionary, ExpressionEvaluator(dictionary))
        assert not len(matcher.match(RegularView(found.events)))


def test_graphs_closed_in_ascending_order_are_those_closed_one_by_one() -> None:
    draw = random.Random(1)
    for _ in range(100):
        ascending, plain = ClosedGraphs(5), ClosedGraphs(5)
        for _ in range(draw.randrange(1, 8)):
            begin, count = draw.randrange(20), draw.randrange(1, 4)
            keys = [f"<u:{number}>".encode() for number in range(begin, begin + count)]
            if ascending.ascend(("u:", ""), np.arange(begin, begin + count)):
                assert not any(key in plain for key in keys)
            else:
                assert all((key in ascending) == (key in plain) for key in keys)
                for key in keys:
                    ascending.add(key)
            for key in keys:
                plain.add(key)
        assert list(ascending) == list(plain)


def test_cells_that_make_one_text_make_one_term(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time,a,b\n1,x,yz\n2,xy,z\n3,,z\n4,x,yz\n5,x,z\n")
    how = StreamFormat(
        template=parse_template(HEAD + '[] prov:generatedAtTime ?time ; :k "{a}{b}" .', "t", (PROV_TIME,))
    )
    dictionary = Dictionary()
    (found,) = open_stream(str(path), "S", dictionary, _refuse, ReadOptions(), how)
    assert isinstance(found.events, RegularBatch)
    terms = found.events.triples[-1].objects
    texts = [str(dictionary.term(each).lexical) if each else "" for each in terms.ids(np.arange(5)).tolist()]
    assert texts == ["xyz", "xyz", "", "xyz", "xz"]
    assert len(terms.distinct()) == 2 and terms.equal(int(terms.ids(np.array([1]))[0])).tolist() == [1, 1, 0, 1, 0]
