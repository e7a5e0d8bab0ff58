"""A producer is replaced at its place in the log, also while a reader of its stream is behind, with a shadow of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaseq.service.settings.streams import StreamSettings
from tests.service.core.test_service import MADE, READER, Running, event

OTHER = MADE.replace("<urn:a> ?v", "<urn:b> ?v")
FOLLOWING = READER.replace("SELECT ?v", "SELECT ?p")


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Running]:
    """A service with a reader that was paused before an event."""
    running = Running(tmp_path)
    running.service.put_stream("s", StreamSettings("urn:s"))
    running.put("made", MADE)
    running.put("reader", FOLLOWING)
    running.service.pause("reader")
    running.push(event("e1", 1))
    yield running
    running.service.close()


def _has_replaced(running: Running) -> None:
    """Every query has the event before the producer was replaced as it was, and the one behind it as it is."""
    running.service.settled()
    rows = [json.loads(line)["triples"] for _, line in running.service.rows("made", 0, 10)]
    assert rows == [['<urn:x> <urn:a> "1" .'], ['<urn:x> <urn:b> "1" .']]
    assert running.values("reader", "p") == ["urn:a", "urn:b"]


def test_while_its_reader_is_paused(behind: Running) -> None:
    behind.put("made", OTHER)
    behind.push(event("e2", 2))
    behind.service.resume("reader")
    _has_replaced(behind)


def test_while_its_reader_catches_up_after_a_kill(behind: Running) -> None:
    behind.service.snapshot()
    behind.service.resume("reader")
    behind.put("made", OTHER)
    behind.kill()
    behind.open()
    behind.push(event("e2", 2))
    _has_replaced(behind)
