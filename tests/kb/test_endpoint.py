"""Endpoints that are really there answer as the same data in a local file does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import spaseq
from kb.source import Source
from tests.kb.servers import served, startable

DB = "http://kb.example/db"
SERVERS = startable()
"""The servers under test: the header of the test run names them too."""
NUMBERS = range(260)
PREFIXES = "PREFIX : <http://x/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"


def data() -> str:
    lines = []
    for n in NUMBERS:
        lines.append(f"<http://x/s{n}> <http://x/in> <http://x/room{n % 7}> .")
        if n % 3:
            lines.append(f'<http://x/s{n}> <http://x/label> "sensor {n}\\n\\"é\\""@en .')
        if n % 5 == 0:
            lines.append(f"<http://x/s{n}> <http://x/next> <http://x/s{n + 1}> .")
    for r in range(7):
        lines.append(f'<http://x/room{r}> <http://x/limit> "{r}"^^<http://www.w3.org/2001/XMLSchema#integer> .')
    return "\n".join(lines) + "\n"


def events(count: int) -> str:
    lines = []
    for n in range(count):
        time = f'"2026-01-01T00:{n // 60:02}:{n % 60:02}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
        lines.append(f"<urn:e{n}> <http://www.w3.org/ns/prov#generatedAtTime> {time} .")
        lines.append(f"<http://x/s{n * 2}> <http://x/reads> <http://x/v{n}> <urn:e{n}> .")
    return "\n".join(lines) + "\n"


def query(body: str, select: str = "*") -> spaseq.Query:
    text = f"""{PREFIXES} SELECT {select} WITHIN 1 MINUTE FROM STREAM S <http://x/stream> FROM NAMED KB <{DB}>
    WHERE {{ SEQ(A) DEFINE GPM A ON S {{ {body} }} }}"""
    return spaseq.parse(text)


class World:
    def __init__(self, folder: Path, urls: dict[str, str]) -> None:
        self.folder = folder
        self.urls = urls

    def rows(self, body: str, source: str | Source) -> list[str]:
        found = spaseq.run(query(body), {"S": self.folder / "events.nq"}, {DB: source}, batch_events=50)
        return sorted(map(repr, found))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("endpoint")
    (folder / "kb.nt").write_text(data())
    (folder / "events.nq").write_text(events(120))
    with contextlib.ExitStack() as stack:
        yield World(folder, {name: stack.enter_context(served(name, folder / "kb.nt")) for name in SERVERS})


GRAPH = f"GRAPH <{DB}>"
PATTERNS = {
    "a join on one variable": f"?s :reads ?v . {GRAPH} {{ ?s :in ?room . ?room :limit ?limit }}",
    "an optional part": f"?s :reads ?v OPTIONAL {{ {GRAPH} {{ ?s :label ?label }} }}",
    "a filter inside": f"?s :reads ?v . {GRAPH} {{ ?s :in ?room . ?room :limit ?limit FILTER(?limit > 3) }}",
    "a filter outside": f"?s :reads ?v . {GRAPH} {{ ?s :in/:limit ?limit }} FILTER(?limit < 2 && ?s != :s0)",
    "an optional part inside": f"?s :reads ?v . {GRAPH} {{ ?s :in ?room OPTIONAL {{ ?s :label ?label }} }}",
    "what is not there": f"?s :reads ?v MINUS {{ {GRAPH} {{ ?s :label ?label }} }}",
    "no solution exists": f"?s :reads ?v FILTER NOT EXISTS {{ {GRAPH} {{ ?s :next ?other }} }}",
    "either of two": f"?s :reads ?v {{ {GRAPH} {{ ?s :next ?x }} }} UNION {{ {GRAPH} {{ ?s :label ?x }} }}",
    "a path": f"?s :reads ?v . {GRAPH} {{ ?s :in/:limit ?limit . ?s (:next|^:next) ?n }}",
    "a count in a subquery": f"?s :reads ?v . {GRAPH} {{ ?s :in ?room . "
    "{ SELECT ?room (COUNT(?m) AS ?n) { ?m :in ?room } GROUP BY ?room HAVING (COUNT(?m) > 37) } }",
    "the first of an order": f"?s :reads ?v . {GRAPH} {{ ?s :in ?room . "
    "{ SELECT ?room { ?room :limit ?limit } ORDER BY DESC(?limit) LIMIT 3 } }",
    "values and a bind": f"?s :reads ?v . {GRAPH} {{ VALUES ?room {{ :room1 :room2 }} "
    "?s :in ?room BIND(STR(?room) AS ?t) }",
    "something exists inside": f"?s :reads ?v . {GRAPH} {{ ?s :in ?room FILTER EXISTS {{ ?s :next ?n }} }}",
    "a blank node": f"?s :reads ?v . {GRAPH} {{ ?s :in [ :limit ?limit ] }}",
    "any knowledge base": "?s :reads ?v . GRAPH ?g { ?s :in ?room }",
}


@pytest.mark.parametrize(
    ("server", "small"),
    [("oxigraph", 5_000), *((name, 0) for name in SERVERS)],
    ids=["oxigraph, fetched whole", *(f"{name}, bind-join" for name in SERVERS)],
)
@pytest.mark.parametrize("about", PATTERNS)
def test_an_endpoint_answers_as_a_local_file_does(world: World, server: str, small: int, about: str) -> None:
    body = PATTERNS[about]
    local = world.rows(body, str(world.folder / "kb.nt"))
    assert local
    assert world.rows(body, Source(world.urls[server], whole_rows_max=small, batch_keys=20, batch_keys_max=20)) == local


@pytest.mark.parametrize("server", SERVERS)
def test_a_service_is_asked_as_the_query_says(world: World, server: str) -> None:
    url = world.urls[server]
    service = world.rows(f"?s :reads ?v . SERVICE <{url}> {{ ?s :in ?room }}", str(world.folder / "kb.nt"))
    assert service == world.rows(f"?s :reads ?v . {GRAPH} {{ ?s :in ?room }}", str(world.folder / "kb.nt"))


@pytest.mark.parametrize("about", ["a blank node", "the first of an order"])
def test_reasons_name_the_triples_of_an_endpoint_as_those_of_a_file(world: World, about: str) -> None:
    streams = {"S": world.folder / "events.nq"}
    sources = str(world.folder / "kb.nt"), world.urls["oxigraph"]
    file, endpoint = (spaseq.why(query(PATTERNS[about]), streams, 1, {DB: source}) for source in sources)
    assert repr(file) == repr(endpoint) and "http://x/limit" in repr(file)


def test_the_size_of_batches_changes_nothing(world: World) -> None:
    body = f"?s :reads ?v . {GRAPH} {{ ?s :in ?room OPTIONAL {{ ?s :label ?label }} }}"
    sources = [
        Source(world.urls["oxigraph"], batch_keys=keys, batch_keys_max=keys, whole_rows_max=0)
        for keys in (1, 7, 100, 1000)
    ]
    first, *others = (world.rows(body, source) for source in sources)
    assert all(other == first for other in others)
