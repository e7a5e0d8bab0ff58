"""Inputs in any order become the stream that they would have been in order."""

from __future__ import annotations

import gzip
import random
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
import zstandard
from click.testing import CliRunner, Result

from sparql_gpm.rdf_io import PROV_TIME
from sparql_gpm.terms import XSD
from spaseq.cli import main
from spaseq.inputs import external_sort
from spaseq.inputs.external_sort import ExternalSort
from tests.sparql_gpm.rdf_events import read

QUERY = """PREFIX : <http://ex.org/>
SELECT ?x ?y WITHIN 1000 SECONDS FROM STREAM S1 <http://ex.org/s1>
WHERE { SEQ(A ; B) DEFINE GPM A ON S1 { ?a a :A ; :v ?x } DEFINE GPM B ON S1 { ?b a :B ; :v ?y } }
"""
EX = "http://ex.org/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
EVENTS = 12


def spaseq(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def time_line(number: int, second: int) -> str:
    time = f'"2026-01-01T00:00:{second:02}Z"^^<{XSD}dateTime>'
    return f"<urn:e{number}> <{PROV_TIME}> {time} .\n"


def quads(number: int) -> list[str]:
    kind = "AB"[number % 2]
    return [
        f"<urn:n{number}> <{RDF_TYPE}> <{EX}{kind}> <urn:e{number}> .\n",
        f'<urn:n{number}> <{EX}v> "{number}" <urn:e{number}> .\n',
        f'_:b{number} <{EX}says> "a _:b \\" <x> é\\n" <urn:e{number}> .\n',
    ]


def in_order(inside: bool = False) -> str:
    """The events as a stream has them; the time of some is inside their graphs."""
    lines = []
    for number in range(EVENTS):
        time = time_line(number, number)
        if inside and number % 3 == 0:
            lines += [time.replace(" .\n", f" <urn:e{number}> .\n"), *quads(number)]
        else:
            lines += [time, *quads(number)]
    return "".join(lines)


def by_rdflib(rdf_format: str) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its own code uses what it deprecates
        dataset = rdflib.Dataset()
        dataset.parse(data=in_order(), format="nquads")
        return dataset.serialize(format=rdf_format, encoding="utf-8")


def as_jena_writes() -> bytes:
    """The default graph first, then the named graphs."""
    times = "".join(time_line(number, number) for number in range(EVENTS))
    return (times + "".join("".join(quads(number)) for number in reversed(range(EVENTS)))).encode()


def by_a_store() -> bytes:
    """A dump in the order of a store's index."""
    store = ox.Store()
    store.load(in_order().encode(), format=ox.RdfFormat.N_QUADS)
    dumped = store.dump(format=ox.RdfFormat.N_QUADS)
    assert dumped is not None
    return dumped


ORDINARY = {
    "rdflib.nq": lambda: by_rdflib("nquads"),
    "rdflib.trig": lambda: by_rdflib("trig"),
    "jena.nq": as_jena_writes,
    "store.nq": by_a_store,
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The rows of the stream in order."""
    folder = tmp_path_factory.mktemp("ordered")
    (folder / "pairs.rq").write_text(QUERY)
    (folder / "in.nq").write_text(in_order())
    result = spaseq("run", folder / "pairs.rq", "--stream", f"S1={folder / 'in.nq'}", "--format", "ndjson")
    assert result.exit_code == 0 and len(result.stdout.splitlines()) > 5
    return result.stdout


@pytest.mark.parametrize("name", ORDINARY)
def test_data_of_ordinary_serializers_gives_its_rows_with_one_option(tmp_path: Path, rows: str, name: str) -> None:
    (tmp_path / "pairs.rq").write_text(QUERY)
    (tmp_path / name).write_bytes(ORDINARY[name]())
    stream = f"S1={tmp_path / name}"
    assert spaseq("run", tmp_path / "pairs.rq", "--stream", stream, "--format", "ndjson").stdout != rows
    result = spaseq("run", tmp_path / "pairs.rq", "--stream", stream, "--format", "ndjson", "--unordered")
    assert (result.stdout, result.exit_code) == (rows, 0)
    assert "dead letter" not in result.stderr


@pytest.mark.parametrize("name", ORDINARY)
def test_sorted_data_is_a_stream(tmp_path: Path, rows: str, name: str) -> None:
    (tmp_path / "pairs.rq").write_text(QUERY)
    (tmp_path / name).write_bytes(ORDINARY[name]())
    for suffix in (".nq", ".trig.gz", ".nq.zst"):
        output = tmp_path / f"sorted{suffix}"
        assert spaseq("sort", tmp_path / name, "-o", output, "--memory", "1K").exit_code == 0
        result = spaseq("run", tmp_path / "pairs.rq", "--stream", f"S1={output}", "--format", "ndjson")
        assert (result.stdout, result.exit_code) == (rows, 0)


@pytest.mark.parametrize("memory", ["1", "700", "1G"])
def test_shuffled_quads_come_back_byte_for_byte(tmp_path: Path, memory: str) -> None:
    """Quads of one event keep their order; so only events are interleaved."""
    draw = random.Random(20261123)
    for _ in range(5):
        waiting = [[time_line(number, number), *quads(number)] for number in range(EVENTS)]
        for lines in waiting:
            lines.insert(draw.randrange(4), lines.pop(0))
        mixed = []
        while waiting:
            lines = draw.choice(waiting)
            mixed.append(lines.pop(0))
            waiting = [each for each in waiting if each]
        (tmp_path / "in.nq").write_text("".join(mixed))
        assert spaseq("sort", tmp_path / "in.nq", "-o", tmp_path / "out.nq", "--memory", memory).exit_code == 0
        assert (tmp_path / "out.nq").read_text() == in_order()


@pytest.mark.parametrize("inside", [False, True])
def test_a_sorted_input_comes_back_byte_for_byte(tmp_path: Path, inside: bool) -> None:
    (tmp_path / "in.nq").write_text(in_order(inside))
    spaseq("sort", tmp_path / "in.nq", "-o", tmp_path / "out.nq")
    assert (tmp_path / "out.nq").read_text() == in_order(inside)
    spaseq("sort", tmp_path / "in.nq", "-o", tmp_path / "once.trig")
    spaseq("sort", tmp_path / "once.trig", "-o", tmp_path / "twice.trig")
    assert (tmp_path / "twice.trig").read_bytes() == (tmp_path / "once.trig").read_bytes()
    assert same_events((tmp_path / "once.trig").read_text(), "trig", in_order(inside))


def test_statements_between_carriage_returns_go_each_to_the_event_of_its_graph(tmp_path: Path) -> None:
    (tmp_path / "in.nq").write_bytes(in_order().replace("\n", "\r").encode())
    spaseq("sort", tmp_path / "in.nq", "-o", tmp_path / "out.nq")
    assert (tmp_path / "out.nq").read_text() == in_order()
    several = "".join([quads(2)[0], time_line(2, 2), quads(1)[0], time_line(1, 1)])
    (tmp_path / "in.nq").write_bytes(several.replace("\n", "\r").encode())
    spaseq("sort", tmp_path / "in.nq", "-o", tmp_path / "out.nq")
    assert (tmp_path / "out.nq").read_text() == time_line(1, 1) + quads(1)[0] + time_line(2, 2) + quads(2)[0]


def same_events(text: str, rdf_format: str, nquads: str) -> bool:
    """True if the events are the same, whatever the labels of blank nodes."""
    (found, reports), (expected, _) = read(text, rdf_format), read(nquads)
    assert reports == []
    return [each.name for each in found] == [each.name for each in expected] and all(
        one.time == other.time and sorted(map(unlabelled, one.triples)) == sorted(map(unlabelled, other.triples))
        for one, other in zip(found, expected, strict=True)
    )


def unlabelled(triple: str) -> str:
    return "_:x" + triple[triple.index(" ") :] if triple.startswith("_:") else triple


def test_equal_times_stay_in_the_order_of_their_first_quads(tmp_path: Path) -> None:
    lines = [quads(5)[0], quads(3)[0], time_line(3, 1), quads(4)[0], time_line(4, 1), time_line(5, 1), time_line(9, 0)]
    (tmp_path / "in.nq").write_text("".join(lines))
    spaseq("sort", tmp_path / "in.nq", "-o", tmp_path / "out.nq")
    events, _ = read((tmp_path / "out.nq").read_text())
    assert [event.name for event in events] == ["urn:e9", "urn:e5", "urn:e3", "urn:e4"]


def test_a_graph_in_several_inputs_is_one_event_and_blank_nodes_belong_to_their_file(tmp_path: Path) -> None:
    (tmp_path / "a.nq").write_text(f"{time_line(1, 1)}_:b <urn:p> <urn:o> <urn:e1> .\n")
    (tmp_path / "b.trig.gz").write_bytes(gzip.compress(b"<urn:e1> { _:b <urn:p> <urn:o> . [ <urn:p> <urn:o> ] }"))
    (tmp_path / "c.ttl").write_text(f'<urn:s> <{PROV_TIME}> "1970-01-01T00:00:00Z"^^<{XSD}dateTime> .')
    inputs = [tmp_path / name for name in ("a.nq", "b.trig.gz", "c.ttl")]
    result = spaseq("sort", *inputs, "-o", tmp_path / "out.nq")
    assert result.exit_code == 0, result.stderr
    events, reports = read((tmp_path / "out.nq").read_text())
    assert reports == []
    assert [(event.name, len(event.triples)) for event in events] == [("urn:spaseq:event:S:0", 1), ("urn:e1", 3)]
    assert len({triple.split()[0] for triple in events[1].triples}) == 3


def test_what_cannot_be_sorted_is_a_dead_letter_with_its_place(tmp_path: Path) -> None:
    bad = "<urn:s> <urn:p> nothing <urn:e1> .\n"
    relative = "<urn:s> <urn:p> <relative> <urn:e1> .\n"
    again = '<urn:e2> <urn:p> "x" .\n'
    text = [
        quads(1)[0],
        quads(2)[0],
        bad,
        time_line(1, 1),
        relative,
        again,
        time_line(2, 3),
        time_line(2, 4),
        quads(3)[0],
    ]
    (tmp_path / "in.nq").write_text("".join(text))
    letters = tmp_path / "letters"
    result = spaseq("sort", tmp_path / "in.nq", "-o", tmp_path / "out.nq", "--dead-letter", letters)
    assert result.exit_code == 0
    assert (tmp_path / "out.nq").read_text() == time_line(1, 1) + quads(1)[0]
    found = letters.read_text().splitlines()
    assert [part for line in found for part in line.split(", ") if part.startswith('"line"')] == [
        '"line": 3', '"line": 5', '"line": 8', '"line": 9',
    ]  # fmt: skip
    assert "two different timestamps" in found[2] and "no timestamp" in found[3]
    assert "state no time are left out: 1" in result.stderr
    strict = spaseq("sort", tmp_path / "in.nq", "-o", tmp_path / "out.nq", "--strict")
    assert strict.exit_code == 1 and "in.nq:3:17" in strict.stderr


def test_a_malformed_block_costs_its_event(tmp_path: Path) -> None:
    text = f"<urn:e1> {{ <urn:s> <urn:p> 1 }}\n{time_line(1, 1)}<urn:e1> {{\n <urn:s> <urn:p> ;; bad }}\n" + time_line(
        2, 2
    )
    (tmp_path / "in.trig").write_text(text)
    result = spaseq("sort", tmp_path / "in.trig", "-o", tmp_path / "out.nq", "--dead-letter", tmp_path / "letters")
    assert result.exit_code == 0
    assert (tmp_path / "out.nq").read_text() == time_line(2, 2)
    assert '"line": 4' in (tmp_path / "letters").read_text()


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_truncated_input_is_used_as_far_as_it_goes(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    draw = random.Random(5)
    noise = "".join(f'<urn:x> <urn:p> "{draw.getrandbits(900)}" <urn:e1> .\n' for _ in range(4000))
    packed = pack((in_order() + noise).encode())
    (tmp_path / "in.nq").write_bytes(packed[: len(packed) // 2])
    result = spaseq("sort", tmp_path / "in.nq", "-o", tmp_path / "out.nq")
    assert result.exit_code == 1 and "breaks off" in result.stderr
    assert len(read((tmp_path / "out.nq").read_text())[0]) == EVENTS - 1


@pytest.mark.parametrize(
    ("name", "message"), [("in.nq", "is an input"), ("out.csv", "the suffix"), ("no/o.nq", "cannot write")]
)
def test_an_output_that_cannot_be_written_is_bad_usage(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "in.nq").write_text(in_order())
    result = spaseq("sort", tmp_path / "in.nq", "-o", tmp_path / name)
    assert result.exit_code == 2 and message in result.stderr
    assert (tmp_path / "in.nq").read_text() == in_order()


def test_nothing_to_write_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "in.nq").write_text(quads(1)[0])
    result = spaseq("sort", tmp_path / "in.nq", "-o", tmp_path / "out.nq")
    assert result.exit_code == 1 and "--time-predicate" in result.stderr


def test_records_are_sorted_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_sort, "RUNS_MAX", 3)
    draw = random.Random(1)
    for memory in (1, 1000, 5000, 10**6):
        records = [(draw.randbytes(2), number, draw.randbytes(draw.randrange(9))) for number in range(200)]
        sort = ExternalSort(memory)
        for record in records:
            sort.add(record)
        assert list(sort) == sorted(records)


@pytest.mark.parametrize("suffixes", [(".nq", ".trig"), (".trig.zst", ".nq.gz"), (".nq.zst", ".trig.gz")])
def test_events_are_the_same_in_every_format(tmp_path: Path, suffixes: Sequence[str]) -> None:
    (tmp_path / "in.nq").write_text(in_order(inside=True))
    path = tmp_path / "in.nq"
    for number, suffix in enumerate((*suffixes, ".nq")):
        output = tmp_path / f"out{number}{suffix}"
        assert spaseq("convert", path, "-o", output).exit_code == 0
        path = output
    assert same_events(path.read_text(), "nquads", in_order(inside=True))


def test_peek_shows_the_first_event_of_each_input_or_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.nq").write_text(in_order())
    (tmp_path / "b.nq").write_text(in_order().replace(PROV_TIME, "http://www.w3.org/ns/sosa/resultTime"))
    shown = spaseq("peek", tmp_path / "a.nq")
    assert shown.exit_code == 0
    assert same_events(shown.stdout, "trig", "".join(in_order().splitlines(keepends=True)[:4]))
    missing = spaseq("peek", tmp_path / "a.nq", tmp_path / "b.nq")
    assert missing.exit_code == 1
    assert same_events(missing.stdout, "trig", "".join(in_order().splitlines(keepends=True)[:4]))
    assert "--time-predicate" in missing.stderr
