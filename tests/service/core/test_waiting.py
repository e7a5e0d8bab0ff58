"""An endpoint that is away holds up the queries that wait for it, and no other one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spaseq.service.core import queries
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.streams import StreamSettings
from tests.kb.servers import Proxy, oxigraph
from tests.service.core.test_service import EACH, Running, event
from tests.waiting import waited

WHERE = """SELECT ?p ?v WITHIN 1 HOUR FROM STREAM S <urn:s> FROM NAMED KB <urn:kb>
WHERE { SEQ(A) DEFINE GPM A ON S { ?s <urn:a> ?v . GRAPH <urn:kb> { ?s <urn:in> ?p } } }"""
MADE = """REGISTER STREAM <urn:made> AS CONSTRUCT { ?s <urn:at> ?p } WITHIN 1 HOUR
FROM STREAM S <urn:s> FROM NAMED KB <urn:kb>
WHERE { SEQ(A) DEFINE GPM A ON S { ?s <urn:a> ?v . GRAPH <urn:kb> { ?s <urn:in> ?p } } }"""
READS = "SELECT ?p WITHIN 1 HOUR FROM STREAM M <urn:made> WHERE { SEQ(A) DEFINE GPM A ON M { ?s <urn:at> ?p } }"


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(queries, "ASLEEP_S_MIN", 0.05)
    made = Running(tmp_path)
    made.service.put_stream("s", StreamSettings("urn:s"))
    yield made
    made.service.close()


def test_an_endpoint_that_is_away_holds_up_its_queries_alone(running: Running) -> None:
    with oxigraph("<urn:x> <urn:in> <urn:here> .\n") as url, Proxy(url) as proxy:
        proxy.down()
        running.service.put_kb("k", KnowledgeSettings("urn:kb", url=proxy.url, timeout="2s"))
        for name, text in {"where": WHERE, "each": EACH, "made": MADE, "reads": READS}.items():
            running.put(name, text)
        for number in range(4):
            running.push(event(f"e{number}", number, value=str(number)))
        running.push(event("last", 10, "b", "last"))
        assert running.values("each", "v") == ["0", "1", "2", "3", "last"]
        assert running.values("where", "v") == running.values("reads", "p") == []
        assert {each["state"] for each in running.service.queries()} == {"running"}
        running.again()
        proxy.up()
        waited(lambda: running.service.newest_row("where") == 4 and running.service.newest_row("reads") == 4)
        running.push(event("more", 20, value="4"), event("end", 30, "b", "end"))
        waited(lambda: running.service.newest_row("where") == 5 and running.service.newest_row("reads") == 5)
        assert running.values("where", "v") == ["0", "1", "2", "3", "4"]
        assert running.values("reads", "p") == ["urn:here"] * 5
        assert running.values("each", "v")[-3:] == ["last", "4", "end"]
