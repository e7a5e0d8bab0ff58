"""Events of the log, for people who look at them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.streams import StreamSettings

TEXT = """SELECT ?s ?a WITHIN 1 HOUR FROM STREAM S <urn:s> FROM STREAM T <urn:t>
WHERE { SEQ(A ; B+) DEFINE GPM A ON S { ?s <urn:a> ?a } DEFINE GPM B ON T { ?s <urn:b> ?b } }"""

PROV = "http://www.w3.org/ns/prov#generatedAtTime"


def body(*events: tuple[str, int, str]) -> bytes:
    stamp = f'<{PROV}> "2026-01-01T00:00:{{:02}}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    quads = (f"<{graph}> {stamp.format(second)} .\n{triple} <{graph}> .\n" for graph, second, triple in events)
    return "".join(quads).encode()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service.open(tmp_path, Limits())
    found.put_stream("s", StreamSettings("urn:s", max_delay="10s"))
    found.put_stream("t", StreamSettings("urn:t"))
    yield found
    found.close()


def test_the_newest_events_of_a_stream_are_as_they_came_the_newest_last(service: Service) -> None:
    for number in range(5):
        service.accept("s", body((f"urn:e{number}", number, f'<urn:x> <urn:a> "é\\n{number}"@en')), "nquads")
    service.accept("t", body(("urn:other", 9, "<urn:x> <urn:b> _:b0")), "nquads")
    found = service.retained.newest_events("s", 2)
    assert [event["graph"] for event in found] == ["urn:e3", "urn:e4"]
    assert found[1] == {
        "graph": "urn:e4", "stream": "s", "time": "2026-01-01T00:00:04Z", "triples": ['<urn:x> <urn:a> "é\\n4"@en .'],
    }  # fmt: skip
    assert [event["graph"] for event in service.retained.newest_events("s", 100)] == [
        f"urn:e{number}" for number in range(5)
    ]
    with pytest.raises(Refused, match="no stream"):
        service.retained.newest_events("u", 2)


def test_the_events_of_a_row_are_those_that_it_took_and_no_late_ones(service: Service) -> None:
    service.put_query("q", QueryChanges(TEXT))
    service.accept("s", body(("urn:late", 40, '<urn:x> <urn:a> "0"')), "nquads")
    service.accept("s", body(("urn:e1", 1, '<urn:x> <urn:a> "1"')), "nquads")
    service.accept("s", body(("urn:e41", 41, '<urn:x> <urn:a> "41"')), "nquads")
    service.accept("t", body(("urn:e41", 42, '<urn:x> <urn:b> "1"'), ("urn:e43", 43, '<urn:x> <urn:b> "2"')), "nquads")
    for stream in "st":
        service.advance(stream, "2026-01-01T00:01:00Z")
    service.settled()
    rows = [row for _, row in service.rows("q", 0, 100)]
    assert rows
    for number, row in enumerate(rows, 1):
        found = service.retained.row_events("q", number)
        assert {step: [event["graph"] for event in events] for step, events in found.items()} == json.loads(row)[
            "events"
        ]
        assert {event["stream"] for event in found["A"]} == {"s"} and {event["stream"] for event in found["B"]} == {"t"}
        assert all(event["triples"] for events in found.values() for event in events)
    with pytest.raises(Refused, match="no row"):
        service.retained.row_events("q", len(rows) + 1)


def test_the_vocabulary_is_what_events_streams_and_knowledge_bases_have(service: Service) -> None:
    triple = "<urn:x> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:C>"
    service.accept("s", body(("urn:e1", 1, triple), ("urn:e2", 2, '<urn:x> <urn:p> "<urn:no>"')), "nquads")
    assert service.retained.vocabulary() == {
        "properties": ["http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "urn:p"],
        "classes": ["urn:C"],
        "resources": ["urn:x"],
        "streams": ["urn:s", "urn:t"],
        "graphs": [],
    }
