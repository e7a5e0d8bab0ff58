"""What release 0.1.0 wrote is read by every later one: an engine and a service go on as if they had never stopped."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import spaseq
from spaseq.outputs.rows import Row
from spaseq.service.core.service import Service
from spaseq.service.settings.configuration import Limits
from tests.states.release import (
    ENGINES,
    EVENTS,
    HALF,
    KNOWING,
    KNOWLEDGE,
    QUERIES,
    bodies,
    engine_of,
    paused_half,
    pushed,
    served,
)

WRITTEN = Path(__file__).with_name("0.1.0")


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_goes_on_from_a_state_of_the_release(name: str) -> None:
    whole: list[Row] = []
    undisturbed = engine_of(ENGINES[name], whole.append)
    paused_half(undisturbed)
    before, found = len(whole), list[Row]()
    restored = spaseq.Engine.restore((WRITTEN / "engine" / f"{name}.state").read_bytes(), on_match=found.append)
    assert not any(each.error for each in restored.registrations)
    for engine in (undisturbed, restored):
        for each in engine.registrations:
            if each.paused:
                each.resume()
        pushed(engine, EVENTS[HALF:])
        engine.close()
    assert found == whole[before:] and len(found) > 100


@pytest.mark.parametrize("name", ["service", "killed-service"])
def test_a_service_goes_on_from_a_folder_of_the_release(name: str, tmp_path: Path) -> None:
    (tmp_path / "kb.nt").write_text(KNOWLEDGE)
    undisturbed = served(tmp_path / "twin", tmp_path / "kb.nt")
    with tarfile.open(WRITTEN / f"{name}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    restarted = Service.open(tmp_path / "data", Limits())
    for service, events in ((undisturbed, EVENTS), (restarted, EVENTS[HALF:])):
        for stream, body in bodies(events):
            service.accept(stream, body, "nquads")
    restarted.resume("chain")
    found, expected = rows(restarted), rows(undisturbed)
    restarted.close()
    assert found == expected and sum(map(len, found.values())) > 400
    assert set(found) == {*QUERIES, *KNOWING} and all(found.values())
    again = Service.open(tmp_path / "data", Limits())
    assert rows(again) == found
    for service in (again, undisturbed):
        service.close()


def rows(service: Service) -> dict[str, list[str]]:
    """The rows of each query, none of which has failed."""
    service.settled()
    assert not [query for query in service.queries() if query["error"]]
    return {query["name"]: [text for _, text in service.rows(query["name"], 0, 10**6)] for query in service.queries()}
