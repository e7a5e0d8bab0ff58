"""`%%spaseq`: inputs from variables, the answer, and what is wrong, in one line."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from warnings import catch_warnings, simplefilter

import pyarrow as pa
import pyoxigraph as ox
import pytest
import rdflib
from IPython.core.error import UsageError

import spaseq
from spaseq.notebook.answer import Answer
from spaseq.notebook.magic import run_cell

QUERY = """
PREFIX : <http://x/>
SELECT ?sensor ?low ?high
WITHIN 1 HOUR SLIDING
FROM STREAM S <http://x/s>
{ SEQ(Cold ; Hot)
  DEFINE GPM Cold ON S { ?sensor :temp ?low  FILTER (?low < 10) }
  DEFINE GPM Hot  ON S { ?sensor :temp ?high FILTER (?high > 30) } }"""
KNOWING = QUERY.replace("FILTER (?high > 30)", "FILTER (?high > 30) GRAPH <http://x/kb> { ?sensor :in ?room }")
PREFIXES = (
    "@prefix : <http://x/> . @prefix prov: <http://www.w3.org/ns/prov#> . "
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
)
EVENTS = PREFIXES + (
    ':e2 prov:generatedAtTime "2026-01-01T00:10:00Z"^^xsd:dateTime . :e2 { :s1 :temp 35.50 } '
    ':e1 prov:generatedAtTime "2026-01-01T00:00:00Z"^^xsd:dateTime . :e1 { :s1 :temp 5 } '
)
TABLE = pa.table(
    {"time": ["2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z"], "sensor": ["s1", "s1"], "temp": [5.0, 35.5]}
)
TEMPLATE = PREFIXES + ('\n<http://x/{sensor}> prov:generatedAtTime "{time}"^^xsd:dateTime ; :temp ?temp .\n')


def answer(line: str, query: str = QUERY, **variables: Any) -> Any:
    """The answer of a cell in a notebook with these variables."""
    return run_cell(SimpleNamespace(user_ns=variables), line, query)


def wrong(line: str, query: str = QUERY, **variables: Any) -> str:
    """The error of a cell."""
    with pytest.raises(UsageError) as raised:
        answer(line, query, **variables)
    assert raised.value.__cause__ is None and raised.value.__suppress_context__
    return str(raised.value)


def rdflib_dataset(text: str = EVENTS) -> rdflib.Dataset:
    dataset = rdflib.Dataset()
    with catch_warnings():
        simplefilter("ignore", DeprecationWarning)  # rdflib's parser uses what rdflib advises against
        dataset.parse(data=text, format="trig")
    return dataset


def oxigraph_dataset() -> ox.Dataset:
    return ox.Dataset(ox.parse(EVENTS, ox.RdfFormat.TRIG))


def rdflib_store() -> Any:
    return rdflib_dataset().store


def oxigraph_store() -> ox.Store:
    store = ox.Store()
    store.extend(ox.parse(EVENTS.replace("35.50", "36"), ox.RdfFormat.TRIG))  # it would rewrite 35.50
    return store


def test_a_store_of_pyoxigraph_is_a_dataset() -> None:
    (row,) = answer("--stream S=events", events=oxigraph_store())
    assert row["high"].lexical == "36"


@pytest.mark.parametrize("make", [rdflib_dataset, rdflib_store, oxigraph_dataset])
def test_a_dataset_in_any_order_gives_the_rows_of_its_file(make: Any, tmp_path: Path) -> None:
    file = tmp_path / "events.trig"
    file.write_text(EVENTS, encoding="utf-8")
    expected = list(spaseq.run(spaseq.parse(QUERY), streams={"S": file}, unordered=True))
    found = answer("--stream S=events", events=make())
    assert len(expected) == 1
    assert list(found) == expected == list(answer(f"--stream S={file} --unordered"))
    assert found[0]["high"].lexical == "35.50"


def test_paths_tables_and_templates_are_variables_too(tmp_path: Path) -> None:
    file = tmp_path / "template.trig"
    file.write_text(TEMPLATE, encoding="utf-8")
    for line, given in (
        ("--template template", TEMPLATE),
        ("--template S=template", TEMPLATE),
        ("--template template", file),
        (f"--template {file}", None),
    ):
        found = answer(f"--stream S=table {line}", table=TABLE, template=given)
        assert [(row["low"].lexical, row["high"].lexical) for row in found] == [("5.0", "35.5")], line


@pytest.mark.parametrize("options", ["", "--input-format csv", "--input-format S=csv"])
def test_a_dataset_stands_beside_a_table_whatever_its_format(options: str, tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    file.write_text("time,sensor,temp\n2026-01-01T00:00:00Z,s1,5.0\n", encoding="utf-8")
    query = QUERY.replace("<http://x/s>", "<http://x/s> FROM STREAM T <http://x/t>").replace("Hot  ON S", "Hot  ON T")
    given = {"cells": file, "events": rdflib_dataset(), "template": TEMPLATE}
    (row,) = answer(f"--stream S=cells --stream T=events --template template {options}", query, **given)
    assert (row["low"].lexical, row["high"].lexical) == ("5.0", "35.50")


def test_a_graph_is_a_knowledge_base_and_so_is_a_path(tmp_path: Path) -> None:
    text = "@prefix : <http://x/> . :s1 :in :kitchen ."
    file = tmp_path / "kb.ttl"
    file.write_text(text, encoding="utf-8")
    graph = rdflib.Graph().parse(data=text, format="turtle")
    query = KNOWING.replace("?high\n", "?high ?room\n")
    for kb in (graph, file, str(file)):
        (row,) = answer("--stream S=events --kb http://x/kb=kb", query, events=rdflib_dataset(), kb=kb)
        assert row["room"].value == "http://x/kitchen"


def test_o_names_the_variable_of_the_answer_and_the_query() -> None:
    shell = SimpleNamespace(user_ns={"events": rdflib_dataset()})
    found = run_cell(shell, "--stream S=events -o hot --analyze", QUERY)
    assert shell.user_ns["hot"] is found and found.query.name == "hot"
    assert found.funnel.rows == 1
    drawn = run_cell(shell, "--draw -o query", QUERY)
    assert shell.user_ns["query"] is drawn
    assert list(Answer(drawn, found)) == list(found)


def test_rows_beyond_the_limit_are_counted_and_said() -> None:
    text = EVENTS.replace(":e2 { :s1 :temp 35.50 }", ":e2 { :s1 :temp 35.50 , 36 , 37 }")
    found = answer("--stream S=events --limit 2", events=rdflib_dataset(text))
    assert (len(found), found.more) == (2, 1)
    assert "3 rows, of which the first 2 are kept" in repr(found) and "the first 2 are kept" in found._repr_html_()


def test_an_answer_is_a_table_of_arrow() -> None:
    found = answer("--stream S=events", events=rdflib_dataset())
    assert found.to_arrow().column_names == ["time", "start", "sensor", "low", "high", "events"]
    assert found.to_polars().height == len(found.to_pandas()) == 1


def test_zero_rows_come_with_their_reasons() -> None:
    found = answer("--stream S=events", QUERY.replace("> 30", "> 300"), events=rdflib_dataset())
    assert found.reasons and "Hot" in "".join(found.reasons)
    assert "<pre>" in found._repr_html_()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "has no input"),
        ("--stream S=nothing", "no variable nothing"),
        ("--stream S=number", "is no input, but a value of type int"),
        ("--stream S=-", "no standard input"),
        ("--stream S=graph", "graph has no named graph"),
        ("--stream S=table", "template"),
        ("--stream S=/nowhere/at/all.nq", "cannot read"),
        ("--stream S=dataset -o 3", "no name of a variable"),
        ("--stream S=dataset -o class", "no name of a variable"),
        ("--stream 'S=dataset", "No closing quotation"),
        ("--stream S=dataset --wrong", "No such option"),
        ("--stream S=dataset --max-delay soon", "soon"),
        ("--stream S=dataset --kb-failure sometimes --kb http://x/kb=number", "is no input"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(line: str, words: str) -> None:
    given = {"number": 3, "graph": rdflib.Graph(), "table": TABLE, "dataset": rdflib_dataset()}
    assert words in wrong(line, **given)


def test_a_wrong_query_is_shown_with_its_place() -> None:
    message = wrong("--stream S=dataset", QUERY.replace("SEQ(Cold", "SEQ(Cld"), dataset=rdflib_dataset())
    assert "error[SQ018]" in message and "^^^" in message


def test_help_shows_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer("--help") is None
    assert "--stream NAME=PATH" in capsys.readouterr().out
