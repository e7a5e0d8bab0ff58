"""The result of a run: rows one by one, or tables."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import spaseq
from spaseq.errors import InputError

EVENTS = "".join(
    f'<urn:e{n}> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:00:{n:02}Z"^^'
    f'<http://www.w3.org/2001/XMLSchema#dateTime> .\n<urn:s{n % 2}> <urn:v> "{n}" <urn:e{n}> .\n'
    for n in range(20)
)
TEXT = """SELECT ?s ?v ?w WITHIN 1 HOURS FROM STREAM S <urn:s>
    { SEQ(A : B) DEFINE GPM A ON S { ?s <urn:v> ?v } DEFINE GPM B ON S { ?s <urn:v> ?w } }"""


@pytest.fixture
def result(tmp_path: Path) -> spaseq.Result:
    (tmp_path / "e.nq").write_text(EVENTS, encoding="utf-8")
    return spaseq.run(spaseq.parse(TEXT, "q"), {"S": tmp_path / "e.nq"})


def test_tables_have_the_rows_that_are_drawn_one_by_one(tmp_path: Path, result: spaseq.Result) -> None:
    rows = list(result)
    again = [spaseq.run(spaseq.parse(TEXT, "q"), {"S": tmp_path / "e.nq"}) for _ in range(3)]
    table, frame, wide = again[0].to_arrow(), again[1].to_polars(), again[2].to_pandas()
    assert len(rows) == 90
    assert table["w"].to_pylist() == [f'"{row["w"].lexical}"' for row in rows]  # type: ignore[union-attr]
    assert table["start"].cast("int64").to_pylist() == [row.start for row in rows]
    assert [dict(events) for events in table["events"].to_pylist()] == [
        {step: list(names) for step, names in row.events} for row in rows
    ]
    assert frame["w"].to_list() == wide["w"].to_list() == table["w"].to_pylist()
    assert frame["time"].to_list() == table["time"].to_pylist()


def test_rows_are_drawn_once(result: spaseq.Result) -> None:
    assert next(result) != next(result)
    with pytest.raises(InputError, match="drawn already"):
        result.to_arrow()
    result.close()
    result.close()
    assert list(result) == []


def test_after_a_table_no_row_is_left(result: spaseq.Result) -> None:
    assert len(result.to_arrow()) == 90
    with pytest.raises(InputError, match="drawn already"):
        next(result)


@pytest.mark.parametrize(
    ("package", "method"), [("pyarrow", "to_arrow"), ("polars", "to_polars"), ("pandas", "to_pandas")]
)
def test_a_missing_package_is_named(
    result: spaseq.Result, monkeypatch: pytest.MonkeyPatch, package: str, method: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=f"{method} needs the Python package {package}"):
        getattr(result, method)()
    assert len(list(result)) == 90
