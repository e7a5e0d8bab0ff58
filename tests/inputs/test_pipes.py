"""Pipes are live: an event is complete after some silence, and the bytes decide, not how they are cut into writes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import EventReader, ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from spaseq.inputs.following import growing
from spaseq.inputs.opening import GuardedStream
from spaseq.inputs.paths import InputFile
from tests.waiting import PATIENCE_S, waited

ROOT = Path(__file__).parents[2]
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
KIND = "http://www.w3.org/2001/XMLSchema#dateTime"
QUERY = """SELECT ?s WITHIN 1 HOURS SLIDING FROM STREAM S <urn:s>
WHERE { SEQ(A) DEFINE GPM A ON S { ?s <urn:p> ?o } }"""


def quads(number: int, after: bool = False) -> str:
    """An event of two triples, its time before or after them."""
    stated = f'<urn:e{number}> <{PROV}> "2026-01-01T00:00:{number:02d}Z"^^<{KIND}> .\n'
    rest = "".join(f"<urn:s{number}> <urn:p> <urn:o{place}> <urn:e{number}> .\n" for place in (1, 2))
    return rest + stated if after else stated + rest


def blocks(number: int, after: bool = False) -> str:
    """The same as TriG, with another block of the same graph, comments and strings."""
    stated = f':e{number} prov:generatedAtTime "2026-01-01T00:00:{number:02d}Z"^^xsd:dateTime .\n'
    rest = f':e{number} {{ :s{number} :p """a }}\n . """ }} # }}\n:e{number} {{ :s{number} :p :o2 . }}\n'
    return rest + stated if after else stated + rest


HEAD = """@prefix : <urn:> . @prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
FORMATS: dict[str, tuple[str, Callable[[int, bool], str]]] = {"nquads": ("", quads), "trig": (HEAD, blocks)}
Told = tuple[list[tuple[str, int, int]], list[str]]


def read(
    stream: object,
    rdf_format: str,
    live: bool,
    on_event: Callable[[str], None] = lambda name: None,
    quiet_s: float | None = 0.02,
) -> Told:
    """Name, time and number of triples of each event, and the kinds of faults."""
    faults: list[str] = []

    def report(fault: Malformed) -> None:
        faults.append(fault.kind)

    reader, found = EventReader(Dictionary(), ReadOptions(quiet_s=quiet_s), report), []
    for located in reader.read(stream, rdf_format, live):  # type: ignore[arg-type]
        events = located.events
        sizes = (events.offsets[1:] - events.offsets[:-1]).tolist()
        for name, instant, size in zip(events.names, events.times.tolist(), sizes, strict=True):
            found.append((name, instant, size))
            on_event(name)
    return found, faults


class Written:
    """A live stream that gives bytes as they are written, each time those of one write; it is never silent."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces: Iterator[bytes] = filter(None, pieces)

    def read(self, size: int, /) -> bytes:
        return next(self._pieces, b"")

    def ready(self, seconds: float, /) -> bool:
        return True


class Silent(Written):
    """The same with a silence after each write."""

    def ready(self, seconds: float, /) -> bool:
        return False


class Pausing(Written):
    """The same with a pause after each write that is shorter than a silence."""

    def ready(self, seconds: float, /) -> bool:
        return seconds > 0


@pytest.mark.parametrize("rdf_format", FORMATS)
def test_the_bytes_decide_not_the_writes(rdf_format: str) -> None:
    head, event = FORMATS[rdf_format]
    for seed in range(60):
        dice = Random(seed)
        text = (head + "".join(event(number, dice.random() < 0.5) for number in range(5))).encode()
        cuts = sorted(dice.sample(range(1, len(text)), dice.randrange(12)))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert read(Written(pieces), rdf_format, True) == read(Written([text]), rdf_format, False), seed


def block(number: int, after: bool) -> str:
    """An event of one block, its time before, inside or after it."""
    stated = f':e{number} prov:generatedAtTime "2026-01-01T00:00:{number:02d}Z"^^xsd:dateTime .\n'
    inside = f':e{number} {{ :s{number} :p """a }}\n . """ . # }}\n{"" if number % 3 else stated}}}\n'
    return inside if not number % 3 else inside + stated if after else stated + inside


def test_a_closing_brace_ends_an_event_of_a_pipe_and_the_rows_are_those_of_the_file() -> None:
    for seed in range(60):
        dice = Random(seed)
        text = (HEAD + "".join(block(number, dice.random() < 0.5) for number in range(6))).encode()
        cuts = sorted(dice.sample(range(1, len(text)), dice.randrange(20)))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert read(Pausing(pieces), "trig", True) == read(Written([text]), "trig", False), seed


def test_an_event_with_its_time_is_there_at_the_brace() -> None:
    seen: list[str] = []

    class Watched(Pausing):
        def read(self, size: int, /) -> bytes:
            seen.append("read")
            return super().read(size)

    pieces = [(HEAD + block(1, False)).encode(), block(2, True).encode(), block(3, False).encode()]
    read(Watched(pieces), "trig", True, seen.append)
    assert seen == ["read", "urn:e1", "read", "read", "urn:e2", "urn:e3", "read"]
    seen.clear()
    read(Watched(pieces), "trig", True, seen.append, quiet_s=None)
    assert seen == ["read", "read", "urn:e1", "read", "urn:e2", "read", "urn:e3"]


@pytest.mark.parametrize("rdf_format", FORMATS)
def test_silence_inside_a_line_or_before_the_time_completes_nothing(rdf_format: str) -> None:
    head, event = FORMATS[rdf_format]
    whole = read(Written([(head + event(1, True) + event(2, True)).encode()]), rdf_format, False)
    first, second = event(1, True).encode(), event(2, True).encode()
    for cut in range(1, len(first) - 1):
        assert read(Silent([head.encode(), first[:cut], first[cut:], second]), rdf_format, True) == whole, cut


@pytest.mark.parametrize("rdf_format", FORMATS)
def test_what_comes_after_the_silence_is_malformed_and_counted(rdf_format: str) -> None:
    head, event = FORMATS[rdf_format]
    lines = event(1, False).splitlines(keepends=True)
    early, late = "".join(lines[:-1]).encode(), lines[-1].encode()
    found, faults = read(Silent([head.encode(), early, late, event(2, False).encode()]), rdf_format, True)
    assert [name for name, *_ in found] == ["urn:e1", "urn:e2"] and faults == ["reopened"]


@pytest.mark.parametrize("rdf_format", FORMATS)
def test_an_event_of_a_real_pipe_is_there_before_the_next_one(rdf_format: str) -> None:
    head, event = FORMATS[rdf_format]
    end, begin = os.pipe()
    seen, told = threading.Event(), list[bool]()

    def write() -> None:
        with os.fdopen(begin, "wb", buffering=0) as pipe:
            pipe.write((head + event(1, False)).encode())
            told.append(seen.wait(PATIENCE_S))
            pipe.write(event(2, False).encode())

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(end, "rb") as pipe:
        stream = GuardedStream(pipe.read1, True, pipe.fileno())
        found, faults = read(stream, rdf_format, True, lambda name: seen.set())
    writer.join()
    assert told == [True] and [name for name, *_ in found] == ["urn:e1", "urn:e2"] and not faults


def test_without_an_end_by_silence_an_event_is_there_with_the_next_one() -> None:
    seen: list[str] = []

    class Watched(Silent):
        def read(self, size: int, /) -> bytes:
            seen.append("read")
            return super().read(size)

    pieces = [quads(1).encode(), quads(2).encode()]
    read(Watched(pieces), "nquads", True, seen.append, quiet_s=None)
    assert seen == ["read", "read", "urn:e1", "read", "urn:e2"]
    seen.clear()
    read(Watched(pieces), "nquads", True, seen.append)
    assert seen == ["read", "urn:e1", "read", "urn:e2", "read"]


def test_run_reports_a_match_in_the_silence(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(QUERY)
    command = [sys.executable, "-m", "spaseq.cli", "run", str(tmp_path / "q.rq"), "--stream", "S=-"]
    options = ["--input-format", "nquads", "--format", "ndjson", "--quiet-end", "20ms"]
    with subprocess.Popen(
        [*command, *options], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        lines: list[bytes] = []
        thread = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, b"")))  # type: ignore[union-attr]
        thread.start()
        process.stdin.write(quads(1).encode())
        process.stdin.flush()
        waited(lambda: lines)
        process.stdin.write(quads(2).encode())
        process.stdin.close()
        thread.join()
        assert process.wait() == 0
    assert len(lines) == 4


def test_a_silence_is_at_least_a_millisecond(tmp_path: Path) -> None:
    from spaseq.cli import main

    for value in ("0s", "soon"):
        with pytest.raises(SystemExit) as end:
            main(["run", str(tmp_path / "q.rq"), "--stream", "S=-", "--quiet-end", value])
        assert end.value.code == 2


@pytest.mark.parametrize("rdf_format", FORMATS)
def test_a_followed_file_gives_the_events_of_the_file_however_it_grows(rdf_format: str, tmp_path: Path) -> None:
    head, event = FORMATS[rdf_format]
    dice, path, stop = Random(7), tmp_path / "growing", "urn:e39"
    text = (head + "".join(event(number, True) for number in range(40))).encode()
    path.write_bytes(b"")

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            cuts = [0, *sorted(dice.sample(range(1, len(text)), 20)), len(text)]
            for begin, end in pairwise(cuts):
                file.write(text[begin:end])
                time.sleep(0.002)

    class Ended(Exception):
        """All events are there."""

    found: list[str] = []

    def note(name: str) -> None:
        found.append(name)
        if name == stop:
            raise Ended

    writer = threading.Thread(target=grow)
    with growing(InputFile(str(path), rdf_format)) as stream:
        writer.start()
        with pytest.raises(Ended):
            read(stream, rdf_format, True, note)
    writer.join()
    assert found == [name for name, *_ in read(Written([text]), rdf_format, False)[0]]


def test_run_follows_a_file_until_it_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(QUERY)
    path = tmp_path / "growing.nq"
    path.write_text(quads(1))
    command = [sys.executable, "-m", "spaseq.cli", "run", str(tmp_path / "q.rq"), "--stream", f"S={path}", "--follow"]
    with subprocess.Popen(
        [*command, "--format", "ndjson", "--quiet-end", "20ms"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert b"urn:e1" in process.stdout.readline() + process.stdout.readline()
        with path.open("a") as file:
            file.write(quads(2))
        assert b"urn:e2" in process.stdout.readline() + process.stdout.readline()
        path.write_text("")
        assert process.wait(PATIENCE_S) == 1
        assert process.stderr is not None and b"cut while it was followed" in process.stderr.read()


def test_what_cannot_grow_is_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from spaseq.cli import main

    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "e.nq.gz").write_bytes(b"")
    (tmp_path / "e.ttl").write_bytes(b"")
    for path, options in {"e.nq.gz": [], "e.ttl": [], ".": [], "q.rq": ["--unordered"]}.items():
        with pytest.raises(SystemExit) as end:
            main(["run", str(tmp_path / "q.rq"), "--stream", f"S={tmp_path / path}", "--follow", *options])
        assert (end.value.code, "--follow" in capsys.readouterr().err) == (2, True), path
