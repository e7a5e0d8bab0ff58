"""Requests of the core that nobody wants any more: they ask often, end anywhere, and leave nothing behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrays.progress import Progress, counted
from arrays.wanted import NotWanted, while_wanted
from spaseq.editors.formatting import formatted
from spaseq.service.core.service import Service
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.settings.streams import StreamSettings
from tests.drawn import drawn

STAMP = '<http://www.w3.org/ns/prov#generatedAtTime> "{}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
EVENTS = 60
QUERY = """SELECT ?s WITHIN 1 HOUR FROM STREAM S <urn:s> WHERE {{ SEQ(A ; B+ ; C)
DEFINE GPM A ON S {{ ?s <urn:a> ?a . FILTER(?a > {0}) }} DEFINE GPM B ON S {{ ?s <urn:a> ?b . FILTER(?b > 1) }}
DEFINE GPM C ON S {{ ?s <urn:c> ?c }} }}"""
DAY = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
_BELOW = "<urn:C{}> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:C{}> .\n"
KNOWN = "".join(_BELOW.format(n, n + 1) for n in range(3_000))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:
    found = Service.open(folder / "data", Limits())
    found.put_stream("s", StreamSettings("urn:s"))
    found.put_query("q", QueryChanges(QUERY.format(0)))
    (folder / "known.nt").write_text(KNOWN)
    for number in range(EVENTS):
        graph, time = f"<urn:e{number}>", f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"
        triple = '<urn:x> <urn:c> "1"' if number == EVENTS - 1 else f"<urn:x> <urn:a> {number % 7}"
        triple = triple if '"' in triple else f'{triple[:-1]}"{number % 7}"^^<http://www.w3.org/2001/XMLSchema#integer>'
        found.accept("s", f"{graph} {STAMP.format(time)} .\n{triple} {graph} .\n".encode(), "nquads")
    found.advance("s", "2026-01-01T02:00:00Z")
    found.settled()
    yield found
    found.close()


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[Any, int]]:
    """What requests answer that are not disturbed, and how often they ask."""
    return {}


REQUESTS: dict[str, Callable[[Service, Path], Any]] = {
    "validate": lambda service, _: service.validate(QUERY.format(0).replace("ON S", "ON T")),
    "format": lambda _s, _f: formatted(QUERY.format(0)),
    "why": lambda service, _: service.explaining.why("q", 1).to_dict(),
    "why-not": lambda service, _: service.explaining.why_not("q", {}, {"A": ["urn:e0"]}, None, None).to_dict(),
    "funnel": lambda service, _: _without_seconds(service.explaining.funnel("q", None, None)),
    "replay": lambda service, _: list(service.retained.replay("q", *DAY)),
    "events": lambda service, _: service.retained.newest_events("s", 20),
    "events of a row": lambda service, _: service.retained.row_events("q", 1),
    "vocabulary": lambda service, _: service.retained.vocabulary(),
}
"""Requests that change nothing."""


def _without_seconds(funnel: str) -> Any:
    return {key: value for key, value in json.loads(funnel).items() if key != "seconds"}


class Patience:
    """Asks that are answered: after so many nothing is wanted any more."""

    def __init__(self, most: float = float("inf")) -> None:
        self.asked, self._most = 0, most

    def ask(self) -> None:
        """See `while_wanted`."""
        self.asked += 1
        if self.asked > self._most:
            raise NotWanted("enough")


def patience(service: Service, folder: Path, kind: str) -> tuple[Any, int]:
    """The answer to a request, and how often it asked."""
    asked = Patience()
    with while_wanted(asked.ask):
        answer = REQUESTS[kind](service, folder)
    return answer, asked.asked


@pytest.mark.parametrize("kind", REQUESTS)
@settings(max_examples=drawn(24))
@given(st.data())
def test_a_request_ends_wherever_it_is_told_to_and_the_next_one_has_the_same_answer(
    service: Service, folder: Path, answers: dict[str, tuple[Any, int]], kind: str, data: st.DataObject
) -> None:
    if kind not in answers:
        answers[kind] = patience(service, folder, kind)
    expected, most = answers[kind]
    assert most, "it never asks"
    impatient = Patience(data.draw(st.integers(0, most - 1)))
    with pytest.raises(NotWanted), while_wanted(impatient.ask):
        REQUESTS[kind](service, folder)
    assert patience(service, folder, kind)[0] == expected


@pytest.mark.parametrize("kind", ["why-not", "why", "funnel", "replay"])
def test_what_looks_at_events_asks_at_least_once_for_each_and_tells_of_them(
    service: Service, folder: Path, kind: str
) -> None:
    progress = Progress()
    with counted(progress):
        _, asked = patience(service, folder, kind)
    assert asked >= EVENTS
    assert progress.done == progress.of >= EVENTS


@settings(max_examples=drawn(25))
@given(st.data())
def test_a_query_is_put_or_it_is_not(service: Service, folder: Path, data: st.DataObject) -> None:
    def shown() -> Any:
        with service._database.transaction() as write:
            return service.queries(), write.execute("select * from delivered").fetchall()

    sink = SinkSettings(file=str(folder / "rows.ndjson"))
    variable = data.draw(st.text("xyz", min_size=1, max_size=30))  # so that the text has to be read
    change = QueryChanges(QUERY.format(0).replace("?a", f"?{variable}"), sinks=(sink,))
    before, asked = shown(), Patience(data.draw(st.integers(0, 180)))
    try:
        with while_wanted(asked.ask):
            service.put_query("new", change)
    except NotWanted:
        assert shown() == before
    else:
        assert service.query("new")["text"] == change.text
        service.delete_query("new")


@settings(max_examples=drawn(8))
@given(st.floats(0, 1))
def test_a_knowledge_base_is_put_or_it_is_not_and_no_part_of_a_copy_stays(
    service: Service, folder: Path, part: float
) -> None:
    settings = KnowledgeSettings("urn:k", path=str(folder / "known.nt"))
    asked = Patience()
    with while_wanted(asked.ask):
        service.put_kb("k", settings)
    service.delete_kb("k")
    assert asked.asked > 2
    service.snapshot()
    impatient = Patience(int(part * (asked.asked - 1)))
    with pytest.raises(NotWanted), while_wanted(impatient.ask):
        service.put_kb("k", settings)
    assert service.kbs() == []
    assert not list((folder / "data").rglob("*.part"))
