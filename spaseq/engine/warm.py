"""All kernels compiled beforehand, by small jobs, so that no run and no Spark executor has to compile them.

What a kernel is compiled for does not depend on the query, only on the evaluator and the kind of window: these jobs, of
register automata, of CEA and of OVER MATCHES, and readings of TriG, Jelly and NDJSON, call every kernel with every type
that it is ever given.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pyoxigraph as ox

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME, ReadOptions, read_events
from sparql_gpm.terms import IRI, XSD
from spaseq.algebra.build import build
from spaseq.engine import staged
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.inputs.texts import InputText
from spaseq.lang.parse import parse
from spaseq.outputs.jelly_frames import JellyFrames
from spaseq.runtime.spark.shuffle_blocks import ShuffleBlock
from spaseq.runtime.spark.tasks import Task

_STREAM = "urn:stream"
_QUERY = """SELECT ?s ?a ?c WITHIN 120 SECONDS SLIDING PARTITION BY ?s FROM STREAM S <urn:stream> WHERE {{
  SEQ(A : B : C)
  DEFINE GPM A ON S {{ ?s <urn:a> ?a }}
  DEFINE GPM B ON S {{ ?s <urn:a> ?b {condition} }}
  DEFINE GPM C ON S {{ ?s <urn:c> ?c }}
}}"""
_OVER = """SELECT OVER MATCHES ?s (COUNT(*) AS ?matches) WITHIN 120 SECONDS {window} PARTITION BY ?s
FROM STREAM S <urn:stream> WHERE {{
  SEQ(A : B)
  DEFINE GPM A ON S {{ ?s <urn:a> ?a }}
  DEFINE GPM B ON S {{ ?s <urn:a> ?b }}
}} GROUP BY ?s"""
_JOBS = (
    ("nfa", _QUERY.format(condition="FILTER(?b > ?a)")),
    ("cea", _QUERY.format(condition="")),
    ("auto", _OVER.format(window="")),
    ("auto", _OVER.format(window="SLIDING")),
    ("auto", _OVER.format(window="EVERY 1 SECOND")),
)
_MICRO_BATCHES = 4
_EVENTS = 400
"""In each micro-batch: its text is long enough for the kernels of the reader, and runs expire."""
_OBJECTS = 100_000
"""New objects after which garbage is looked for."""
_SUBJECTS = 300
"""So many partitions that their tables grow."""


def compile_kernels(only: str | None = None) -> None:
    """Compile what is not compiled yet, of one evaluator or of all; a minute of processor time.

    only    "cea" or "registers"
    """
    with _seldom_collected():
        for evaluator, text in _JOBS if only is None else (_JOBS[1 if only == "cea" else 0],):
            _run_staged(evaluator, text)
        if only is None:
            _run_together()
            _read_units()
            _scan_json()


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """The compiler makes many small objects and little garbage: looking for it takes a fifth of its time."""
    thresholds = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _run_staged(evaluator: str, text: str) -> None:
    """Run a query in micro-batches."""
    query = build(parse(text, "warm"))
    plans = staged.planned([query], 1, evaluator, compiled=True)
    job = staged.StagedJob(plans, {}, RunOptions(evaluator=evaluator, compiled=True), {_STREAM: "S"}, 1, False)
    shards, state = staged.Shards(job), None
    for number in range(_MICRO_BATCHES):
        shard = shards.shard(0)
        if state is not None:
            shard.restore(state)
        shard.process(list(_blocks(job, number)))
        state = shard.snapshot()
    shards.close()


def _run_together() -> None:
    """Run queries OVER MATCHES that are counted together."""
    queries = [parse(_OVER.format(window=window), f"warm {window}") for window in ("", "EVERY 1 SECOND")]
    with TemporaryDirectory() as folder:
        path = Path(folder, "warm.nq")
        path.write_text(_text(0))
        for _ in Job(queries, {"S": str(path)}, options=RunOptions(compiled=True)).rows():
            pass


def _read_units() -> None:
    """Read TriG and Jelly by their kernels."""
    trig = "\n".join(f"<urn:e{number}> {{ <urn:s> <urn:p> {number} }}" for number in range(_EVENTS))
    jelly = JellyFrames().frame(ox.parse(_text(0), ox.RdfFormat.N_QUADS))
    options = ReadOptions(compiled=True, arrival_time=lambda: 0)
    for text, form in ((trig.encode(), "trig"), (jelly, "jelly")):
        for batch in read_events(BytesIO(text), form, Dictionary(), options, print):
            assert len(batch)


def _scan_json() -> None:
    """Scan NDJSON by its kernel."""
    from spaseq.inputs.tables.json_scan import JsonScanner

    rows, odd = JsonScanner([("s",)]).rows(b'{"s": 1}', 0)
    assert len(rows.numbers) and not odd


def _blocks(job: staged.StagedJob, number: int) -> Iterator[ShuffleBlock]:
    source = staged.stream_input(job, 0, _STREAM, "nquads", "documents")
    partitioner, dictionary, bases = staged.shard_partitioner(staged.reading(job, _STREAM), _STREAM)
    task = Task(source, partitioner, dictionary, bases, 0, f"{number}.0")
    yield from task.blocks([InputText(_text(number * _EVENTS).encode())])
    dictionary.find(IRI(_STREAM))
    bases.close()


def _text(first: int) -> str:
    """Events of a second each; every third is of one subject, so that it has many runs, some of which are matches."""
    lines = []
    for number in range(first, first + _EVENTS):
        minutes, second = divmod(number, 60)
        time = f"2026-01-01T{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}Z"
        subject = number % _SUBJECTS if number % 3 else 0
        name = f"<urn:e{number}>"
        lines.append(f'{name} <{PROV_TIME}> "{time}"^^<{XSD}dateTime> .')
        predicate = "a" if number % 99 else "c"
        kind = f"^^<{XSD}integer>" if number % 5 else ""  # kernels ask Python to compare strings
        lines.append(f'<urn:s{subject}> <urn:{predicate}> "{number}"{kind} {name} .')
    return "\n".join(lines) + "\n"
