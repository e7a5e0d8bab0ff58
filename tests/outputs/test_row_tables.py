"""Rows that are columns: every format writes them as it writes the same rows one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.matches.match_table import MatchTable
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, XSD, BlankNode, Literal, Term
from spaseq.outputs import FORMATS, open_sink, row_table
from spaseq.outputs.row_table import RowTable
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
    sizes = _column(draw, st.integers(1, 4), rows)
    entries = np.zeros((int(sizes.sum()), 3), dtype=np.int64)
    entries[:, 0] = _column(draw, st.integers(0, 2), len(entries))
    names = np.array(draw(st.lists(NAMES, min_size=1, max_size=4)), dtype=np.object_)
    named = _column(draw, st.integers(0, len(names) - 1), len(entries))
    facts = np.column_stack([_column(draw, TIMES, rows) for _ in range(5)])
    none = np.zeros((rows, 0), dtype=np.int64)
    matches = MatchTable(facts, none, none, entries, np.cumsum(sizes))
    return RowTable(draw(st.sampled_from(["Q1", "Q,2"])), STEPS, columns, matches, names, named, dictionary)


def _column(draw: st.DrawFn, values: st.SearchStrategy[int], count: int) -> np.ndarray[Any, Any]:
    return np.array(draw(st.lists(values, min_size=count, max_size=count)), dtype=np.int64)


@pytest.mark.parametrize("format", FORMATS)
@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(tables(), min_size=1, max_size=2), st.sampled_from([1, 2, 7, 1000]))
def test_a_table_is_written_as_its_rows_are(
    tmp_path_factory: pytest.TempPathFactory, format: str, found: list[RowTable], size: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    as_tables, as_rows = (folder / f"{name}.{format}" for name in ("tables", "rows"))
    with patch.object(row_table, "ROWS_MAX", size), patch.object(row_table, "ENTRIES_MAX", 2 * size):
        _write(format, as_tables, found)
        _write(format, as_rows, [part.rows() for table in found for part in table.parts()])
    assert as_tables.read_bytes() == as_rows.read_bytes()


@settings(deadline=None, derandomize=True, max_examples=60)
@given(tables(), st.sampled_from([1, 2, 7]), st.integers(1, 9))
def test_parts_are_bounded_and_together_the_whole(table: RowTable, rows: int, entries: int) -> None:
    with patch.object(row_table, "ROWS_MAX", rows), patch.object(row_table, "ENTRIES_MAX", entries):
        parts = list(table.parts())
        assert list(table) == table.rows()
    assert [row for part in parts for row in part.rows()] == table.rows()
    assert all(0 < len(part) <= rows and (len(part) == 1 or len(part.named) <= entries) for part in parts)


def _write(format: str, path: Path, found: list[Any]) -> None:
    sink = open_sink(format, path, QUERIES)
    for rows in found:
        sink.write(rows)
    sink.close()
