"""Files that grow as sources: every event once, however they are rotated, cut and read again."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sources import files
from spaseq.service.sources.files import FilesSource
from tests.service.connectors.ends import Taken, quads, running
from tests.waiting import PATIENCE_S, until


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "POLL_S", 0.005)
    monkeypatch.setattr(files, "QUIET_S", 0.1)


def source(path: Path, **more: Any) -> FilesSource:
    return FilesSource("power", SourceSettings(files=str(path), **more))


def append(path: Path, *values: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(values))


def lines(*values: bytes) -> list[bytes]:
    return b"".join(values).splitlines()


def test_an_event_is_taken_when_the_next_begins_or_nothing_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, path = Taken(), tmp_path / "a.nq"
    monkeypatch.setattr(files, "QUIET_S", PATIENCE_S)

    async def run() -> None:
        async with running(source(path), taken):
            await until(lambda: taken.said("waiting", "there is no such file"))
            first, second, third = quads(0, 3)
            append(path, first, second[:20])
            await until(lambda: taken.said("running"))
            await asyncio.sleep(0.05)
            assert taken.text == b""
            append(path, second[20:])
            await until(lambda: taken.text == first)
            monkeypatch.setattr(files, "QUIET_S", 0.1)
            await until(lambda: taken.text == first + second)
            append(path, third[:-1])
            await until(lambda: taken.lines == lines(first, second, third)[:-1])
            await asyncio.sleep(0.2)
            assert taken.lines == lines(first, second, third)[:-1]
            append(path, b"\n")
            await until(lambda: taken.lines == lines(first, second, third))

    asyncio.run(run())


def test_a_renamed_file_is_read_to_its_end_before_the_one_in_its_place(tmp_path: Path) -> None:
    taken, path = Taken(), tmp_path / "a.nq"

    async def run() -> None:
        async with running(source(path), taken):
            append(path, *quads(0, 5))
            await until(lambda: len(taken.lines) == 10)
            path.rename(tmp_path / "a.nq.1")
            append(tmp_path / "a.nq.1", *quads(5, 7))
            append(path, *quads(10, 12))
            append(tmp_path / "a.nq.1", quads(7, 8)[0].rstrip(b"\n"))
            await until(lambda: len(taken.lines) == 20)
        append(path, *quads(12, 14))
        path.rename(tmp_path / "old")
        append(path, *quads(20, 22))
        async with running(source(path), taken):
            await until(lambda: len(taken.lines) == 28)

    asyncio.run(run())
    assert taken.lines == lines(*quads(0, 8), *quads(10, 14), *quads(20, 22))


def test_a_renamed_file_that_the_pattern_finds_goes_on_where_it_was(tmp_path: Path) -> None:
    taken, path = Taken(), tmp_path / "a.nq"

    async def run() -> None:
        async with running(source(tmp_path / "a.nq*"), taken):
            append(path, *quads(0, 5))
            await until(lambda: len(taken.lines) == 8)
            path.rename(tmp_path / "a.nq.1")
            append(path, *quads(5, 7))
            await until(lambda: len(taken.lines) == 14)

    asyncio.run(run())
    assert taken.lines == lines(*quads(0, 7))


def test_a_file_that_was_cut_is_read_from_its_beginning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    taken, path = Taken(), tmp_path / "a.nq"

    async def run() -> None:
        async with running(source(path), taken):
            append(path, *quads(0, 5))
            await until(lambda: len(taken.lines) == 10)
            path.write_bytes(b"")
            append(path, *quads(5, 6))
            await until(lambda: len(taken.lines) == 12)
        path.write_bytes(b"".join(quads(100, 120)))
        async with running(source(path), taken):
            await until(lambda: len(taken.lines) == 52)

    asyncio.run(run())
    assert taken.lines == lines(*quads(0, 6), *quads(100, 120))
    assert caplog.text.count("was cut or written anew") == 2


def test_tables_have_their_first_line_in_each_body(tmp_path: Path) -> None:
    taken, path = Taken(), tmp_path / "a.csv"

    async def run() -> None:
        for row in (b"1,2\n", b"3,4\n"):
            if not path.exists():
                append(path, b"a,b\n")
            async with running(source(path), taken):
                await until(lambda: taken.said("running"))
                before = len(taken.bodies)
                append(path, row)
                await until(lambda: len(taken.bodies) > before)  # noqa: B023 -- awaited at once

    asyncio.run(run())
    assert taken.bodies == [(b"a,b\n1,2\n", "csv"), (b"a,b\n3,4\n", "csv")]


def test_a_first_start_at_the_latest_line_leaves_out_what_was_there(tmp_path: Path) -> None:
    taken, path = Taken(), tmp_path / "a.nq"
    append(path, *quads(0, 5))

    async def run() -> None:
        async with running(source(path, start="latest"), taken):
            await until(lambda: taken.stored is not None)
        append(path, *quads(5, 7))
        async with running(source(path, start="latest"), taken):
            await until(lambda: len(taken.lines) == 4)

    asyncio.run(run())
    assert taken.lines == lines(*quads(5, 7))


@pytest.mark.parametrize("seed", range(8))
def test_every_line_comes_once_whatever_happens(tmp_path: Path, seed: int) -> None:
    """A writer appends in arbitrary pieces and rotates, while the source is killed and started again."""
    drawn, taken, path = random.Random(seed), Taken(), tmp_path / "a.ndjson"
    expected = [b'{"n": %d}' % n for n in range(120)]

    async def write() -> None:
        rest, rotated = b"".join(line + b"\n" for line in expected), 0
        while rest:
            size = drawn.randint(1, 90)
            append(path, rest[:size])
            rest = rest[size:]
            if drawn.random() < 0.1:
                rotated += 1
                end = rest.find(b"\n") + 1
                append(path, rest[:end])
                rest = rest[end:]
                path.rename(tmp_path / f"a.ndjson.{rotated}")
            await asyncio.sleep(0.002)

    async def run() -> None:
        writer = asyncio.create_task(write())
        while len(taken.lines) < len(expected):
            taken.kill = drawn.randint(0, 8)
            task = asyncio.create_task(source(tmp_path / "a.ndjson*").run(taken))
            await until(lambda: task.done() or len(taken.lines) == len(expected))  # noqa: B023 -- awaited at once
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await writer

    asyncio.run(run())
    assert sorted(taken.lines) == sorted(expected)
