"""Rows in a file: each once, whatever a crash has left of it."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.sinks.feed import SinkPosition
from spaseq.service.sinks.file import FileSink
from tests.service.connectors.ends import Rows, running
from tests.waiting import until


def sink(path: Path) -> FileSink:
    return FileSink("cheap", SinkSettings(file=str(path)))


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["n"] for line in path.read_bytes().splitlines()]


def delivered(path: Path, rows: Rows) -> None:
    async def run() -> None:
        async with running(sink(path), rows):
            await until(lambda: rows.stored.n == rows.newest())

    asyncio.run(run())


@pytest.mark.parametrize("seed", range(12))
def test_each_row_stands_once_in_the_file_after_any_crash(tmp_path: Path, seed: int) -> None:
    """A crash comes after the lines are written, or leaves a part of them, before the position is stored."""
    drawn, rows, path = random.Random(seed), Rows(), tmp_path / "rows.ndjson"
    for _ in range(4):
        rows.find(drawn.choice([1, 3, 1500]))
        rows.kill = drawn.choice([None, 0, 1])
        if rows.kill is None:
            delivered(path, rows)
            continue
        known = path.stat().st_size if path.exists() else 0

        async def run() -> None:
            async with running(sink(path), rows) as task:
                await until(lambda: task.done() or rows.stored.n == rows.newest())

        asyncio.run(run())
        killed, rows.kill = rows.kill is None, None
        if killed and rows.stored.n < rows.newest():
            written = b"".join(line + b"\n" for line in rows.lines[: rows.stored.n])
            known = max(known, len(written))
            with path.open("r+b") as file:
                file.truncate(drawn.randint(known, path.stat().st_size))
    delivered(path, rows)
    assert numbers(path) == list(range(1, rows.newest() + 1))


def test_a_file_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    rows, path = Rows(), tmp_path / "rows.ndjson"

    async def run() -> None:
        async with running(sink(path), rows):
            rows.find(3)
            await until(lambda: rows.stored.n == 3)
            path.rename(tmp_path / "old")
            rows.find(2)
            await until(lambda: rows.stored.n == 5)

    asyncio.run(run())
    assert numbers(tmp_path / "old") == [1, 2, 3] and numbers(path) == [4, 5]


def test_rows_of_another_query_are_not_taken_for_ours(tmp_path: Path) -> None:
    rows, path = Rows(), tmp_path / "rows.ndjson"
    path.write_bytes(b'not even JSON\n{"n":3,"query":"before"}\n')
    rows.find(5)
    delivered(path, rows)
    assert path.read_bytes().splitlines()[2:] == rows.lines


def test_a_file_is_written_by_one_sink(tmp_path: Path) -> None:
    rows, other, path = Rows(), Rows(), tmp_path / "rows.ndjson"

    async def run() -> None:
        async with running(sink(path), rows):
            await until(lambda: rows.said("running"))
            async with running(sink(path), other):
                await until(lambda: other.said("failed", "another sink writes to the file"))
        async with running(sink(path), other):
            await until(lambda: other.said("running"))

    asyncio.run(run())


def test_a_folder_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    rows, path = Rows(stored=SinkPosition(1)), tmp_path / "later" / "rows.ndjson"
    rows.find(3)

    async def run() -> None:
        async with running(sink(path), rows):
            await until(lambda: rows.said("waiting", "No such file"))
            path.parent.mkdir()
            await until(lambda: rows.stored.n == 3)

    asyncio.run(run())
    assert numbers(path) == [2, 3]
