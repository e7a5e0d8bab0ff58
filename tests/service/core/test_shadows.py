"""A producer is replaced at its place in the log, also while a reader of its stream is behind, with a shadow of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaseq.service.settings.streams import StreamSettings
from tests.service.core.test_service import EACH, MADE, READER, Running, event

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


@pytest.mark.parametrize("killed", [False, True])
def test_a_query_is_in_one_group_whatever_its_texts_read_while_their_producer_is_paused(
    tmp_path: Path, killed: bool
) -> None:
    running = Running(tmp_path)
    running.service.put_stream("s", StreamSettings("urn:s"))
    running.put("made", MADE)
    running.service.pause("made")
    running.put("reader", FOLLOWING)
    running.service.pause("reader")
    running.put("reader", EACH)
    running.service.resume("made")
    if killed:
        running.kill()
        running.open()
    else:
        running.service.settled()
    running.service.pause("made")
    running.put("reader", FOLLOWING, since="window")
    running.service.resume("reader")
    running.service.resume("made")
    running.service.settled()
    running.again()
    running.push(event("e1", 1))
    assert running.values("reader", "p") == ["urn:a"]
    running.service.close()
