"""Rows that are columns: every format writes them as it writes the same rows one by one."""

from __future__ import annotations

import pickle
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.matches.match_table import MatchTable
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, XSD, BlankNode, Literal, Term
from spaseq.errors import InputError
from spaseq.outputs import FORMATS, open_sink, parquet, row_table
from spaseq.outputs.ndjson import NdjsonLines
from spaseq.outputs.row_table import RowTable
from spaseq.outputs.rows import Row, to_json
from tests.outputs.test_sinks import CONSTRUCT, query

QUERIES = [query("SELECT ?house ?fare ?x"), query("SELECT ?fare ?x", "Q2"), CONSTRUCT]
STEPS = ("A", "B", "N")
TEXTS = st.text(st.one_of(st.sampled_from('ab,"\\ \r\n\té\x1b\ud800\udc00'), st.characters()), max_size=6)
TERMS: st.SearchStrategy[Term] = st.one_of(
    TEXTS.map(lambda text: Literal(text)),
    TEXTS.map(lambda text: Literal(text, XSD + "integer")),
    st.sampled_from([IRI("urn:a,b"), BlankNode("b0"), Literal("Straße", language="de"), Literal("", XSD + "string")]),
)
NAMES = st.sampled_from(["urn:e1", "urn:e2", "urn:a,b", "urn:ü", 'urn:"', "urn:\ud800"])
TIMES = st.integers(0, 3).map(lambda n: 1_767_225_610_000_000_000 + n * 250_000_000)


@st.composite
def tables(draw: st.DrawFn) -> RowTable:
    """A table with up to nine rows of some of the variables."""
    dictionary = Dictionary()
    ids = [0, *(dictionary.intern(term) for term in draw(st.lists(TERMS, min_size=1, max_size=6)))]
    rows = draw(st.integers(1, 9))
    variables = draw(st.lists(st.sampled_from(["house", "fare", "x"]), unique=True))
    columns = {name: _column(draw, st.sampled_from(ids), rows) for name in variables}
    word = draw(st.one_of(st.none(), st.lists(st.integers(0, 2), min_size=1, unique=True)))  # that of every match
    sizes = _column(draw, st.integers(1, 4), rows) if word is None else np.full(rows, len(word))
    entries = np.zeros((int(sizes.sum()), 3), dtype=np.int64)
    entries[:, 0] = _column(draw, st.integers(0, 2), len(entries)) if word is None else np.tile(word, rows)
    names = np.array(draw(st.lists(NAMES, min_size=1, max_size=4)), dtype=np.object_)
    named = _column(draw, st.integers(0, len(names) - 1), len(entries))
    facts = np.column_stack([_column(draw, TIMES, rows) for _ in range(5)])
    none = np.zeros((rows, 0), dtype=np.int64)
    matches = MatchTable(facts, none, none, entries, np.cumsum(sizes))
    return RowTable(draw(st.sampled_from(["Q1", "Q,2"])), STEPS, columns, matches, names, named, dictionary)


def _column(draw: st.DrawFn, values: st.SearchStrategy[int], count: int) -> np.ndarray[Any, Any]:
    return np.array(draw(st.lists(values, min_size=count, max_size=count)), dtype=np.int64)


@pytest.mark.parametrize("format", FORMATS)
@settings(deadline=None, derandomize=True, max_examples=20)
@given(st.lists(tables(), min_size=1, max_size=2), st.sampled_from([1, 2, 7, 1000]))
def test_a_table_is_written_as_its_rows_are(
    tmp_path_factory: pytest.TempPathFactory, format: str, found: list[RowTable], size: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    as_tables, as_rows = (folder / f"{name}.{format}" for name in ("tables", "rows"))
    with patch.object(row_table, "ROWS_MAX", size), patch.object(row_table, "ENTRIES_MAX", 2 * size):
        _write(format, as_tables, found)
        _write(format, as_rows, [part.rows() for table in found for part in table.parts()])
    assert _content(format, as_tables) == _content(format, as_rows)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(tables())
def test_lines_of_a_table_are_those_of_its_rows(table: RowTable) -> None:
    lines = NdjsonLines()
    expected = [to_json(row).encode("utf-8", "replace").decode() for row in table.rows()]
    assert lines.of(table) == lines.of(table) == expected


@settings(deadline=None, derandomize=True, max_examples=20)
@given(tables(), st.sampled_from([1, 2, 7]), st.integers(1, 9))
def test_parts_are_bounded_and_together_the_whole(table: RowTable, rows: int, entries: int) -> None:
    with patch.object(row_table, "ROWS_MAX", rows), patch.object(row_table, "ENTRIES_MAX", entries):
        parts = list(table.parts())
        assert list(table) == table.rows()
    assert [row for part in parts for row in part.rows()] == table.rows()
    assert all(0 < len(part) <= rows and (len(part) == 1 or len(part.named) <= entries) for part in parts)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(tables())
def test_a_view_is_the_row_that_it_shows(table: RowTable) -> None:
    rows, found = table.rows(), list(table)
    assert found == rows and rows == found and len(found) == len(rows)
    assert list(map(hash, found)) == list(map(hash, rows))
    assert list(map(repr, found)) == list(map(repr, rows))
    assert list(map(str, found)) == list(map(str, rows))
    assert list(map(copy, found)) == pickle.loads(pickle.dumps(found)) == rows
    assert [replace(view, time=7) for view in found] == [replace(row, time=7) for row in rows]
    for view, row in zip(found, rows, strict=True):
        bound = dict(row.bindings)
        assert {name: view[name] for name in bound} == bound
        for name in {"house", "fare", "x", "other"} - set(bound):
            with pytest.raises(KeyError, match=name):
                view[name]


def test_arrow_and_parquet_have_the_columns_of_the_interface(tmp_path: Path) -> None:
    house, fare = ("house", IRI("urn:h")), ("fare", Literal("2", XSD + "integer"))
    events = (("A", ("urn:e1",)), ("B", ("urn:e2", "urn:e3")))
    rows = [Row("Q1", 20_000_000_001, 10_000_000_000, (house, fare), events), Row("Q1", 2, 1, (house,), events[:1])]
    for format in ("arrow", "parquet"):
        sink = open_sink(format, tmp_path / format, [query()])
        sink.write(rows)
        sink.close()
        sink.close()
        found = _read(format, tmp_path / format)
        assert found.schema.names == ["time", "start", "house", "fare", "events"]
        assert found.schema.field("time").type == pa.timestamp("ns", tz="UTC")
        assert found.schema.field("house").type == pa.dictionary(pa.int32(), pa.string())
        assert found["time"].cast(pa.int64()).to_pylist() == [20_000_000_001, 2]
        assert found["fare"].to_pylist() == ['"2"^^<http://www.w3.org/2001/XMLSchema#integer>', None]
        assert found["house"].to_pylist() == ["<urn:h>", "<urn:h>"]
        assert found["events"].to_pylist() == [[("A", ["urn:e1"]), ("B", ["urn:e2", "urn:e3"])], [("A", ["urn:e1"])]]


def test_row_groups_are_bounded_and_a_file_without_rows_has_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 4)
    monkeypatch.setattr(row_table, "ROWS_MAX", 3)
    for count in (0, 14):
        sink = open_sink("parquet", tmp_path / "o", [query()])
        sink.write([Row("Q1", number, number) for number in range(count)])
        sink.close()
        file = pq.ParquetFile(tmp_path / "o")
        assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [6, 6, 2][: count and 3]
        assert file.schema_arrow.names == ["time", "start", "house", "fare", "events"]


def test_a_format_whose_package_is_missing_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "spaseq.outputs.parquet", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match="the format parquet needs the Python package pyarrow") as error:
        open_sink("parquet", None, [query()])
    assert error.value.hint == 'install it: pip install "spaseq[tables]"'


def _content(format: str, path: Path) -> Any:
    return _read(format, path).to_pylist() if format in ("arrow", "parquet") else path.read_bytes()


def _read(format: str, path: Path) -> pa.Table:
    return pq.read_table(path) if format == "parquet" else pa.ipc.open_stream(path.read_bytes()).read_all()


def _write(format: str, path: Path, found: list[Any]) -> None:
    sink = open_sink(format, path, QUERIES)
    for rows in found:
        sink.write(rows)
    sink.close()
