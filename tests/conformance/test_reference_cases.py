"""The reference itself, against every case folder: rows derived by hand or from the papers."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from tests.conformance.cases import (
    Case,
    agrees,
    as_lines,
    every_case,
    read_kb,
    read_stream,
    row_json,
)
from tests.reference.api import evaluate_all
from tests.reference.output import Row


def _read(path: Path) -> Query:
    return parse(path.read_text(encoding="utf-8"), path.stem)


def _rows(case: Case) -> list[Row]:
    queries = [_read(path) for path in case.queries]
    iris = {stream.name: stream.iri for query in queries for stream in query.streams}
    streams = {iris[name]: read_stream(path) for name, path in case.streams.items()}
    kb = {iri: read_kb(path) for iri, path in case.kbs.items()}
    return evaluate_all(queries, streams, kb)[0]


@pytest.mark.parametrize("case", every_case(), ids=lambda case: case.folder.name)
def test_the_reference_gives_the_expected_rows(case: Case) -> None:
    found = [row_json(row) for row in _rows(case)]
    assert agrees(case, found), as_lines(found)
