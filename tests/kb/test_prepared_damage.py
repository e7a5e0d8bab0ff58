"""A prepared file that is damaged, cut off or overwritten gives an error with its name, never wrong rows."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import spaseq
from kb.errors import KnowledgeBaseError
from kb.prepared import Prepared
from kb.prepared_build import build
from kb.prepared_file import PreparedFile
from kb.source import Source
from sparql_gpm.columns import Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.parse import parse_group
from sparql_gpm.pattern import Pattern
from sparql_gpm.terms import IRI, Term, to_ntriples
from spaseq.errors import RunError
from tests.kb.test_endpoint import DB, query

MUTANTS = 3_000
PATTERNS = ("?s ?p ?o", "?s <http://x/in> ?room . ?room <http://x/max> ?m FILTER(?m > 3)")
BODY = f"?s :reads ?v . GRAPH <{DB}> {{ ?s :in ?room }}"
EVENT = "<http://x/s> <http://x/reads> 1 ."


def knowledge(rooms: int = 12) -> str:
    return "".join(
        f"<http://x/s{n}> <http://x/in> <http://x/room{n % 5}> .\n"
        f'<http://x/room{n % 5}> <http://x/max> "{n % 5 + 2}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        for n in range(rooms)
    )


def built(folder: Path, text: str) -> Path:
    (folder / "kb.nt").write_text(text)
    build([str(folder / "kb.nt")], folder / "kb.kb")
    return folder / "kb.kb"


def flipped(whole: bytearray, draw: random.Random) -> None:
    for _ in range(draw.choice((1, 1, 2, 9))):
        whole[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)


def cut(whole: bytearray, draw: random.Random) -> None:
    del whole[draw.randrange(len(whole)) :]


def swapped(whole: bytearray, draw: random.Random) -> None:
    size = draw.choice((8, 64, 256))
    one, other = (draw.randrange(len(whole) // size) * size for _ in range(2))
    whole[one : one + size], whole[other : other + size] = whole[other : other + size], whole[one : one + size]


def exchanged(whole: bytearray, draw: random.Random) -> None:
    """Two columns exchange their first bytes, which is all that they have if they have the same length."""
    header = json.loads(whole[20 : 20 + int.from_bytes(whole[12:16], "little")])
    (kind, one, rows, _), (_, other, more, _) = draw.sample(sorted(header["arrays"].values(), key=str), 2)
    size = np.dtype(kind).itemsize * min(rows, more)
    whole[one : one + size], whole[other : other + size] = whole[other : other + size], whole[one : one + size]


def zeroed(whole: bytearray, draw: random.Random) -> None:
    begin = draw.randrange(len(whole))
    whole[begin : begin + 64] = bytes(len(whole[begin : begin + 64]))


def moved(whole: bytearray, draw: random.Random) -> None:
    del whole[(begin := draw.randrange(len(whole))) : begin + 8]
    whole += bytes(8)


MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flipped,
    flipped,
    cut,
    swapped,
    exchanged,
    zeroed,
    moved,
)


def solutions(path: Path, patterns: list[Pattern], wanted: Term) -> list[list[tuple[str, ...]]]:
    """All solutions of some patterns, and those for one key."""
    dictionary = Dictionary()
    prepared = Prepared.opened(Source(str(path)), DB, dictionary)
    given: dict[str, Ids] = {"s": np.array([dictionary.intern(wanted)], dtype=np.int64)}
    found = []
    for pattern, keys in [(patterns[0], {}), (patterns[1], {}), (patterns[1], given)]:
        columns = prepared.bind_join(pattern, keys).columns
        named = [[to_ntriples(dictionary.term(i)) for i in columns[name].tolist()] for name in sorted(columns)]
        found.append(sorted(zip(*named, strict=True)))
    return found


def test_a_damaged_file_is_refused_or_gives_the_rows_of_the_whole_one(tmp_path: Path) -> None:
    path = built(tmp_path, knowledge())
    whole, draw = path.read_bytes(), random.Random(13)
    patterns = [parse_group(text, {}, None).pattern for text in PATTERNS]
    right = solutions(path, patterns, IRI("http://x/s3"))
    assert len(right[1]) > len(right[2]) > 0
    refused = 0
    for number in range(MUTANTS):
        mutant = bytearray(whole)
        MUTATIONS[number % len(MUTATIONS)](mutant, draw)
        damaged = tmp_path / "damaged.kb"
        damaged.unlink(missing_ok=True)
        damaged.write_bytes(mutant)
        try:
            assert solutions(damaged, patterns, IRI("http://x/s3")) == right, number
        except KnowledgeBaseError as error:
            assert str(damaged) in str(error)
            assert "spaseq kb build FILE… -o" in error.hint
            refused += 1
    assert refused > MUTANTS / 2


def engine_over(path: Path, rows: list[spaseq.Row], refresh_s: float | None = None) -> spaseq.Engine:
    engine = spaseq.Engine({DB: Source(str(path), refresh_s=refresh_s)})
    engine.register(query(BODY), rows.append)
    engine.push("http://x/stream", EVENT, 1)
    return engine


def test_a_file_that_is_overwritten_in_use_ends_the_run_by_name(tmp_path: Path) -> None:
    path, rows = built(tmp_path, "<http://x/s> <http://x/in> <http://x/room1> .\n"), []
    engine = engine_over(path, rows)
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\0")
    os.utime(path, ns=(1, 1))
    with pytest.raises(RunError, match="overwritten while it was in use") as caught:
        engine.push("http://x/stream", EVENT, 2)
    assert str(path) in str(caught.value)
    assert len(rows) == 1


def test_a_refreshed_file_that_is_overwritten_is_opened_again_at_once(tmp_path: Path) -> None:
    path, rows = built(tmp_path, "<http://x/s> <http://x/in> <http://x/room1> .\n"), []
    (tmp_path / "other").mkdir()
    other = built(tmp_path / "other", "<http://x/s> <http://x/in> <http://x/room222> .\n")
    engine = engine_over(path, rows, refresh_s=3600)
    path.write_bytes(other.read_bytes())
    os.utime(path, ns=(1, 1))
    engine.push("http://x/stream", EVENT, 2)
    assert [row["room"] for row in rows] == [IRI("http://x/room1"), IRI("http://x/room222")]
    path.write_bytes(b"SPASEQKB")
    with pytest.raises(RunError, match="cannot be used"):
        engine.push("http://x/stream", EVENT, 3)


CUT_OFF = """
import os, sys, spaseq
from spaseq.errors import RunError
engine = spaseq.Engine({"%s": sys.argv[1]})
engine.register(spaseq.parse(open(sys.argv[2]).read()), print)
engine.push("http://x/stream", "<http://x/s> <http://x/reads> 1 .", 1)
os.truncate(sys.argv[1], int(sys.argv[3]))
try:
    engine.push("http://x/stream", "<http://x/s1> <http://x/reads> 1 .", 2)
except RunError as error:
    print(error)
"""


@pytest.mark.parametrize("size", [0, 100, 5_000])
def test_a_file_that_is_cut_off_in_use_does_not_kill_the_process(tmp_path: Path, size: int) -> None:
    path = built(tmp_path, knowledge(2_000))
    (tmp_path / "q.rq").write_text(query(BODY).text)
    command = [sys.executable, "-c", CUT_OFF % DB, str(path), str(tmp_path / "q.rq"), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "overwritten while it was in use" in done.stdout


def test_a_file_that_is_cut_off_before_its_columns_are_read_is_an_error(tmp_path: Path) -> None:
    path = built(tmp_path, knowledge())
    prepared = Prepared.opened(Source(str(path)), DB, Dictionary())
    os.truncate(path, 1_000)
    with pytest.raises(KnowledgeBaseError, match="are damaged"):
        prepared.solved(parse_group("?s ?p ?o", {}, None).pattern)


@pytest.mark.parametrize(("entailed", "options"), [(b"false", ""), (b"true", " --entail rdfs")])
def test_a_file_of_the_last_format_is_refused_with_the_command_that_rebuilds_it(
    tmp_path: Path, entailed: bytes, options: str
) -> None:
    header = b'{"arrays": {}, "entailed": ' + entailed + b"}"
    path = tmp_path / "old.kb"
    path.write_bytes(b"SPASEQKB" + (1).to_bytes(4, "little") + len(header).to_bytes(4, "little") + header)
    with pytest.raises(KnowledgeBaseError, match="version 1 of the format, and 2 is read") as caught:
        Prepared.opened(Source(str(path)), DB, Dictionary())
    assert caught.value.hint == f"rebuild it with: spaseq kb build FILE… -o {path}{options}"


def test_a_damaged_length_takes_no_memory(tmp_path: Path) -> None:
    path = built(tmp_path, knowledge())
    whole = bytearray(path.read_bytes())
    whole[12:16] = (1 << 31).to_bytes(4, "little")
    path.write_bytes(whole)
    tracemalloc.start()
    try:
        with pytest.raises(KnowledgeBaseError, match="its header is damaged"):
            PreparedFile(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()
