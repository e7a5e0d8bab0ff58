"""The counts that a query has on its automaton: partial matches at states, edges taken, since it was put."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spaseq.service.errors import Refused
from spaseq.service.settings.streams import StreamSettings
from tests.service.core.test_service import ABSENT, PAIR, Running, event


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path)
    made.service.put_stream("s", StreamSettings("urn:s"))
    yield made
    made.service.close()


def counts(running: Running, name: str) -> tuple[dict[str, int | None], dict[str, int | None]]:
    """By label of a state its partial matches, and by label of an edge how often it was taken."""
    shown = running.service.explain(name)
    states = {state["label"]: state["runs"] for state in shown["states"]}
    return states, {edge["label"] or "end": edge["taken"] for edge in shown["edges"]}


def test_partial_matches_are_counted_at_states_and_edges_until_their_window_has_passed(running: Running) -> None:
    running.put("pair", PAIR)
    assert counts(running, "pair") == ({"start": 0, "A": 0, "B": 0, "match": 0}, {"A": 0, "B": 0, "end": 0})
    running.push(event("e1", 1), event("e2", 2))
    running.push(event("e3", 3))
    assert counts(running, "pair") == ({"start": 0, "A": 3, "B": 0, "match": 0}, {"A": 3, "B": 0, "end": 0})
    assert running.service.query("pair")["runs"] == 3
    running.again()
    running.push(event("e4", 4, "b"), event("e5", 5))
    assert counts(running, "pair") == ({"start": 0, "A": 1, "B": 0, "match": 0}, {"A": 4, "B": 3, "end": 3})
    running.service.pause("pair")
    running.service.resume("pair")
    running.push(event("e6", 3606, "b"), event("e7", 10_000, "c"))
    running.service.settled()
    assert counts(running, "pair") == ({"start": 0, "A": 0, "B": 0, "match": 0}, {"A": 4, "B": 3, "end": 3})
    assert [each["runs"] for each in running.service.queries()] == [0]


def test_a_replaced_query_counts_anew(running: Running) -> None:
    running.put("pair", PAIR)
    running.push(event("e1", 1), event("e2", 2, "b"))
    running.put("pair", PAIR.replace("1 HOUR", "2 HOURS"))
    assert counts(running, "pair")[1] == {"A": 0, "B": 0, "end": 0}


def test_matches_that_an_absence_may_still_remove_wait_at_the_end(running: Running) -> None:
    running.put("absent", ABSENT)
    running.push(event("e1", 1), event("e2", 3))
    assert counts(running, "absent")[0]["match"] == 2
    running.push(event("e3", 12))
    assert counts(running, "absent")[0]["match"] == 2
    assert running.values("absent", "s") == ["urn:x"]


def test_partial_matches_that_wait_at_a_state_are_listed_the_newest_first(running: Running) -> None:
    running.put("pair", PAIR.replace("1 HOUR", "1 HOUR SLIDING"))
    state = state_of(running, "pair", "A")
    assert running.service.waiting("pair", state, 10) == []
    running.push(event("e1", 1), event("e2", 2, value="2"))
    running.push(event("e3", 3))
    running.push(event("e4", 4, "c"))
    waiting = running.service.waiting("pair", state, 2)
    assert [each["events"] for each in waiting] == [{"A": ["urn:e3"]}, {"A": ["urn:e2"]}]
    bindings = {"s": {"type": "uri", "value": "urn:x"}, "a": {"type": "literal", "value": "2"}}
    assert waiting[1] == {"events": {"A": ["urn:e2"]}, "bindings": bindings, "until": "2023-11-14T23:13:22Z"}
    running.again()
    assert running.service.waiting("pair", state, 2) == waiting
    running.push(event("e5", 3605, "c"))
    assert running.service.waiting("pair", state, 2) == []


def test_matches_that_wait_at_the_end_are_listed_until_their_absence_is_certain(running: Running) -> None:
    running.put("absent", ABSENT)
    running.push(event("e1", 1), event("e2", 3))
    (waiting,) = running.service.waiting("absent", state_of(running, "absent", "match"), 1)
    assert (waiting["events"], waiting["until"]) == ({"A": ["urn:e2"]}, "2023-11-14T22:13:33Z")


def test_it_is_said_where_partial_matches_cannot_be_listed(running: Running) -> None:
    running.put("count", PAIR.replace("SELECT ?s ?b", "SELECT OVER MATCHES (COUNT(*) AS ?n)"))
    running.put("failed", PAIR, max_runs=1)
    running.push(*[event(f"e{n}", n) for n in range(5)])
    for name, state, status in (("count", 1, 409), ("failed", 1, 409), ("count", 99, 404), ("none", 1, 404)):
        with pytest.raises(Refused) as refused:
            running.service.waiting(name, state, 10)
        assert refused.value.status == status


def state_of(running: Running, name: str, label: str) -> int:
    """The id of a state."""
    return next(state["id"] for state in running.service.explain(name)["states"] if state["label"] == label)


def test_a_query_that_has_failed_has_no_counts(running: Running) -> None:
    running.put("pair", PAIR, max_runs=1)
    running.push(*[event(f"e{n}", n) for n in range(5)])
    assert counts(running, "pair") == (dict.fromkeys(["start", "A", "B", "match"]), {"A": None, "B": None, "end": None})


def test_aggregates_over_matches_keep_no_partial_matches(running: Running) -> None:
    running.put("count", PAIR.replace("SELECT ?s ?b", "SELECT OVER MATCHES (COUNT(*) AS ?n)"))
    running.push(event("e1", 1))
    assert set(counts(running, "count")[0].values()) == {None}
