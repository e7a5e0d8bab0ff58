"""Compressed inputs that are damaged: what can be decompressed is used, and the run ends with exit code 1."""

from __future__ import annotations

import gzip
import io
import json
import random
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import spaseq
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import BrokenOff
from sparql_gpm.rdf_io import EventReader, Malformed, ReadOptions
from sparql_gpm.reading.raw_text import RAW_BYTES_MAX
from spaseq.cli import main
from spaseq.errors import RunError
from spaseq.inputs.formats import texts_of
from spaseq.inputs.opening import opened
from spaseq.inputs.paths import InputFile
from tests.cli.test_run import file
from tests.sparql_gpm.rdf_events import stamp

QUERY = "SELECT ?o WITHIN 1 SECOND FROM STREAM S <urn:S> { SEQ(A) DEFINE GPM A ON S { ?s <urn:p> ?o } }"
BEGINNING = "the input breaks off: the compressed data"


def events(count: int) -> bytes:
    noise = random.Random(7)
    lines = (f'{stamp(f"<urn:{n}>", n)}<urn:s> <urn:p> "{n} {noise.random()}" <urn:{n}> .\n' for n in range(count))
    return "".join(lines).encode()


TEN = events(10)
PACKED = gzip.compress(TEN, mtime=0)


def with_bad_checksum(text: bytes) -> bytes:
    packed = bytearray(gzip.compress(text, mtime=0))
    packed[-6] ^= 1
    return bytes(packed)


@pytest.mark.parametrize("runtime", ["file", "standard input"])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (PACKED + b"junk", f"is damaged at byte {len(PACKED)}: it is no gzip data from there on"),
        (PACKED + b"\0" * 512 + b"junk", f"is damaged at byte {len(PACKED) + 512}: it is no gzip data from there on"),
        (PACKED + b"\n", f"ends too early, at byte {len(PACKED) + 1}"),
        (with_bad_checksum(TEN), f"is damaged at byte {len(PACKED) - 5}: incorrect data check"),
        (PACKED[:-1] + b"\xff", f"is damaged at byte {len(PACKED) - 1}: incorrect length check"),
    ],
)
def test_damage_behind_the_data_loses_no_event(tmp_path: Path, data: bytes, reason: str, runtime: str) -> None:
    (tmp_path / "s.nq.gz").write_bytes(data)
    query = file(tmp_path, "q.rq", QUERY)
    path = tmp_path / "s.nq.gz" if runtime == "file" else Path("-")
    arguments = ["run", query, "--stream", f"S={path}", "--format", "ndjson", "--dead-letter", tmp_path / "dead"]
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=data)
    assert len(result.stdout.splitlines()) == 10
    (letter,) = map(json.loads, (tmp_path / "dead").read_text().splitlines())
    assert letter["reason"] == f"{BEGINNING} {reason}"
    assert result.exit_code == 1
    source = path if runtime == "file" else "standard input"
    assert f"error: {source}: {BEGINNING} {reason}" in result.stderr


def test_a_hundred_thousand_events_before_a_bad_checksum_are_all_used(tmp_path: Path) -> None:
    (tmp_path / "s.nq.gz").write_bytes(with_bad_checksum(events(100_000)))
    rows = spaseq.run(spaseq.parse(QUERY), streams={"S": tmp_path / "s.nq.gz"})
    assert sum(1 for _, row in zip(range(100_000), rows, strict=False)) == 100_000
    with pytest.raises(RunError, match="incorrect data check"):
        next(rows)


@given(at=st.integers(0, len(PACKED)), size=st.sampled_from([1, 7, 1000, 1 << 20]), garbled=st.booleans())
def test_every_byte_before_the_damage_is_given(
    at: int, size: int, garbled: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "s.gz"
    data = PACKED[:at] + (b"\xff" * 40 if garbled else b"")
    path.write_bytes(data)
    found = b""
    try:
        with opened(InputFile(str(path), "nquads")) as whole:
            while block := whole.stream.read(size):
                assert len(block) <= size
                found += block
    except BrokenOff:
        assert at < len(PACKED) or garbled
    else:
        assert at in (0, len(PACKED)) and not garbled
    member, expected = zlib.decompressobj(31), b""
    for byte in data:
        try:
            expected += member.decompress(bytes([byte]))
        except zlib.error:
            break
    assert found == expected


@pytest.mark.parametrize("suffix", ["nq", "trig", "ttl", "nt"])
def test_zeros_that_were_packed_are_read_in_bounded_memory(tmp_path: Path, suffix: str) -> None:
    with gzip.open(tmp_path / f"s.{suffix}.gz", "wb") as packed:
        for _ in range(64):
            packed.write(bytes(1 << 20))
    query = file(tmp_path, "q.rq", QUERY)
    dead = tmp_path / "dead"
    code = f"""
import resource, sys
from spaseq.cli import main
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    main(["run", {str(query)!r}, "--stream", {f"S={tmp_path}/s.{suffix}.gz"!r}, "--max-line", "1MiB",
          "--dead-letter", {str(dead)!r}])
finally:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    (letter,) = map(json.loads, dead.read_text().splitlines())
    assert letter["raw_length"] >= 64 << 20
    assert len(letter["raw"]) <= RAW_BYTES_MAX
    assert int(found.stdout.splitlines()[-1]) < 60, found


@pytest.mark.parametrize(
    ("rdf_format", "before", "long", "after"),
    [
        ("nquads", stamp("<urn:a>", 1), f'<urn:s> <urn:p> "{"x" * 5000}" <urn:b> .\n', stamp("<urn:c>", 2)),
        ("trig", stamp("<urn:a>", 1), f'<urn:b> {{ <urn:s> <urn:p> "{"x" * 5000}" . }}\n', stamp("<urn:c>", 2)),
        ("trig", stamp("<urn:a>", 1), "<urn:b> {" + " <urn:s> <urn:p> 1 .\n" * 500 + "}\n", stamp("<urn:c>", 2)),
        ("ntriples", "", stamp("<urn:a>", 1) * 100, ""),
        ("turtle", "", "x" * 5000, ""),
        ("nquads", "", "\0" * 5000, ""),
    ],
)
def test_a_text_of_a_table_has_the_bound_of_a_line(rdf_format: str, before: str, long: str, after: str) -> None:
    texts = list(texts_of(io.BytesIO((before + long + after).encode()), rdf_format, 10, 1000))
    assert sum(len(each.text) for each in texts) < 1000
    reports: list[Malformed] = []
    reader = EventReader(Dictionary(), ReadOptions(), reports.append)
    batches = [batch for each in texts for batch in reader.read(io.BytesIO(each.text), rdf_format)]
    found = [name for batch in batches for name in batch.events.names]
    assert found == [name for name, text in (("urn:a", before), ("urn:c", after)) if text]
    assert "longer than --max-line allows" in reports[0].raw
    assert len(reports) == (2 if rdf_format == "ntriples" else 1)
