from __future__ import annotations

import gzip
import io
import os
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions
from spaseq.errors import InputError, RunError
from spaseq.inputs.formats import input_format
from spaseq.inputs.paths import hidden_names
from spaseq.inputs.streams import SourceBatch, open_stream
from spaseq.outputs.dead_letters import DeadLetters
from tests.sparql_gpm.rdf_events import PREFIXES, stamp
from tests.waiting import PATIENCE_S

TRIG = PREFIXES + ":t prov:generatedAtTime 5 .\n:t { :s :p :o }\n"
TURTLE = PREFIXES + ":s prov:generatedAtTime 6 ; :p :o .\n"


def opened(path: str | Path, letters: DeadLetters, **how: Any) -> Iterator[SourceBatch]:
    return open_stream(str(path), "S", Dictionary(), partial(letters.malformed, "S"), ReadOptions(**how))


def batches(path: str | Path, letters: DeadLetters | None = None, **how: Any) -> list[SourceBatch]:
    return list(opened(path, letters or DeadLetters(strict=True), **how))


def names(path: str | Path, letters: DeadLetters | None = None, **how: Any) -> list[str]:
    return [name for batch in batches(path, letters, **how) for name in batch.events.names]


def quads(*graphs: str) -> str:
    return "".join(stamp(f"<urn:{graph}>", second) for second, graph in enumerate(graphs))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("suffix", "text", "name"),
    [
        (".nq", quads("a"), "urn:a"),
        (".trig", TRIG, "http://ex.org/t"),
        (".ttl", TURTLE, "urn:spaseq:event:S:0"),
        (".nt", stamp("<urn:x>", 1), "urn:spaseq:event:S:0"),
        (".NQ", quads("a"), "urn:a"),
    ],
)
def test_the_suffix_tells_the_format(tmp_path: Path, suffix: str, text: str, name: str, packed: bool) -> None:
    path = tmp_path / f"in{suffix}{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert names(path) == [name]


def test_gzip_is_known_by_its_first_bytes_too(tmp_path: Path) -> None:
    (tmp_path / "in.nq").write_bytes(gzip.compress(quads("a").encode()) + gzip.compress(stamp("<urn:b>", 3).encode()))
    assert names(tmp_path / "in.nq") == ["urn:a", "urn:b"]


def test_a_directory_is_read_in_natural_order_as_one_input(tmp_path: Path) -> None:
    (tmp_path / "b.nq").write_text(quads("b1", "b2"))
    (tmp_path / "a.trig").write_text(TRIG)
    (tmp_path / "c.ttl").write_text(TURTLE)
    (tmp_path / "d.ttl.gz").write_bytes(gzip.compress(TURTLE.encode()))
    (tmp_path / "README.txt").write_text("not RDF")
    (tmp_path / "e.nq").mkdir()
    (batch,) = batches(tmp_path)
    assert list(batch.events.names) == [
        "http://ex.org/t", "urn:b1", "urn:b2", "urn:spaseq:event:S:0", "urn:spaseq:event:S:1",
    ]  # fmt: skip
    assert [Path(batch.sources[i]).name for i in batch.source_of.tolist()] == [
        "a.trig", "b.nq", "b.nq", "c.ttl", "d.ttl.gz",
    ]  # fmt: skip
    assert batch.lines.tolist() == [4, 1, 2, 1, 1]


def test_a_glob_is_read_in_natural_order(tmp_path: Path) -> None:
    for name in ("e10", "e2", "x1"):
        (tmp_path / f"{name}.nq").write_text(quads(name))
    assert names(tmp_path / "e*.nq") == ["urn:e2", "urn:e10"]


def test_a_directory_is_read_with_its_sub_folders_and_without_hidden_names(tmp_path: Path) -> None:
    for name in ("day10/a", "day2/f10", "day2/f9", "day2/.x", "._f1", ".git/b", "z", "day2/_c", "day2/f9b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.nq").write_text(quads(name))
    assert names(tmp_path) == [
        "urn:day2/_c", "urn:day2/f9", "urn:day2/f9b", "urn:day2/f10", "urn:day10/a", "urn:z",
    ]  # fmt: skip
    assert hidden_names(str(tmp_path)) == [str(tmp_path / name) for name in ("._f1.nq", ".git", "day2/.x.nq")]


def test_a_file_whose_name_looks_like_a_glob_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].nq").write_text(quads("a"))
    assert names(tmp_path / "a[1].nq") == ["urn:a"]


def test_an_event_does_not_reach_over_the_end_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "1.nq").write_text(quads("a") + "<urn:s> <urn:p> <urn:o> <urn:a> .\n")
    (tmp_path / "2.nq").write_text("<urn:s> <urn:p> <urn:o2> <urn:a> .\n")
    letters = DeadLetters()
    (batch,) = batches(tmp_path, letters)
    assert (list(batch.events.names), len(batch.events.subjects)) == (["urn:a"], 1)
    assert letters.counts == {"reopened": 1}


def test_a_graph_that_comes_again_is_an_event_of_its_own_where_graphs_reopen(tmp_path: Path) -> None:
    (tmp_path / "1.nq").write_text(quads("a") + quads("b") + quads("a"))
    letters = DeadLetters()
    found = batches(tmp_path, letters, reopens=True)
    assert [name for batch in found for name in batch.events.names] == ["urn:a", "urn:b", "urn:a"]
    assert not letters.counts


def test_batches_are_of_the_size_asked_for_over_many_files(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"{number}.ttl").write_text(TURTLE)
    found = batches(tmp_path, batch_events=4)
    assert [len(batch) for batch in found] == [4, 4, 2]
    assert [name for batch in found for name in batch.events.names] == [f"urn:spaseq:event:S:{i}" for i in range(10)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("text", "name"),
    [
        (quads("a"), "urn:a"),
        (TRIG, "http://ex.org/t"),
        ("<urn:t> { <urn:s> <urn:p> <urn:o> }\n" + stamp("<urn:t>", 1), "urn:t"),
        ("# comment\nPREFIX : <urn:>\n:t { :s :p :o }\n" + stamp("<urn:t>", 1), "urn:t"),
        ('<urn:s> <urn:p> "{ x:y {" <urn:a> .\n' + stamp("<urn:a>", 1), "urn:a"),
    ],
)
def test_standard_input_is_nquads_or_trig_by_its_look(
    monkeypatch: pytest.MonkeyPatch, text: str, name: str, packed: bool
) -> None:
    data = gzip.compress(text.encode()) if packed else text.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert names("-") == [name]


def test_standard_input_may_be_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert names("-") == []


@pytest.mark.parametrize("through", ["fifo", "standard input"])
def test_a_live_input_gives_events_before_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, through: str
) -> None:
    path = tmp_path / "pipe.nq"
    os.mkfifo(path)
    seen = threading.Event()

    def produce() -> None:
        with open(path, "w") as pipe:
            pipe.write(quads("a", "b"))
            pipe.flush()
            assert seen.wait(PATIENCE_S)
            pipe.write(stamp("<urn:c>", 9))

    producer = threading.Thread(target=produce)
    producer.start()
    if through == "fifo":
        stream = opened(path, DeadLetters(strict=True))
        assert list(next(stream).events.names) == ["urn:a"]
        seen.set()
        assert [name for batch in stream for name in batch.events.names] == ["urn:b", "urn:c"]
    else:
        with open(path, "rb") as pipe:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pipe))
            stream = opened("-", DeadLetters(strict=True))
            assert list(next(stream).events.names) == ["urn:a"]
            seen.set()
            assert [name for batch in stream for name in batch.events.names] == ["urn:b", "urn:c"]
    producer.join()


@pytest.mark.parametrize("damage", ["cut", "garbled"])
def test_damage_in_a_gzip_file_keeps_the_events_before_it(tmp_path: Path, damage: str) -> None:
    noise = random.Random(1)
    text = "".join(stamp(f"<urn:{i}:{noise.random()}>", i) for i in range(20_000))
    data = bytearray(gzip.compress(text.encode()))
    half = len(data) // 2
    data[half:] = b"" if damage == "cut" else b"\xff" * 2000
    (tmp_path / "1.nq.gz").write_bytes(data)
    (tmp_path / "2.nq").write_text(quads("z"))
    letters = DeadLetters()
    found = names(tmp_path, letters)
    assert 5_000 < len(found) < 20_000
    assert [int(name.split(":")[1]) for name in found[:-1]] == list(range(len(found) - 1))
    assert found[-1] == "urn:z"
    assert letters.counts["truncated"] >= 1


def test_a_file_that_only_claims_to_be_gzip_is_reported(tmp_path: Path) -> None:
    (tmp_path / "in.nq.gz").write_text(quads("a"))
    with closing(DeadLetters(tmp_path / "dead.ndjson")) as letters:
        assert names(tmp_path / "in.nq.gz", letters) == []
    assert letters.counts == {"truncated": 1}
    assert "no gzip data" in (tmp_path / "dead.ndjson").read_text()


def problem(path: str | Path, **how: Any) -> InputError:
    with pytest.raises(InputError) as raised:
        opened(path, DeadLetters(), **how)
    return raised.value


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "real.nq").write_text("")
    error = problem(tmp_path / "unreal.nq")
    assert error.message == f"cannot read {tmp_path}/unreal.nq: there is no such file"
    assert error.hint == f"{tmp_path} has real.nq"
    assert problem(tmp_path / "no" / "x.nq").hint == f"there is no directory {tmp_path}/no either"


def test_a_glob_without_files_is_refused(tmp_path: Path) -> None:
    assert problem(tmp_path / "*.nq").message == f"no file matches '{tmp_path}/*.nq'"


def test_a_directory_without_rdf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    error = problem(tmp_path)
    assert error.message == f"directory {tmp_path} has no RDF file"
    assert ".nq, .trig, .ttl, .nt" in error.hint


def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "events.doc").write_text("")
    error = problem(tmp_path / "events.doc")
    assert error.message == f"cannot tell the RDF format of {tmp_path}/events.doc from its name"
    assert ".nq, .trig, .ttl, .nt" in error.hint


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        input_format("rdfxml")
    assert caught.value.message == "unknown RDF format 'rdfxml'"
    assert caught.value.hint == "the formats are nquads, trig, turtle, ntriples, jsonld, ndjsonld, jelly, messages"


def test_a_dangling_link_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "link.nq").symlink_to(tmp_path / "gone.nq")
    assert problem(tmp_path / "link.nq").message == f"cannot read {tmp_path}/link.nq: No such file or directory"


def test_strict_stops_at_the_first_malformed_line(tmp_path: Path) -> None:
    path = tmp_path / "in.nq"
    path.write_text(quads("a") + "junk\n" + "more junk\n")
    with pytest.raises(RunError, match=r"in.nq:2:1: The subject .* \(stream S\)") as raised:
        names(path, DeadLetters(strict=True))
    assert (raised.value.line, raised.value.column) == (2, 1)
    assert "--strict" in raised.value.hint
