"""The memory of queries: the size of their states, measured in a share of the time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from automata.state import Values
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI
from spaseq.runtime.state.snapshot import state_bytes
from spaseq.service.core.sizes import MEASURED_S_MAX, MEASURED_SHARE, Sizes
from spaseq.service.settings.streams import StreamSettings
from tests.service.core.test_service import PAIR, Running, event
from tests.waiting import waited


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path)
    made.service.put_stream("s", StreamSettings("urn:s"))
    yield made
    made.service.close()


def memory(running: Running, name: str) -> int:
    """The memory of a query as it is now: a measurement before the state was made does not count."""
    running.service.settled()
    known = running.service._queries.running(name)
    assert known is not None
    since = time.monotonic()
    waited(lambda: running.service.query(name) and not (known.has_state and known.measured_at < since))
    found: int = running.service.query(name)["memory"]
    assert found in [each["memory"] for each in running.service.queries() if each["name"] == name]
    return found


def test_arrays_count_as_they_are_and_terms_once() -> None:
    dictionary = Dictionary()
    ids = [dictionary.intern(IRI("urn:a")), dictionary.intern(IRI("urn:bb"))]
    column = np.array([*ids, *ids], dtype=np.int64)
    alone = state_bytes([column], dictionary)
    assert alone == 4 * 8 + len(b"\x91\xc0")
    assert state_bytes([Values(column)], dictionary) == alone + len("<urn:a><urn:bb>")
    assert state_bytes({"a": "x" * 100, "b": [np.int64(3)]}, dictionary) == 100 + 9


def test_the_memory_of_a_query_grows_with_what_it_keeps_and_is_gone_with_it(running: Running) -> None:
    running.put("pair", PAIR)
    running.put("other", PAIR.replace("urn:a>", "urn:c>"))
    assert memory(running, "pair") == 0
    running.push(*[event(f"e{n}", n, value="long" * 50) for n in range(20)])
    few = memory(running, "pair")
    running.push(*[event(f"f{n}", 20 + n, value="long" * 50) for n in range(200)])
    many = memory(running, "pair")
    assert few > 200 and many > few + 200 * 4 * 8  # texts are there once; a run has position, time and two values
    assert memory(running, "other") == 0
    running.again()
    assert many / 2 < memory(running, "pair") < many * 2
    running.service.pause("pair")
    assert many / 2 < memory(running, "pair") < many * 2
    running.service.resume("pair")
    running.push(event("g1", 10_000, "c"))
    assert memory(running, "pair") < few


def test_a_query_that_was_stopped_holds_nothing(running: Running) -> None:
    running.put("pair", PAIR, max_runs=1)
    running.push(*[event(f"e{n}", n) for n in range(5)])
    assert memory(running, "pair") == 0


def test_measuring_takes_a_small_share_of_the_time(running: Running) -> None:
    for name in ("a", "b", "c"):
        running.put(name, PAIR)
    running.push(*[event(f"e{n}", n) for n in range(5)])
    running.service.settled()
    passed = count()  # a clock that each look moves by the whole time of a look
    sizes = Sizes(running.service._queries.operators.dictionary, lambda: next(passed) * MEASURED_S_MAX)
    some = [known for name in "abc" if (known := running.service._queries.running(name)) is not None]
    for each in some:
        each.measured_at = 0.0
    measured: list[float] = []
    for _ in range(1000):
        sizes.measure(some)
        measured += [each.measured_at for each in some if each.measured_at > max(measured, default=0.0)]
    spent = len(measured) * 3 * MEASURED_S_MAX
    assert len(measured) >= 6 and len({each.measured_at for each in some}) == 3
    assert spent < 2 * MEASURED_SHARE * next(passed) * MEASURED_S_MAX
