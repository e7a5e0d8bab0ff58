"""Queries that read each other's streams, of which some are paused: each waits, and goes on, with what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from pathlib import Path

import pytest

from spaseq.service.settings.streams import StreamSettings
from tests.service.core.test_service import EACH, MADE, READER, Running, event

AGAIN = MADE.replace("FROM STREAM S <urn:s>", "FROM STREAM S <urn:made>").replace(
    "STREAM <urn:made> AS", "STREAM <urn:again> AS"
)
PAIRS = MADE.replace("1 HOUR", "2 EVENTS").replace("SEQ(A)", "SEQ(B ; A) DEFINE GPM B ON S { ?s ?p ?u }")
LAST = READER.replace("<urn:made>", "<urn:again>")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    found = Running(tmp_path)
    found.service.put_stream("s", StreamSettings("urn:s"))
    yield found
    found.service.close()


def _killed_after(running: Running, steps: Sequence[Callable[[], object]], killed: int) -> None:
    """Take some steps; the service is killed, and begins again, behind the one with this number."""
    for number, step in enumerate(steps):
        step()
        if number == killed:
            running.kill()
            running.open()


@pytest.mark.parametrize("names", list(permutations(("first", "second", "third"))))
def test_what_stays_paused_reads_nothing_where_a_reader_of_it_is_resumed(
    running: Running, names: tuple[str, str, str]
) -> None:
    for name, text in zip(names, (MADE, AGAIN, LAST), strict=True):
        running.put(name, text)
    for name in names:
        running.service.pause(name)
    running.service.resume(names[2])
    running.push(event("e1", 0), event("e2", 1))
    running.service.settled()
    assert [running.service.query(name)["rows"] for name in names] == [0, 0, 0]
    for name in names[:2]:
        running.service.resume(name)
    running.service.settled()
    assert [running.service.query(name)["rows"] for name in names] == [2, 2, 2]


KILLS = range(7)


@pytest.mark.parametrize("killed", KILLS)
def test_the_last_of_a_chain_waits_for_the_first_and_is_replaced_at_its_place(running: Running, killed: int) -> None:
    """It reads a stream of a query that runs nowhere itself, as that one waits for the first; kills change nothing."""
    steps = [
        lambda: running.push(event("e1", 0, value="one")),
        lambda: running.service.resume("first"),
        lambda: running.service.pause("first"),
        lambda: running.push(event("e2", 1, value="two")),
        lambda: running.put("last", EACH),
        lambda: running.push(event("e3", 2, value="three")),
        lambda: running.service.resume("first"),
    ]
    assert len(steps) == len(KILLS)
    running.put("first", MADE)
    running.service.pause("first")
    running.put("second", AGAIN)
    running.put("last", LAST)
    _killed_after(running, steps, killed)
    assert running.values("last", "v") == ["one", "two", "three"]


@pytest.mark.parametrize("killed", range(6))
def test_a_paused_query_that_is_to_read_a_derived_stream_has_all_of_it_from_there_on(
    running: Running, killed: int
) -> None:
    steps = [
        lambda: running.push(event("e1", 0, value="one")),
        lambda: running.put("last", READER),
        lambda: running.push(event("e2", 1, value="two")),
        lambda: running.service.snapshot(),
        lambda: running.service.resume("last"),
        lambda: running.push(event("e3", 2, value="three")),
    ]
    running.put("first", MADE)
    running.put("last", EACH)
    running.service.pause("last")
    _killed_after(running, steps, killed)
    assert running.values("last", "v") == ["one", "two", "three"]


@pytest.mark.parametrize("killed", range(6))
def test_a_query_that_comes_to_read_a_stream_that_waits_is_not_run_there_before(running: Running, killed: int) -> None:
    """After a kill its first text ran a second time beside the stream, and its rows were there twice."""
    steps = [
        lambda: running.put("other", EACH),
        lambda: running.push(event("e1", 0, value="one")),
        lambda: running.service.resume("first"),
        lambda: running.put("other", READER),
        lambda: running.push(event("e2", 1, value="two")),
        lambda: running.push(event("e3", 2, value="three")),
    ]
    running.put("first", MADE)
    running.service.pause("first")
    _killed_after(running, steps, killed)
    assert running.values("other", "v") == ["one", "two", "three"]


@pytest.mark.parametrize("killed", range(7))
def test_what_a_waiting_query_is_to_read_is_made_there_as_it_was(running: Running, killed: int) -> None:
    """Its producer counts events in twos from its registration on, which the log from there back does not say."""
    steps = [
        lambda: running.push(event("e1", 1, value="one")),
        lambda: running.put("last", READER),
        lambda: running.push(event("e2", 2, value="two")),
        lambda: running.service.snapshot(),
        lambda: running.push(event("e3", 3, value="three")),
        lambda: running.service.resume("last"),
        lambda: running.push(event("e4", 4, value="four")),
    ]
    running.push(event("e0", 0, value="zero"))
    running.put("first", PAIRS)
    running.put("last", EACH)
    running.service.pause("last")
    _killed_after(running, steps, killed)
    assert running.values("last", "v") == ["one", "two", "four"]


def test_a_query_of_the_name_of_one_that_waited_is_made_at_once(running: Running) -> None:
    running.put("first", MADE)
    running.service.pause("first")
    running.put("second", READER)
    running.service.delete_query("second")
    running.put("second", EACH)
    running.push(event("e1", 0))
    assert running.values("second", "v") == ["1"]
    running.service.resume("first")
    running.push(event("e2", 1, value="2"))
    assert running.values("second", "v") == ["1", "2"]
