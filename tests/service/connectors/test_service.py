"""Sources and sinks of a service that is killed: what goes in by a file comes out in a file, once and in order."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.settings.sources import SourceSettings
from spaseq.service.settings.streams import StreamSettings
from tests.service.http.test_process import serving
from tests.waiting import PATIENCE_S, waited

QUERY = "SELECT ?v WITHIN 1 HOUR FROM STREAM S <urn:power> WHERE { SEQ(A) DEFINE GPM A ON S { ?s <urn:p> ?v } }"
SETTINGS = """
[streams.power]
iri = "urn:power"
source = { files = "in.nq" }
[queries.all]
text = "%s"
sinks = [{ file = "out.ndjson" }]
"""
EVENT = (
    '<urn:e%d> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:%02d:%02dZ"'
    '^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n<urn:s> <urn:p> "%d" <urn:e%d> .\n'
)


def rows(folder: Path) -> list[dict[str, Any]]:
    path = folder / "out.ndjson"
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []


def test_each_event_of_a_file_is_one_row_of_a_file_over_kills(tmp_path: Path) -> None:
    (tmp_path / "spaseq.toml").write_text(SETTINGS % QUERY)
    options = ("--config", str(tmp_path / "spaseq.toml"))
    events = [EVENT % (n, n // 60, n % 60, n, n) for n in range(900)]
    with (tmp_path / "in.nq").open("w", buffering=1) as file:
        for first, stop in ((0, 400), (400, 900)):
            with serving(tmp_path, *options) as (process, _):
                file.writelines(events[first:stop])
                waited(lambda: len(rows(tmp_path)) > first)  # noqa: B023 -- awaited at once
                process.send_signal(signal.SIGKILL)
        with serving(tmp_path, *options) as (process, client):
            waited(lambda: client.get("/v1/streams/power").json()["events"] == 900)
            assert client.post("/v1/streams/power/advance", json={"time": "2026-01-02T00:00:00Z"}).status_code == 202
            waited(lambda: client.get("/v1/queries/all").json()["sinks"][0]["n"] == 900)
            assert client.get("/v1/queries/all").json()["sinks"] == [
                {"file": str(tmp_path / "out.ndjson"), "state": "running", "n": 900}
            ]
            metrics = client.get("/metrics").text.splitlines()
            assert 'spaseq_source_state{state="running",stream="power"} 1.0' in metrics
            assert 'spaseq_sink_state{query="all",sink="1",state="running"} 1.0' in metrics
            assert 'spaseq_sink_row{query="all",sink="1"} 900.0' in metrics
            shown = client.get("/v1/streams/power").json()
            assert shown["source"] == {"files": str(tmp_path / "in.nq"), "state": "running"}
            assert shown["duplicates"] == shown["malformed"] == shown["late"] == 0
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0
    found = rows(tmp_path)
    assert [row["n"] for row in found] == list(range(1, 901))
    assert [row["bindings"]["v"]["value"] for row in found] == [str(n) for n in range(900)]


def test_a_source_or_sink_that_cannot_be_made_is_refused_with_the_way_out(tmp_path: Path) -> None:
    service = Service.open(tmp_path, Limits())
    secrets = {"sasl.password": "NO_SUCH_SECRET"}
    try:
        with pytest.raises(Refused, match=r"source: .*NO_SUCH_SECRET is not set") as refused:
            source = SourceSettings(kafka="localhost:1", topic="t", secrets=secrets)
            service.put_stream("s", StreamSettings("urn:power", source=source))
        assert refused.value.status == 422 and service.streams() == []
        service.put_stream("s", StreamSettings("urn:power"))
        with pytest.raises(Refused, match=r"sinks: .*NO_SUCH_SECRET is not set"):
            sink = SinkSettings(kafka="localhost:1", topic="t", secrets=secrets)
            service.put_query("q", QueryChanges(QUERY, sinks=(sink,)))
        assert service.queries() == []
    finally:
        service.close()


def test_what_is_malformed_is_a_dead_letter_and_the_stream_goes_on(tmp_path: Path) -> None:
    service = Service.open(tmp_path / "data", Limits())
    good = [EVENT % (n, 0, n, n, n) for n in range(3)]
    (tmp_path / "in.nq").write_text("nonsense\n")
    try:
        service.put_stream("s", StreamSettings("urn:power", source=SourceSettings(files=str(tmp_path / "in.nq"))))
        service.put_query("q", QueryChanges(QUERY))
        waited(lambda: service.stream("s")["malformed"] == 1)
        with (tmp_path / "in.nq").open("a") as file:
            file.write(good[0] + "nonsense again\n" + "".join(good[1:]))
        waited(lambda: service.stream("s")["events"] == 2)
        service.settled()
        assert service.stream("s")["malformed"] == 2 == len(service.dead_letters(0, 10))
    finally:
        service.close()


def test_a_sink_begins_behind_the_rows_that_there_were(tmp_path: Path) -> None:
    service = Service.open(tmp_path / "data", Limits())
    sink = SinkSettings(file=str(tmp_path / "out.ndjson"))
    try:
        service.put_stream("s", StreamSettings("urn:power"))
        service.put_query("q", QueryChanges(QUERY))
        for first in (0, 3):
            text = "".join(EVENT % (n, n // 60, n % 60, n, n) for n in range(first, first + 3))
            service.accept("s", text.encode(), "nquads")
            service.advance("s", f"2026-01-01T00:00:0{first + 3}Z")
            service.settled()
            service.put_query("q", QueryChanges(sinks=(sink,)))
        waited(lambda: [row["n"] for row in rows(tmp_path)] == [4, 5, 6])
        service.put_query("q", QueryChanges(sinks=()))
        assert service.query("q")["sinks"] == []
    finally:
        service.close()
