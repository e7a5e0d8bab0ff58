"""What the fuzzer feeds, and what must hold: an input is used, or refused by an error that is meant for users."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random

import spaseq
from kb.local import load_graph
from kb.prepared_build import build
from kb.results import ResultReader
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import to_ntriples
from spaseq.lang.parse import check
from spaseq.runtime.state.snapshot import loads
from spaseq.service.settings.toml import read_configuration
from tests.fuzz import corpora, streams, tables
from tests.fuzz.mutate import mutated
from tests.fuzz.target import REFUSED, Finding, Target, folder
from tests.hostile import test_calls as calls
from tests.restarting import Restarting
from tests.states.networks import taken


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
        path = folder() / f"kb{suffix}"
        path.write_bytes(data)
        with suppress(*REFUSED):
            load_graph(path, corpora.KB_IRI, Dictionary())

    return take


@cache
def _prepared() -> tuple[bytes, list[str]]:
    """A prepared file, and the rows that it gives."""
    (folder() / "kb.nt").write_bytes(
        b"".join(b'<http://x/s%d> <http://x/in> "room %d" .\n' % (n, n % 7) for n in range(40))
    )
    build([str(folder() / "kb.nt")], folder() / "kb.kb")
    return (folder() / "kb.kb").read_bytes(), _prepared_rows(folder() / "kb.kb")


def _prepared_rows(path: Path) -> list[str]:
    query = f"""SELECT ?s ?r WITHIN 9 SECONDS FROM STREAM S <urn:s> FROM NAMED KB <{corpora.KB_IRI}> {{ SEQ(A)
        DEFINE GPM A ON S {{ ?s <http://x/v> ?v . GRAPH <{corpora.KB_IRI}> {{ ?s <http://x/in> ?r }} }} }}"""
    rows: list[str] = []
    with spaseq.Engine(kb={corpora.KB_IRI: path}) as engine:
        engine.register(spaseq.parse(query), lambda row: rows.append(repr(row)))
        engine.push("S", "".join(f"<http://x/s{n}> <http://x/v> {n} ." for n in range(0, 40, 3)), 1)
    return sorted(rows)


def _make_prepared(random: Random) -> bytes:
    return mutated(random, _prepared()[0], binary=True)


def take_prepared(data: bytes) -> None:
    """A damaged prepared file is refused, or gives the rows of the whole one."""
    _, expected = _prepared()
    path = folder() / f"damaged{len(data) % 2}.kb"
    path.write_bytes(data)
    with suppress(*REFUSED):
        if _prepared_rows(path) != expected:
            raise Finding("a damaged prepared file gives other rows")


# --- states ------------------------------------------------------------------------------------------


@cache
def _state() -> bytes:
    running = Restarting(spaseq.parse(calls.QUERY), 0)
    return taken(running.network).queries[0].blob


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


# --- the configuration of a service ------------------------------------------------------------------


def _make_configuration(random: Random) -> bytes:
    return mutated(random, corpora.CONFIGURATION, (corpora.CONFIGURATION,))


def take_configuration(data: bytes) -> None:
    """A configuration is read, or refused with its key or line."""
    path = folder() / "spaseq.toml"
    path.write_bytes(data)
    (folder() / "kb.nt").touch()
    with suppress(*REFUSED):
        read_configuration(path)


TARGETS = (
    Target("query", _make_query, take_query),
    *streams.targets(),
    *tables.targets(),
    Target("configuration", _make_configuration, take_configuration),
    Target("answer", lambda random: mutated(random, corpora.ANSWER), take_answer),
    *(Target(f"knowledge{suffix}", _make_knowledge(suffix), _take_knowledge(suffix)) for suffix in corpora.KNOWLEDGE),
    Target("prepared", _make_prepared, take_prepared),
    Target("state", lambda random: mutated(random, _state(), binary=True), take_state),
    Target("calls", lambda random: random.randbytes(random.randint(4, 40)), take_calls),
)
BY_NAME = {target.name: target for target in TARGETS}
