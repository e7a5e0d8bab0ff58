"""Rows of `growth.py` for live engines with many queries, and for queries with many streams."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import spaseq
from benchmarks.figures import run_process
from benchmarks.growth_rows import processor_us, row
from sparql_gpm.terms import IRI, Literal
from spaseq.lang.parse import parse

STREAM = "http://ex.org/s"
HOUSES = 10_000
"""Subjects of events, at least; a query is about one of them."""
TOUCHED = 10
"""Queries that events touch where all others are to cost nothing."""
_PUSHES = 1_000
_QUICK_PUSHES = 100
_TWICE = math.log(2, 10_000)
"""The exponent of what takes twice as long at 10,000 as at one."""
_REPEATS = 3
_ALTERNATE = 200
_STARTS = 5
"""Runs of a process, of which the least counts: what else the machine does only adds."""
_QUERY = """PREFIX : <http://ex.org/>
SELECT * WITHIN 1 HOURS SLIDING FROM STREAM S <http://ex.org/s>
WHERE {{ SEQ(A ; B)
  DEFINE GPM A ON S {{ :h{house} :low ?v }}
  DEFINE GPM B ON S {{ :h{house} :high ?w FILTER (?w > ?v) }}
}}"""
_THRESHOLDS = """PREFIX : <http://ex.org/>
SELECT * WITHIN 1 HOURS SLIDING FROM STREAM S <http://ex.org/s>
WHERE {{ SEQ(A ; B)
  DEFINE GPM A ON S {{ ?h :low ?v FILTER (?v > {low} && ?v < {high}) }}
  DEFINE GPM B ON S {{ ?h :high ?w FILTER (?w < -{high}) }}
}}"""
_FOUR_STEPS = """PREFIX : <http://ex.org/>
SELECT * WITHIN {minutes} MINUTES SLIDING FROM STREAM S <http://ex.org/s>
WHERE {{ SEQ({steps})
  DEFINE GPM A ON S {{ ?h :a ?v }} DEFINE GPM B ON S {{ ?h :b ?w }} DEFINE GPM C ON S {{ ?h :c ?x }}
  DEFINE GPM D ON S {{ ?h :d ?y }} DEFINE GPM E ON S {{ ?h :e ?z }}
}}"""
Triples = Sequence[tuple[IRI, IRI, Literal]]


def two_steps(house: int) -> str:
    """The text of a query about one house."""
    return _QUERY.format(house=house)


def event(house: int, predicate: str, value: int) -> Triples:
    """An event about one house."""
    number = Literal(str(value), "http://www.w3.org/2001/XMLSchema#integer")
    return [(IRI(f"http://ex.org/h{house}"), IRI(f"http://ex.org/{predicate}"), number)]


def events(count: int, houses: int) -> list[Triples]:
    """Events about random houses, ready to be pushed."""
    drawn = random.Random(1)
    return [event(drawn.randrange(houses), drawn.choice(("low", "high")), n % 100) for n in range(count)]


def engine_of(queries: Sequence[str]) -> spaseq.Engine:
    """A live engine with some queries."""
    engine = spaseq.Engine()
    for number, text in enumerate(queries):
        engine.register(parse(text, f"q{number}"))
    return engine


def push_all(engine: spaseq.Engine, pushed: Sequence[Triples], begin: int) -> None:
    """Push events one by one, a second apart."""
    for second, triples in enumerate(pushed, begin):
        engine.push(STREAM, triples, second)


@contextmanager
def counted(owner: type, name: str) -> Iterator[list[None]]:
    """An entry for each call of a method inside."""
    calls: list[None] = []
    method = getattr(owner, name)

    def call(*arguments: Any) -> Any:
        calls.append(None)
        return method(*arguments)

    setattr(owner, name, call)
    try:
        yield calls
    finally:
        setattr(owner, name, method)


def _visits(engine: spaseq.Engine, ready: Sequence[Triples], begin: int) -> float:
    """How often an event visits a query."""
    from spaseq.runtime.embedded.operator import QueryOperator  # here: other commits have it elsewhere

    with counted(QueryOperator, "on_batch") as visits:
        push_all(engine, ready, begin)
    return len(visits) / len(ready)


def _pushes(engine: spaseq.Engine, ready: Sequence[Triples], quick: bool) -> Iterator[float]:
    """The same events some times over, one by one; the first time is not counted."""
    count = len(ready)
    push_all(engine, ready, 0)
    if quick:
        yield _visits(engine, ready, count)
        return
    for repeat in range(1, _REPEATS + 1):
        yield processor_us(partial(push_all, engine, ready, repeat * count), count)


@row(
    "one event beside queries about other things",
    "queries",
    "µs",
    sizes=(1, 100, 1_000, 10_000),
    exponent=0.1,
    bound=200,
    quick="visits a push",
    quick_sizes=(10, 200),
    quick_bound=1,
)
def beside_others(queries: int, quick: bool) -> Iterator[float]:
    """Each query is about one house, each event about one of the first ten: it touches one query, which is awake."""
    engine = engine_of([two_steps(house) for house in range(queries)])
    yield from _pushes(engine, events(_QUICK_PUSHES if quick else _PUSHES, min(queries, TOUCHED)), quick)


@row(
    "one event beside queries with other thresholds",
    "queries",
    "µs",
    sizes=(1, 100, 1_000, 10_000),
    exponent=0.2,
    bound=200,
    quick="visits a push",
    quick_sizes=(10, 200),
    quick_bound=1,
)
def beside_thresholds(queries: int, quick: bool) -> Iterator[float]:
    """Queries that differ in the range of one value: each event is in the range of one."""
    engine = engine_of([_THRESHOLDS.format(low=n, high=n + 1) for n in range(queries)])
    drawn, count = random.Random(4), _QUICK_PUSHES if quick else _PUSHES
    ready = [[_decimal(drawn.randrange(HOUSES), drawn.randrange(queries) + 0.5)] for _ in range(count)]
    yield from _pushes(engine, ready, quick)


def _decimal(house: int, value: float) -> tuple[IRI, IRI, Literal]:
    number = Literal(f"{value:.1f}", "http://www.w3.org/2001/XMLSchema#decimal")
    return IRI(f"http://ex.org/h{house}"), IRI("http://ex.org/low"), number


@row(
    "one event that touches a tenth of the queries, which share five patterns, a touched query",
    "queries",
    "µs",
    sizes=(100, 1_000),
    exponent=0.2,
    bound=200,
)
def shared_patterns(queries: int, quick: bool) -> Iterator[float]:
    """Events have one of 40 properties, of which five stand in patterns; each query has four of them as its steps."""
    drawn = random.Random(2)
    chosen = [drawn.sample("ABCDE", 4) for _ in range(queries)]
    engine = engine_of([_FOUR_STEPS.format(minutes=10 + n % 50, steps=" ; ".join(c)) for n, c in enumerate(chosen)])
    properties = [drawn.choice("ABCDE") if drawn.randrange(8) == 0 else f"other{n % 35}" for n in range(_ALTERNATE)]
    pushed = [event(n % 5, name.lower(), n) for n, name in enumerate(properties)]
    touched = sum(name in each for name in properties for each in chosen) / _ALTERNATE
    push_all(engine, pushed, 0)
    for repeat in range(1, _REPEATS + 1):
        yield processor_us(partial(push_all, engine, pushed, repeat * _ALTERNATE), _ALTERNATE) / touched


@row("a batch beside queries about other things, an event", "queries", "µs", sizes=(1, 1_000, 10_000), exponent=_TWICE)
def batch_beside_others(queries: int, quick: bool) -> Iterator[float]:
    """As `beside_others`, in batches of 2,000 events."""
    engine = engine_of([two_steps(house) for house in range(queries)])
    drawn = random.Random(3)
    for repeat in range(_REPEATS + 1):
        lines = []
        for n in range(2_000):
            subject, graph, second = f"http://ex.org/h{drawn.randrange(1_000 * queries)}", f"urn:{repeat}:{n}", n
            value = f'"{n % 100}"^^<http://www.w3.org/2001/XMLSchema#integer>'
            stamp = f'"2026-01-0{repeat + 1}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"'
            lines.append(f"<{subject}> <http://ex.org/low> {value} <{graph}> .")
            lines.append(f"<{graph}> <http://www.w3.org/ns/prov#generatedAtTime> ")
            lines[-1] += f"{stamp}^^<http://www.w3.org/2001/XMLSchema#dateTime> ."
        took = processor_us(partial(engine.push_batch, STREAM, "\n".join(lines) + "\n"), 2_000)
        if repeat:
            yield took


@row("registering one more query", "queries", "ms", sizes=(100, 1_000, 10_000), exponent=0.1, bound=2)
def registering(queries: int, quick: bool) -> Iterator[float]:
    """The last hundred of so many queries, parsed before."""
    parsed = [parse(two_steps(house), f"q{house}") for house in range(queries)]
    engine = spaseq.Engine()
    for query in parsed[:-100]:
        engine.register(query)

    def last() -> None:
        for query in parsed[-100:]:
            engine.register(query)

    yield processor_us(last, 100) / 1000


@row("parsing one more text, the same up to constants", "texts", "ms", sizes=(100, 1_000), exponent=0.1, bound=0.5)
def parsing(texts: int, quick: bool) -> Iterator[float]:
    """Texts that differ in the house that they name."""
    parse(two_steps(0))
    written = [two_steps(house) for house in range(1, texts + 1)]
    yield processor_us(lambda: [parse(text) for text in written], texts) / 1000


@row("memory of one more query", "queries", "kB", sizes=(100, 1_000), exponent=0.1, bound=20)
def memory(queries: int, quick: bool) -> Iterator[float]:
    """What Python has allocated for parsed and registered queries."""
    engine = engine_of([two_steps(0)])
    tracemalloc.start()
    for house in range(1, queries + 1):
        engine.register(parse(two_steps(house), f"q{house}"))
    yield tracemalloc.get_traced_memory()[0] / queries / 1000
    tracemalloc.stop()


@row("one event on one of the streams of a query", "streams", "µs", sizes=(1, 4, 16, 64), exponent=0.25, bound=60)
def many_streams(streams: int, quick: bool) -> Iterator[float]:
    """Events in order of time, from one stream after the other."""
    named = range(streams)
    declared = "\n".join(f"FROM STREAM S{n} <http://ex.org/s{n}>" for n in named)
    text = f"""PREFIX : <http://ex.org/>
SELECT * WITHIN 1 HOURS SLIDING {declared}
WHERE {{ SEQ(A ; B)
  DEFINE GPM A ON {", ".join(f"S{n}" for n in named)} {{ :h0 :low ?v }}
  DEFINE GPM B ON S0 {{ :h0 :high ?w }}
}}"""
    engine = engine_of([text])
    ready = events(_PUSHES, HOUSES)

    def push(begin: int) -> None:
        for second, triples in enumerate(ready, begin):
            engine.push(f"http://ex.org/s{second % streams}", triples, second)

    push(0)
    for repeat in range(1, _REPEATS + 1):
        yield processor_us(partial(push, repeat * _PUSHES), _PUSHES)


@row("starting, to validate a text", "texts", "s", sizes=(1,), exponent=0, bound=0.5)
def validating(texts: int, quick: bool) -> Iterator[float]:
    """The processor seconds of a process, for a text that was seen before."""
    yield from _process_seconds("validate", ())


@row("starting, to run over ten events", "texts", "s", sizes=(1,), exponent=0, bound=0.7)
def running(texts: int, quick: bool) -> Iterator[float]:
    """The processor seconds of a process, for a text that was seen before."""
    yield from _over_ten_events()


@row("starting, to run over ten events for the first time", "texts", "s", sizes=(1,), exponent=0, bound=1.0)
def running_first(texts: int, quick: bool) -> Iterator[float]:
    """The processor seconds of a process that keeps no parsed queries."""
    with patch.dict(os.environ, {"SPASEQ_QUERY_CACHE": "off"}):
        yield from _over_ten_events()


def _over_ten_events() -> Iterator[float]:
    lines = [
        f"<http://ex.org/h0> <http://ex.org/low> <http://ex.org/v> <urn:{n}> .\n"
        f'<urn:{n}> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:00:0{n}Z"'
        "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
        for n in range(10)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.nq"
        path.write_text("".join(lines), encoding="utf-8")
        yield from _process_seconds("run", ("--stream", f"S={path}", "--output", str(Path(folder) / "rows.ndjson")))


def _process_seconds(command: str, options: Sequence[str]) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "query.rq"
        path.write_text(two_steps(0), encoding="utf-8")
        arguments = [str(Path(sys.executable).with_name("spaseq")), command, str(path), *options]
        subprocess.run(arguments, check=True, capture_output=True)
        yield min(run_process(arguments).processor_seconds for _ in range(_STARTS))


@row(
    "memory of one more triple as a knowledge base is prepared",
    "triples",
    "B",
    sizes=(1_000_000,),
    exponent=0,
    bound=100,
)
def preparing(triples: int, quick: bool) -> Iterator[float]:
    """The greatest memory of `spaseq kb build`, beside what it takes for one triple."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.nt"
        command = [str(Path(sys.executable).with_name("spaseq")), "kb", "build", str(path), "-o", f"{folder}/kb.kb"]
        megabytes = []
        for size in (1, triples):
            with path.open("w", encoding="utf-8") as file:
                file.writelines(f'<http://ex.org/h{n // 2}> <http://ex.org/p{n % 2}> "{n}" .\n' for n in range(size))
            megabytes.append(run_process(command).rss_mb_max)
        yield (megabytes[1] - megabytes[0]) * (1 << 20) / triples
