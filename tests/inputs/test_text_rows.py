"""CSV that is cut at its separators has the rows that Arrow's parser finds, and the columns of Arrow's arrays."""

from __future__ import annotations

import io
import random
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from sparql_gpm.reading.raw_text import RawText
from spaseq.inputs.tables import text_rows
from spaseq.inputs.tables.arrow_column import ArrowColumn
from spaseq.inputs.tables.options import TableOptions
from spaseq.inputs.tables.plain import times_of
from spaseq.inputs.tables.sources import rows_of
from spaseq.inputs.tables.text_column import ROOM, TextColumn
from spaseq.inputs.texts import OpenInput
from tests.fuzz.mutate import mutated

CELLS = ("", "A", "1", "-20", "007", "2026-01-01T00:00:00Z", "a longer text", "12345678", "123456789012345", "-0")
ODD = ('"q"', '"a\nb"', "é", "\ufdd0", "\x00", "\r", "a,b", "\n")
Found = tuple[list[tuple[int, tuple[str | None, ...]]], list[tuple[object, ...]], list[str]]


def a_csv(draw: random.Random) -> bytes:
    columns, line = draw.randrange(1, 4), draw.choice(("\n", "\n", "\r\n"))
    cells = CELLS + draw.choice(((), (), ODD))
    rows = [[draw.choice(cells) for _ in range(columns)] for _ in range(draw.randrange(30))]
    header = [f"c{n}" for n in range(columns)]
    text = line.join(",".join(row) for row in (header, *rows)) + draw.choice((line, "", line * 2, ",", line + "x"))
    return mutated(draw, text.encode(), (b",,1\n", b'"\r\n')) if draw.random() < 0.3 else text.encode()


def found(text: bytes, options: TableOptions, cut: bool) -> Found:
    """Rows by number, reports, and the error that ends them."""
    rows: list[tuple[int, tuple[str | None, ...]]] = []
    reports: list[tuple[object, ...]] = []
    errors: list[str] = []

    def report(row: int, column: int, reason: str, raw: bytes | RawText, kind: str) -> None:
        reports.append((row, column, reason, raw, kind))

    with mock.patch.object(text_rows, "readable", (lambda _: True) if cut else (lambda _: False)):
        try:
            for batch in rows_of(OpenInput(io.BytesIO(text), "csv", live=False), options, report):
                columns = [batch.cells(path) for path in batch.names()]
                texts = [[None if code < 0 else each.lexicals[code] for code in each.codes] for each in columns]
                rows += zip(batch.numbers.tolist(), zip(*texts, strict=True), strict=True)
        except Exception as error:
            errors.append(str(error))
    return rows, reports, errors


@pytest.mark.parametrize("block", [8, 40, 1 << 22])
def test_rows_that_are_cut_are_those_of_the_parser(block: int) -> None:
    draw, cut = random.Random(block), 0
    with mock.patch.object(text_rows, "BLOCK_BYTES", block):
        for _ in range(80):
            text = a_csv(draw)
            names = draw.choice(((), (), (), ("a",), ("a", "b")))
            options = TableOptions(columns=names, rows_max=draw.choice((3, 1000)))
            mine, other = (found(text, options, way) for way in (True, False))
            assert mine == other, (text, names)
            cut += bool(mine[0]) and text.isascii() and b'"' not in text
    assert cut > 20


def test_blocks_behind_the_first_odd_one_are_left_to_the_parser() -> None:
    text = b"a,b\n" + b"1,2\n" * 100 + b'"3",4\n' + b"5\n" + b"6,7\n" * 100
    with mock.patch.object(text_rows, "BLOCK_BYTES", 40):
        rows, reports, _ = found(text, TableOptions(), cut=True)
    assert [number for number, _ in rows] == [*range(2, 103), *range(104, 204)]
    assert [(row, raw) for row, _, _, raw, _ in reports] == [(103, b"5")]


def columns_of(cells: list[str]) -> tuple[TextColumn, ArrowColumn]:
    text = np.frombuffer(bytes(ROOM) + b"".join(cell.encode() + b"," for cell in cells) + bytes(ROOM), dtype=np.uint8)
    ends = ROOM - 1 + np.cumsum([len(cell) + 1 for cell in cells], dtype=np.int64)
    begins = ends - np.array([len(cell) for cell in cells], dtype=np.int64)
    array = pa.array([cell.encode() for cell in cells], pa.binary())
    return TextColumn(text, begins, ends), ArrowColumn(array, untyped=True)


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_text_are_those_of_arrays(seed: int) -> None:
    draw = random.Random(seed)
    numbers = ("0", "7", "-7", "12345678", "123456789", "-12345678901234", "1234567890123456", "999999999999999")
    pools = (
        numbers,
        CELLS,
        ("A", "BC", ""),
        ("00", "1"),
        ("-", "1"),
        ("1-", "2"),
        ("1/", ":2"),
        ("-0", "3"),
        ("long text",),
    )
    integers = 0
    for _ in range(300):
        pool = draw.choice(pools)
        cells = [draw.choice(pool) for _ in range(draw.choice((0, 1, 5, 20)))]
        text, array = columns_of(cells)
        assert len(text) == len(array)
        assert text.lines() == array.lines()
        if cells:
            assert text.has_null == array.has_null
        (mine, values), (other, expected) = text.encoded(), array.encoded()
        assert [None if code < 0 else values[int(code)].as_py() for code in mine] == [
            None if code < 0 else expected[int(code)].as_py() for code in other
        ]
        assert sorted(values.to_pylist()) == sorted(expected.to_pylist())
        one, two = text.integers(), array.integers()
        assert (one is None) == (two is None), cells
        if one is not None and two is not None:
            assert one.tolist() == two.tolist() == list(map(int, cells))
            integers += 1
    assert integers > 20


def test_times_of_text_are_those_of_its_lines() -> None:
    draw, taken = random.Random(3), 0
    for _ in range(400):
        zone, odd = draw.choice(("", "Z")), draw.choice(("", "", "2", "4", "9", "-", "T", "x", "/", ":"))
        cells = [
            f"{draw.choice((1899, 1900, 1970, 2024, 2026, 2199, 2200)) if odd else 2024}-{draw.randrange(1, 13):02}-"
            f"{draw.randrange(1, 31 if odd else 29):02}T{draw.randrange(24):02}:{draw.randrange(60):02}:"
            f"{draw.randrange(60):02}{zone}"
            for _ in range(draw.randrange(1, 6))
        ]
        if odd and draw.random() < 0.7:
            place = draw.randrange(len(cells[0]))
            cells[0] = cells[0][:place] + odd + cells[0][place + 1 :]
        text, array = columns_of(cells)
        lines, found = array.lines(), text.date_times()
        expected = None if lines is None else times_of(lines)
        assert (found is None) == (expected is None), cells
        if found is not None and expected is not None:
            assert found.tolist() == expected.tolist(), cells
        taken += found is not None
    assert taken > 100
