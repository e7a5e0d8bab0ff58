"""What the fuzzer feeds, and what must hold: an input is used, or refused by an error that is meant for users."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np

import spaseq
from kb.errors import KnowledgeBaseError
from kb.local import load_graph
from kb.prepared_build import build
from kb.results import ResultReader
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import Malformed, ReadOptions, read_events
from sparql_gpm.reading import lines as line_reading
from sparql_gpm.terms import to_ntriples
from spaseq.errors import SPAseqError
from spaseq.lang.parse import check
from spaseq.runtime.state.snapshot import dumps, loads
from tests.fuzz import corpora, tables
from tests.fuzz.mutate import mutated
from tests.hostile import test_calls as calls
from tests.restarting import Restarting

REFUSED = (SPAseqError, KnowledgeBaseError)
_LABEL = re.compile(r"_:\S+")
"""Labels of blank nodes, which are chosen freely."""
_LINE_MAX = 4_000
"""`max_line` of a second reader."""


@dataclass(frozen=True, slots=True)
class Target:
    """One way in. `make` draws an input; `take` returns, or raises what is a finding; `share` is of 100 inputs."""

    name: str
    share: int
    make: Callable[[Random], bytes]
    take: Callable[[bytes], None]


class Finding(AssertionError):
    """An input was used in a wrong way."""


def _text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# --- queries -----------------------------------------------------------------------------------------


@cache
def _texts() -> tuple[bytes, ...]:
    return tuple(text.encode() for text in corpora.query_texts())


def _make_query(random: Random) -> bytes:
    text = corpora.random_query(random).encode() if random.random() < 0.3 else random.choice(_texts())
    return text if random.random() < 0.05 else mutated(random, text, _texts())


def take_query(data: bytes) -> None:
    """Problems have places inside the text; a valid query is explained, registered and run over a few events."""
    text = _text_of(data)
    query, problems = check(text)
    if (query is None) != any(problem.severity == "error" for problem in problems):
        raise Finding("a text without errors has no query, or one with errors has one")
    lines = text.splitlines() or [""]
    for problem in problems:
        if not (1 <= problem.line <= len(lines) + 1 and problem.column >= 1 and problem.message):
            raise Finding(f"a problem without a place: {problem}")
    if query is None:
        return
    with suppress(*REFUSED):
        spaseq.describe(query)
        with spaseq.Engine() as engine:
            engine.register(query)
            for number in range(4):
                for stream in query.streams:
                    engine.push(stream.iri, calls.turtle(number), number)


# --- streams -----------------------------------------------------------------------------------------

Read = tuple[list[tuple[str, int, list[str]]], list[tuple[str, int]]]


def _read(data: bytes, rdf_format: str, **options: object) -> Read:
    """The events as text, and the reports."""
    dictionary, reports = Dictionary(), list[Malformed]()
    events = []
    settings = ReadOptions(**options)  # type: ignore[arg-type]
    for batch in read_events(BytesIO(data), rdf_format, dictionary, settings, reports.append):
        events += _events(batch, dictionary)
    return events, [(report.kind, report.line) for report in reports]


def _events(batch: EventBatch, dictionary: Dictionary) -> list[tuple[str, int, list[str]]]:
    found = []
    for number, (name, time) in enumerate(zip(batch.names, batch.times.tolist(), strict=True)):
        rows = slice(batch.offsets[number], batch.offsets[number + 1])
        columns = (batch.subjects[rows], batch.predicates[rows], batch.objects[rows])
        ids = np.stack(columns, axis=1)
        triples = [" ".join(to_ntriples(dictionary.term(i)) for i in row) for row in ids.tolist()]
        found.append((name, time, [_LABEL.sub("_:b", triple) for triple in triples]))
    return found


def _take_stream(rdf_format: str) -> Callable[[bytes], None]:
    def take(data: bytes) -> None:
        whole = _read(data, rdf_format)
        if _read(data, rdf_format, batch_events=1) != whole:
            raise Finding("batches of one event give other events or reports")
        _read(data, rdf_format, line_bytes_max=_LINE_MAX)

    return take


def _make_stream(rdf_format: str) -> Callable[[Random], bytes]:
    others = tuple(corpora.EVENTS.values())
    return lambda random: mutated(random, corpora.EVENTS[rdf_format], others)


def _make_compiled(rdf_format: str, make: Callable[[Random], bytes]) -> Callable[[Random], bytes]:
    """Inputs for `_take_compiled`, made when the kernels are compiled: an input's time is no time for that."""

    def made(random: Random) -> bytes:
        _compiled(rdf_format)
        return make(random)

    return made


@cache
def _compiled(rdf_format: str) -> None:
    _take_compiled(rdf_format)((corpora.EVENTS | tables.UNITS)[rdf_format])


def _take_compiled(rdf_format: str) -> Callable[[bytes], None]:
    """The compiled kernels read what the reader in Python reads."""

    def take(data: bytes) -> None:
        with mock.patch.object(line_reading, "BLOCK_BYTES_MIN", 0):  # shorter blocks are read without kernels
            found = _read(data, rdf_format, compiled=True)
        if found != _read(data, rdf_format, compiled=False):
            raise Finding("the compiled reader differs")

    return take


@cache
def _folder() -> Path:
    """The worker's files; removed with it."""
    folder = tempfile.TemporaryDirectory(prefix="spaseq-fuzz-")
    _KEPT.append(folder)
    return Path(folder.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def take_gzip(data: bytes) -> None:
    """A file that ends, breaks off or is damaged anywhere."""
    path = _folder() / "events.nq.gz"
    path.write_bytes(data)
    query = "SELECT * WITHIN 9 SECONDS FROM STREAM S <urn:s> { SEQ(A) DEFINE GPM A ON S { ?a <urn:p> ?b } }"
    with suppress(*REFUSED):
        list(spaseq.run(spaseq.parse(query), {"S": path}))


# --- knowledge bases ---------------------------------------------------------------------------------


def take_answer(data: bytes) -> None:
    """An answer of an endpoint: terms that are well-formed, or ValueError."""
    with suppress(ValueError):
        for row in ResultReader(("s", "v")).decode(data, "e"):
            for term in row:
                if term is not None:
                    to_ntriples(term).encode()


def _make_knowledge(suffix: str) -> Callable[[Random], bytes]:
    return lambda random: mutated(random, corpora.KNOWLEDGE[suffix], tuple(corpora.KNOWLEDGE.values()))


def _take_knowledge(suffix: str) -> Callable[[bytes], None]:
    def take(data: bytes) -> None:
        path = _folder() / f"kb{suffix}"
        path.write_bytes(data)
        with suppress(*REFUSED):
            load_graph(path, corpora.KB_IRI, Dictionary())

    return take


@cache
def _prepared() -> tuple[bytes, list[str]]:
    """A prepared file, and the rows that it gives."""
    (_folder() / "kb.nt").write_bytes(
        b"".join(b'<http://x/s%d> <http://x/in> "room %d" .\n' % (n, n % 7) for n in range(40))
    )
    build([str(_folder() / "kb.nt")], _folder() / "kb.kb")
    return (_folder() / "kb.kb").read_bytes(), _prepared_rows(_folder() / "kb.kb")


def _prepared_rows(path: Path) -> list[str]:
    query = f"""SELECT ?s ?r WITHIN 9 SECONDS FROM STREAM S <urn:s> FROM NAMED KB <{corpora.KB_IRI}> {{ SEQ(A)
        DEFINE GPM A ON S {{ ?s <http://x/v> ?v . GRAPH <{corpora.KB_IRI}> {{ ?s <http://x/in> ?r }} }} }}"""
    rows: list[str] = []
    with spaseq.Engine(kb={corpora.KB_IRI: path}) as engine:
        engine.register(spaseq.parse(query), lambda row: rows.append(repr(row)))
        engine.push("S", "".join(f"<http://x/s{n}> <http://x/v> {n} ." for n in range(0, 40, 3)), 1)
    return sorted(rows)


def _make_prepared(random: Random) -> bytes:
    return mutated(random, _prepared()[0])


def take_prepared(data: bytes) -> None:
    """A damaged prepared file is refused, or gives the rows of the whole one."""
    _, expected = _prepared()
    path = _folder() / f"damaged{len(data) % 2}.kb"
    path.write_bytes(data)
    with suppress(*REFUSED):
        if _prepared_rows(path) != expected:
            raise Finding("a damaged prepared file gives other rows")


# --- states ------------------------------------------------------------------------------------------


@cache
def _state() -> bytes:
    running = Restarting(spaseq.parse(calls.QUERY), 0)
    return dumps(running.network.snapshot(), running.dictionary)


def take_state(data: bytes) -> None:
    """A damaged snapshot is refused by name."""
    with suppress(*REFUSED):
        loads(data, Dictionary())


# --- calls of the Python API -------------------------------------------------------------------------


def take_calls(data: bytes) -> None:
    """Calls of an engine, good and bad ones, one for each four bytes: each returns or raises a SPAseqError."""
    with suppress(*REFUSED), spaseq.Engine() as engine:
        engine.register(spaseq.parse(calls.QUERY))
        for place in range(0, len(data) - 3, 4):
            with suppress(*REFUSED):
                _call(engine, *data[place : place + 4])


def _call(engine: spaseq.Engine, which: int, first: int, second: int, third: int) -> None:
    def one(good: list[object], bad: list[object], choice: int) -> object:
        options = [*good * 3, *bad]
        return options[choice % len(options)]

    stream = one(list(calls.STREAMS), calls.NO_STREAMS, first)
    graph = one([calls.turtle(second), ""], calls.NO_GRAPHS, second)
    time = one([third, float(third), str(third)], calls.NO_TIMES, third)
    match which % 8:
        case 0:
            engine.advance(stream, time)  # type: ignore[arg-type]
        case 1:
            data = one([corpora.NQUADS, corpora.TRIG, b"", "x"], calls.NO_BATCHES, second)
            engine.push_batch(stream, data, one(["nquads", "trig"], ["xml", None, 5], third))  # type: ignore[arg-type]
        case 2:
            engine.push(stream, graph, time, one(["urn:g"], calls.NO_NAMES, which))  # type: ignore[arg-type]
        case 3 if first == second:
            engine.close()
        case _:
            engine.push(stream, graph, time)  # type: ignore[arg-type]


TARGETS = (
    Target("query", 4, _make_query, take_query),
    *(Target(name, 7, _make_stream(name), _take_stream(name)) for name in corpora.EVENTS),
    Target("kernels", 3, _make_compiled("nquads", _make_stream("nquads")), _take_compiled("nquads")),
    Target(
        "jelly-kernels",
        3,
        _make_compiled("jelly", partial(tables.make_units, "jelly")),
        _take_compiled("jelly"),
    ),
    *(
        Target(name, 3, partial(tables.make_table, name), partial(tables.take_table, name))
        for name in ("csv", "tsv", "ndjson", "parquet")
    ),
    *(
        Target(name, 3, partial(tables.make_units, name), partial(tables.take_units, name))
        for name in ("jelly", "jsonld", "ndjsonld", "messages")
    ),
    Target("template", 2, tables.make_template, tables.take_template),
    Target("quads", 4, tables.make_quads, tables.take_quads),
    Target("zstandard", 2, tables.make_zstandard, tables.take_zstandard),
    Target("gzip", 3, lambda random: mutated(random, corpora.GZIP), take_gzip),
    Target("answer", 8, lambda random: mutated(random, corpora.ANSWER), take_answer),
    *(
        Target(f"knowledge{suffix}", 2, _make_knowledge(suffix), _take_knowledge(suffix))
        for suffix in corpora.KNOWLEDGE
    ),
    Target("prepared", 3, _make_prepared, take_prepared),
    Target("state", 4, lambda random: mutated(random, _state()), take_state),
    Target("calls", 4, lambda random: random.randbytes(random.randint(4, 40)), take_calls),
)
BY_NAME = {target.name: target for target in TARGETS}
