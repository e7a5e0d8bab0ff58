"""Damaged rows and a failing disk, as answers over HTTP."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import httpx2
import pytest

from spaseq.service.core import storing
from spaseq.service.errors import Refused
from spaseq.service.http.matches import DAMAGED
from spaseq.service.log.files import DiskFolder
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.streams import StreamSettings
from spaseq.service.store.damage import DATABASE
from spaseq.service.store.database import Database
from spaseq.service.store.faults import refused
from tests.service.core.test_service import EACH, MADE, event
from tests.service.faulty_connection import CODES
from tests.service.http.servers import RunningServer, really_served
from tests.waiting import waited

DAMAGED_ROWS = (2, 5, 6)
TIMES = {"from": "2023-11-14T22:13:20Z", "to": "2023-11-14T23:13:20Z"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    """A server over rows 1 to 7 of a SELECT and of a CONSTRUCT query, and a dead letter, some of which are damaged."""
    with really_served(tmp_path) as running:
        core = running.core
        core.put_stream("s", StreamSettings("urn:s"))
        core.put_query("each", QueryChanges(EACH))
        core.put_query("made", QueryChanges(MADE))
        body = "".join(event(f"e{number}", number, value=str(number)) for number in range(7)) + "<urn:a> <urn:b> .\n"
        core.accept("s", body.encode(), "nquads")
        core.settled()
        assert core.newest_row("each") == 7
        with core._database.transaction() as write:
            write.execute(f"update rows set text = replace(text, 'urn', 'nru') where n in {DAMAGED_ROWS}")
            write.execute("update letters set text = text || ' ' where n = 1")
        yield running


def rows(server: RunningServer, media: str, query: str = "each", **given: int) -> httpx2.Response:
    return server.client.get(f"/v1/queries/{query}/matches", headers={"Accept": media}, params=given)


def test_a_damaged_row_is_a_problem_in_its_place(server: RunningServer) -> None:
    answer = rows(server, "application/x-ndjson")
    assert DAMAGED not in answer.headers
    lines = [httpx2.Response(200, content=line).json() for line in answer.text.splitlines()]
    assert [line["n"] for line in lines] == [1, 2, 3, 4, 5, 6, 7]
    assert [line["n"] for line in lines if "problem" in line] == [*DAMAGED_ROWS]
    assert lines[1]["problem"]["status"] == 500 and lines[1]["problem"]["detail"] == "row 2 is damaged on disk"
    assert '{"n": 1, "problem": ' in server.client.get("/v1/deadletters?after=0").text


@pytest.mark.parametrize(
    ("given", "damaged"),
    [
        ({}, 3),
        ({"after": 0}, 3),
        ({"after": 2}, 2),
        ({"after": 1, "limit": 4}, 2),
        ({"after": 6}, 0),
        ({"limit": 1}, 0),
    ],
)
def test_where_no_problem_can_stand_damaged_rows_are_left_out_and_counted(
    server: RunningServer, given: dict[str, int], damaged: int
) -> None:
    first = given.get("after", 0) + 1
    wanted = [n for n in range(first, min(7, first + given.get("limit", 7) - 1) + 1) if n not in DAMAGED_ROWS]
    answer = rows(server, "application/sparql-results+json", **given)
    assert answer.headers.get(DAMAGED) == (str(damaged) if damaged else None)
    assert [row["v"]["value"] for row in answer.json()["results"]["bindings"]] == [str(n - 1) for n in wanted]
    trig = rows(server, "application/trig", "made", **given)
    assert trig.headers.get(DAMAGED) == (str(damaged) if damaged else None)
    assert re.findall(r'<urn:a> "(\d)"', trig.text) == [str(n - 1) for n in wanted]


def test_openapi_names_the_header(server: RunningServer) -> None:
    answers = server.client.get("/openapi.json").json()["paths"]["/v1/queries/{name}/matches"]["get"]["responses"]
    assert answers["200"]["headers"][DAMAGED]["schema"] == {"type": "string"}


def test_a_damaged_row_is_neither_explained_nor_are_its_events_shown(server: RunningServer) -> None:
    for answer in (
        server.client.post("/v1/queries/each/why", json={"match": 2}),
        server.client.get("/v1/queries/each/matches/2/events"),
    ):
        _check_problem(answer, 500, r"row 2 of 'each' is damaged on disk \(service.sqlite\)")
    assert server.client.post("/v1/queries/each/why", json={"match": 7}).status_code == 200
    assert server.client.get("/v1/queries/each/matches/7/events").status_code == 200


@dataclass(frozen=True)
class Asked:
    """A request that reads, and the file that it reads."""

    ask: Callable[[httpx2.Client], httpx2.Response]
    file: str


READS = {
    "rows": Asked(lambda client: client.get("/v1/queries/each/matches?after=0"), DATABASE),
    "sparql": Asked(
        lambda client: client.get("/v1/queries/each/matches", headers={"Accept": "application/sparql-results+json"}),
        DATABASE,
    ),
    "live": Asked(
        lambda client: client.get("/v1/queries/each/matches?after=0", headers={"Accept": "text/event-stream"}),
        DATABASE,
    ),
    "dead letters": Asked(lambda client: client.get("/v1/deadletters"), DATABASE),
    "query": Asked(lambda client: client.get("/v1/queries/each"), DATABASE),
    "snapshot": Asked(lambda client: client.post("/v1/snapshot"), DATABASE),
    "replay": Asked(lambda client: client.post("/v1/queries/each/replay", json=TIMES), r"\.log"),
    "why": Asked(lambda client: client.post("/v1/queries/each/why", json={"match": 7}), r"\.log"),
    "why not": Asked(lambda client: client.post("/v1/queries/each/why-not", json={}), r"\.log"),
    "funnel": Asked(lambda client: client.get("/v1/queries/each/funnel"), r"\.log"),
    "row events": Asked(lambda client: client.get("/v1/queries/each/matches/7/events"), r"\.log"),
    "events": Asked(lambda client: client.get("/v1/streams/s/events"), r"\.log"),
    "vocabulary": Asked(lambda client: client.get("/v1/vocabulary"), r"\.log"),
}


@pytest.mark.parametrize("asked", READS.values(), ids=READS)
def test_what_the_disk_does_not_give_is_refused_with_the_file_until_it_does(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    for code, status in ((errno.EIO, 503), (errno.EMFILE, 503), (errno.ENOSPC, 507)):
        with monkeypatch.context() as patched:
            _fail_log(patched, code)
            if asked.file == DATABASE:
                _fail_database(patched, code)
            answer = asked.ask(server.client)
            _check_problem(answer, status, asked.file)
            assert status != 503 or answer.headers["Retry-After"]
            assert 'spaseq_disk_waiting{what="log"} 0.0' in server.client.get("/metrics").text
    if asked is not READS["live"]:
        assert asked.ask(server.client).status_code in (200, 201)


def test_damage_that_is_met_while_the_service_runs_is_500_with_the_file(
    server: RunningServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (segment,) = (tmp_path / "log").glob("*.log")
    whole = segment.read_bytes()
    segment.write_bytes(whole[:200] + b"?" + whole[201:])
    for name in ("replay", "why", "funnel", "row events", "events", "vocabulary"):
        _check_problem(READS[name].ask(server.client), 500, rf"damaged|missing.*{segment.name}")
    segment.write_bytes(whole)
    with server.core._database.transaction() as write:
        write.execute("update kept set newest = newest + 1")
    for name in ("rows", "sparql", "dead letters", "query"):
        _check_problem(READS[name].ask(server.client), 500, "service.sqlite is damaged")
    with server.core._database.transaction() as write:
        write.execute("update kept set newest = newest - 1")
    assert "Traceback" not in caplog.text and not [record for record in caplog.records if record.exc_info]


def test_an_answer_that_cannot_be_ended_is_cut_off(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaseq.service.http.matches.PAGE_ROWS", 1)
    asked = Database.rows
    count = 0

    def failing(*given: Any) -> Any:
        nonlocal count
        count += 1
        if count > 3:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return asked(*given)

    monkeypatch.setattr(Database, "rows", failing)
    with pytest.raises(httpx2.RemoteProtocolError):
        rows(server, "application/x-ndjson", after=0)


def test_readyz_says_what_waits_and_why(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    client = server.client
    assert client.get("/readyz").json() == {"status": "ready"}
    monkeypatch.setattr(storing, "STORE_AGAIN_S", 0.01)
    with monkeypatch.context() as patched:
        _fail_database(patched, errno.EIO)
        assert client.post("/v1/snapshot").status_code == 503
        waiting = [{"what": "snapshot", "reason": "service.sqlite: disk says EIO"}]
        assert client.get("/readyz").json() == {"status": "ready", "waiting": waiting}
        assert 'spaseq_disk_waiting{what="snapshot"} 1.0' in client.get("/metrics").text
        client.post("/v1/streams/s", content=event("later", 9), headers={"Content-Type": "application/n-quads"})
        waited(lambda: client.get("/readyz").status_code == 503)
        answer = client.get("/readyz")
        _check_problem(answer, 503, "rows cannot be written: service.sqlite: disk says EIO")
        assert {each["what"] for each in answer.json()["waiting"]} == {"snapshot", "rows"}
    assert client.post("/v1/snapshot").status_code == 201
    assert client.get("/readyz").json() == {"status": "ready"}


def test_a_sink_is_told_of_the_disk_as_those_who_ask_are() -> None:
    for error, status in (
        (OSError(errno.EMFILE, "Too many open files", "log/x"), 503),
        (sqlite3.DatabaseError("database disk image is malformed"), 500),
    ):
        with pytest.raises(Refused) as found, refused():
            raise error
        assert found.value.status == status
    with pytest.raises(ConnectionResetError), refused():
        raise ConnectionResetError(errno.ECONNRESET, "Connection reset")


def _check_problem(answer: httpx2.Response, status: int, detail: str) -> None:
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json"), answer.text
    assert re.search(detail, answer.json()["detail"]), answer.text


def _fail_log(patched: pytest.MonkeyPatch, code: int) -> None:
    """Let the files of the log not be opened."""

    def opened(folder: DiskFolder, name: str) -> BinaryIO:
        raise OSError(code, os.strerror(code), f"log/{name}")

    patched.setattr(DiskFolder, "open", opened)


def _fail_database(patched: pytest.MonkeyPatch, code: int) -> None:
    """Let rows be neither read nor written."""

    def said() -> sqlite3.OperationalError:
        error = sqlite3.OperationalError(f"disk says {errno.errorcode[code]}")
        error.sqlite_errorcode = CODES[code]
        return error

    def read(*_: object) -> Any:
        raise said()

    @contextmanager
    def written(database: Database) -> Iterator[None]:
        raise said()
        yield

    patched.setattr(Database, "rows", read)
    patched.setattr(Database, "letters", read)
    patched.setattr(Database, "newest_row", read)
    patched.setattr(Database, "transaction", written)
