"""A compressed input that a thread decompresses gives the bytes and the faults that it gives without one."""

from __future__ import annotations

import gzip
import io
import threading
from contextlib import nullcontext
from pathlib import Path
from random import Random

import pytest

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import BrokenOff
from sparql_gpm.rdf_io import Malformed, ReadOptions
from spaseq.inputs import compression, read_ahead, streams
from spaseq.inputs.opening import GuardedStream
from spaseq.inputs.streams import open_stream
from tests.sparql_gpm.rdf_events import stamp


def pieces(data: bytes, sizes: list[int], ahead: bool) -> list[bytes | str]:
    """What reads of these sizes give, over and over, up to the end or a damage."""
    stream = GuardedStream(compression.unpacked(io.BufferedReader(io.BytesIO(data)), "in.gz").read1, live=False)
    found: list[bytes | str] = []
    with read_ahead.read_ahead(stream) if ahead else nullcontext(stream) as reader:
        try:
            while len(found) < 10_000 and (text := reader.read(sizes[len(found) % len(sizes)])):
                found.append(text)
            found.append(reader.read(5) or "end")
        except BrokenOff as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_the_bytes_and_the_damage_are_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = Random(seed)
    monkeypatch.setattr(read_ahead, "AHEAD_MAX", dice.choice([1, 100, 5_000]))
    text = dice.randbytes(dice.choice([0, 1, 3_000]))
    data = bytearray(gzip.compress(text) + gzip.compress(text[:50]))
    if dice.random() < 0.5:
        data = data[: dice.randrange(9, len(data))] if dice.random() < 0.5 else data
        data[-dice.randrange(1, 9)] ^= 255
    sizes = [dice.choice([1, 70, 1_000, 1 << 20]) for _ in range(3)]
    alone, ahead = (pieces(bytes(data), sizes, way) for way in (False, True))
    assert b"".join(p for p in ahead if isinstance(p, bytes)) == b"".join(p for p in alone if isinstance(p, bytes))
    assert ahead == alone


@pytest.mark.parametrize("threads", [1, 2])
def test_long_archives_have_a_thread_while_they_are_read(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "THREAD_BYTES_MIN", 100)
    path = tmp_path / "in.nq.gz"
    text = "".join(stamp(f"<urn:{n}>", n) + f"<urn:s> <urn:p> <urn:o{n}> <urn:{n}> .\n" for n in range(50))
    path.write_bytes(gzip.compress(text.encode()))
    reports: list[Malformed] = []
    options = ReadOptions(batch_events=7, threads=threads)
    batches = open_stream(str(path), "S", Dictionary(), lambda _, fault: reports.append(fault), options)
    first = next(batches)
    running = [thread.name for thread in threading.enumerate() if thread.name.startswith("spaseq-unpack")]
    assert len(running) == threads - 1
    assert len(first) + sum(map(len, batches)) == 50 and reports == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("spaseq-unpack")]


def test_short_archives_and_other_files_have_none(tmp_path: Path) -> None:
    (tmp_path / "in.nq.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "in.nq").write_bytes(b" " * compression.THREAD_BYTES_MIN)
    assert not any(map(streams.is_long_archive, [str(tmp_path / name) for name in ("in.nq.gz", "in.nq", "none.gz")]))
