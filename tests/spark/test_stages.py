"""Both stages, without a JVM, against the reference and the embedded engine."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from sparql_gpm.rdf_io import PROV_TIME
from sparql_gpm.terms import IRI
from spaseq.algebra.build import build
from spaseq.algebra.distribution import distribution
from spaseq.errors import RunError
from spaseq.inputs.arrow import texts_of
from spaseq.inputs.texts import InputText
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.lang.query_files import read_query
from spaseq.outputs.dead_letters import DeadLetters
from spaseq.outputs.rows import to_json
from spaseq.physical.program import compile_program
from spaseq.runtime.spark.shard_partitioner import stable_hash
from spaseq.runtime.spark.sources.directory import Directory, FilePosition
from spaseq.runtime.spark.sources.rows import batch
from tests.conformance.cases import Case, every_case, graph_names, multiset
from tests.drawn import drawn
from tests.driving import comparable
from tests.pairs import EVALUATORS
from tests.reference.api import evaluate
from tests.reference.stream import Arrivals
from tests.spark.pipeline import MicroBatch, job_of, run_stages
from tests.strategies.keyed import keyed_queries
from tests.strategies.late import late_queries
from tests.strategies.limited import limited_queries
from tests.strategies.named import named_queries
from tests.strategies.query import queries
from tests.strategies.register import register_queries
from tests.strategies.stream import Arrived, batches, cuts, interleaved, late, streams, to_nquads

SECOND = 1_000_000_000
PAIRS = drawn(300)
KEYED = """PREFIX : <http://ex.org/> SELECT ?k WITHIN 9 SECONDS SLIDING FROM STREAM S1 <http://ex.org/s1>
    WHERE { SEQ(A ; B) DEFINE GPM A ON S1 { ?x :a ?k } DEFINE GPM B ON S1 { ?y :b ?k } }"""
END = InputText(b"#!spaseq end", "end")


def _document(events: Sequence[Arrived]) -> InputText:
    return InputText(to_nquads([event[1:] for event in events]).encode() + b"\n", "document")


def _micro_batches(blocks: Sequence[Sequence[Arrived]], names: Sequence[str], tasks: int) -> list[MicroBatch]:
    """Each block as a micro-batch; the events of a stream are divided among some tasks, in order."""
    found: list[dict[str, list[list[InputText]]]] = []
    for block in blocks:
        batch = {}
        for name in names:
            own = [event for event in block if event[0] == name]
            each = -(-len(own) // tasks)
            batch[name] = [[_document(own[i : i + each])] for i in range(0, len(own), each)] if own else []
        found.append(batch)
    return [*found, {name: [[END]] for name in names}]


def _able(query: Query) -> list[tuple[str, bool]]:
    """For each evaluator that can run a query its option, and whether kernels are compiled for it; `auto` first."""
    compiled = compile_program(build(query))
    return [("auto", False), *((e.option, e.compiled) for e in EVALUATORS.values() if e.why_not(compiled) is None)]


KINDS = (queries(), late_queries(), keyed_queries(), register_queries(), named_queries(), limited_queries())


@given(st.data())
@settings(max_examples=PAIRS)
def test_both_stages_equal_the_reference_whatever_the_micro_batches_tasks_and_shards(data: st.DataObject) -> None:
    text = data.draw(data.draw(st.sampled_from(KINDS)))
    query = parse(text, "q")
    names = [stream.name for stream in query.streams]
    arrivals: dict[str, Arrivals] = {n: events for n, events in data.draw(streams()).items() if n in names}
    delay = data.draw(st.sampled_from((0, 2, 5))) * SECOND
    disordered = {name: data.draw(late(events, delay)) for name, events in arrivals.items()} if delay else arrivals
    arrived = interleaved(disordered) if not delay else [(n, *e) for n, events in disordered.items() for e in events]
    blocks = batches(arrived, data.draw(cuts(len(arrived))))
    static, shards = data.draw(st.booleans()), data.draw(st.sampled_from((1, 4)))
    evaluator = data.draw(st.sampled_from(_able(query)))
    note(f"{text}\nstatic {static}, shards {shards}, delay {delay}, {evaluator}, {distribution(build(query))}")
    for name, events in disordered.items():
        note(f"# {name}\n{to_nquads(events)}")
    found = run_stages(
        job_of([query], names, shards, delay, static, None, *evaluator),
        _micro_batches(blocks, names, data.draw(st.sampled_from((1, 2)))),
    )
    assert found.letters == []
    assert Counter(map(comparable, found.rows)) == Counter(map(comparable, evaluate(query, arrivals)))


def _ways() -> Iterator[Any]:
    """Cases are static and streaming in turn; `make thorough` has each in both ways."""
    for number, case in enumerate(every_case()):
        name = f"{case.folder.parent.name}/{case.folder.name}"
        static, streaming = (() if number % 2 == way else pytest.mark.thorough for way in (0, 1))
        yield pytest.param(case, True, 4, id=f"{name}-static", marks=static)
        yield pytest.param(case, False, 1, id=f"{name}-streaming", marks=streaming)


@pytest.mark.parametrize(("case", "static", "shards"), [*_ways()])
def test_a_case_gives_its_rows(case: Case, static: bool, shards: int) -> None:
    parsed = [read_query(path) for path in case.queries]
    formats = {name: "trig" if path.suffix == ".trig" else "nquads" for name, path in case.streams.items()}
    rows = {n: [InputText(p.read_bytes(), str(p), 0, formats[n])] for n, p in case.streams.items()}
    first: Mapping[str, list[list[InputText]]] = {name: [own] for name, own in rows.items()}
    job = job_of(parsed, list(rows), shards, 0, static, {iri: str(path) for iri, path in case.kbs.items()})
    found = run_stages(job, [first, {name: [[END]] for name in rows}])
    lines = [json.loads(to_json(row)) for row in found.rows if row.query == "query"]
    known = graph_names(case)
    assert multiset(lines, known) == multiset(case.expected, known)


@pytest.mark.parametrize("name", ["a.nq", "a.nq.gz", "a.trig"])
def test_text_that_stays_in_its_file_gives_the_same_rows_and_the_same_dead_letters(tmp_path: Path, name: str) -> None:
    lines = [
        f"GRAPH <urn:e{n}> {{ _:x :{verb} {n % 7} . <urn:e{n}> <{PROV_TIME}> "
        f'"2026-01-01T00:{n // 60:02d}:{n % 60:02d}Z"'
        f"^^<http://www.w3.org/2001/XMLSchema#dateTime> }}\n{'this is no triple .' if n % 50 == 9 else ''}"
        for n in range(200)
        for verb in ["a" if n % 3 else "b"]
    ]
    text = "@prefix : <http://ex.org/> .\n" + "\n".join(lines)
    if not name.endswith("trig"):
        quads = ox.parse(re.sub("this is.*", "", text).encode(), ox.RdfFormat.TRIG)
        text = re.sub(
            "(?m)(^.*urn:e.*9> .$)", r"\1\nno quad", ox.serialize(quads, format=ox.RdfFormat.N_QUADS).decode()
        )
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    ranges = list(Directory(str(path)).ranges(FilePosition(), 5000))
    assert len(ranges) > 5 or name != "a.nq"
    inline = [list(s.texts()) for s in ranges]
    left = [[InputText(b"", s.file, s.line, s.format, s.opened)] for s in ranges]
    query = parse(KEYED, "q")
    job = job_of([query], ["S1"], 4, 0, False)
    here, there = (run_stages(job, [{"S1": rows}, {"S1": [[END]]}]) for rows in (inline, left))
    assert Counter(map(comparable, there.rows)) == Counter(map(comparable, here.rows)) != Counter()
    assert Counter(there.letters) == Counter(here.letters) != Counter()


def test_compiled_readers_give_the_same_rows_and_the_same_dead_letters() -> None:
    lines = []
    for second in range(400):
        name, verb = f"<urn:e{second}>", "a" if second % 3 else "b"
        time = f'"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
        lines += [f"{name} <http://www.w3.org/ns/prov#generatedAtTime> {time} ."]
        lines += [f'_:x <http://ex.org/{verb}> "{second % 7}" {name} .', f"this is no quad {second}"]
    document = InputText("\n".join(lines).encode() + b"\n", "document")
    query = parse(KEYED, "q")
    job = job_of([query], ["S1"], 4, 0, False)
    compiled = replace(job, options=replace(job.options, compiled=True))
    plain, fast = (run_stages(each, [{"S1": [[document]]}, {"S1": [[END]]}]) for each in (job, compiled))
    assert Counter(map(comparable, fast.rows)) == Counter(map(comparable, plain.rows)) != Counter()
    assert Counter(fast.letters) == Counter(plain.letters) and len(fast.letters) == 400


def test_a_trailing_negation_is_reported_in_the_micro_batch_in_which_any_shard_has_gone_past_its_window() -> None:
    """There are no timers: each task tells every shard how far the stream has come, also those that get no event."""
    text = """PREFIX : <http://ex.org/> SELECT ?x WITHIN 10 SECONDS SLIDING PARTITION BY ?x
    FROM STREAM S1 <http://ex.org/s1> WHERE {
      SEQ(A ; B!) DEFINE GPM A ON S1 { ?x :a ?n } DEFINE GPM B ON S1 { ?x :b ?m } }"""
    query = parse(text, "q")

    def event(second: int, subject: str) -> MicroBatch:
        stamp = f'"2026-01-01T00:00:{second:02d}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
        lines = f"<urn:e{second}> <http://www.w3.org/ns/prov#generatedAtTime> {stamp} .\n"
        return {"S1": [[InputText(f'{lines}<{subject}> <http://ex.org/a> "1" <urn:e{second}> .\n'.encode(), "d")]]}

    key = "urn:x0"
    others = [name for name in (f"urn:x{n}" for n in range(1, 50)) if _home(name) != _home(key)]
    found = run_stages(job_of([query], ["S1"], 4, 0, False), [event(0, key), event(11, others[0])])
    assert [dict(row.bindings)["x"] for row in found.rows] == [IRI(key)]


def _home(subject: str) -> int:
    return stable_hash([f"<{subject}>".encode()]) % 4


@pytest.mark.parametrize("damage", ["short", "shorter", "checksum"])
@pytest.mark.parametrize("name", ["a.nq.gz", "a.trig.gz", "a.ttl.gz"])
def test_an_input_that_breaks_off_is_known_by_the_kind_of_its_letter(tmp_path: Path, name: str, damage: str) -> None:
    forged, path = tmp_path / "b.nq", tmp_path / name
    forged.write_text("the input breaks off: really\n")
    time = f'<{PROV_TIME}> "2026-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    text = {
        "a.nq.gz": f"<urn:e> {time} .\n" + "".join(f"<urn:x> <urn:a> <urn:o{n * n}> <urn:e> .\n" for n in range(3000)),
        "a.trig.gz": "".join(f"<urn:e{n}> {{ <urn:e{n}> {time} . <urn:x> <urn:p{n * n}> 2 }}\n" for n in range(1000)),
        "a.ttl.gz": f"<urn:e> {time} .\n" + "".join(f"<urn:x> <http://ex.org/a> {n * n} .\n" for n in range(3000)),
    }[name]
    packed = gzip.compress(text.encode(), mtime=0)
    path.write_bytes({"short": packed[:-6], "shorter": packed[:-400], "checksum": packed[:-8] + bytes(8)}[damage])
    (part,) = Directory(str(path)).ranges(FilePosition(), 5000)
    batches = map(batch, part.texts())
    inline = [row for cells in batches for row in texts_of(cells, cells.schema.names, "")]
    left = [InputText(b"", part.file, part.line, part.format, part.opened)]
    found = []
    for rows in (left, inline, list(next(Directory(str(forged)).ranges(FilePosition(), 5000)).texts())):
        outcome, letters = run_stages(job_of([parse(KEYED, "q")], ["S1"], 1, 0, True), [{"S1": [rows]}]), DeadLetters()
        for letter in outcome.letters:
            letters.add(letter)
        found.append(({letter.reason for letter in outcome.letters}, Counter(map(comparable, outcome.rows)), letters))
    assert found[0][:2] == found[1][:2]
    for _, _, letters in found[:2]:
        assert letters.counts["truncated"] and not letters.counts["late"]
        with pytest.raises(RunError, match=r"gz: the input breaks off: the compressed data"):
            letters.check_whole()
    assert found[2][2].counts == {"malformed": 1}
    found[2][2].check_whole()
