"""An event for which a condition takes too long is set aside; the query reads on as if it had never been tried."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sparql_gpm import bounds
from sparql_gpm.expressions import functions_regex
from spaseq.runtime.stages import conditions
from spaseq.service.core.service import Service
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.streams import StreamSettings
from tests.service.core.test_service import PROV

LIMITS = Limits(event_seconds=10)
STEPS = """SELECT ?p ?t WITHIN 1 HOUR FROM STREAM S <urn:s>
WHERE {{ SEQ(A : B) {of_the_match}
  DEFINE GPM A ON S {{ ?a <urn:pattern> ?p }} DEFINE GPM B ON S {{ ?b <urn:text> ?t {of_a_step} }} }}"""
SEARCH = "FILTER(REGEX(?t, ?p))"
OF_A_STEP = STEPS.format(of_the_match="", of_a_step=SEARCH)
OF_THE_MATCH = STEPS.format(of_the_match=SEARCH, of_a_step="")
PLAIN = STEPS.format(of_the_match="", of_a_step="")
READER = """SELECT ?o WITHIN 1 HOUR FROM STREAM D <urn:made> WHERE { SEQ(X) DEFINE GPM X ON D { ?x <urn:found> ?o } }"""
MADE = OF_A_STEP.replace("SELECT ?p ?t", "REGISTER STREAM <urn:made> AS CONSTRUCT { _:m <urn:found> ?t }")
PATTERNS = ("^g", "o+", "d?", "go", "o", "[a-z]")
"""What is found once is known: a second try goes farther than the first."""
POISON_S = 8.0
"""Of the one search in a poisonous text: two of them are too many."""


class Clock:
    """Processor time that passes in searches of poisonous texts only."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.searches = 0.0, 0
        original: Callable[..., Any] = functions_regex.timed

        def timed(matcher: Any, text: str, search: Any) -> Any:
            if "poison" in text:
                self.searches += 1
                self.now += POISON_S
            return original(matcher, text, search)

        for name in ("functions_strings", "functions_regex", "scalar"):
            module = __import__(f"sparql_gpm.expressions.{name}", fromlist=["timed"])
            if getattr(module, "timed", None) is original:
                monkeypatch.setattr(module, "timed", timed)
        monkeypatch.setattr(bounds.time, "thread_time", lambda: self.now)
        monkeypatch.setattr(conditions, "thread_time", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def event(name: str, second: int, predicate: str, value: str) -> str:
    stamp = f'<urn:{name}> <{PROV}> "2026-01-01T00:00:{second:02}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    return stamp + f'<urn:x> <urn:{predicate}> "{value}" <urn:{name}> .\n'


def events(texts: int) -> list[str]:
    """Patterns, good texts, a poisonous one, and good texts again."""
    found = [event(f"p{n}", n, "pattern", pattern) for n, pattern in enumerate(PATTERNS)]
    found += [event(f"g{n}", 10, "text", f"good{n}") for n in range(texts)]
    found.append(event("poison", 11, "text", "poison"))
    return found + [event(f"h{n}", 12, "text", f"goood{n}") for n in range(texts)]


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[list[Service]]:
    """The service, in a list: tests put another one there."""
    made = Service.open(tmp_path, LIMITS)
    made.put_stream("s", StreamSettings("urn:s"))
    found = [made]
    yield found
    found[0].close()


def texts(service: Service, name: str, variable: str = "t") -> list[str]:
    service.settled()
    rows = [json.loads(line) for _, line in service.rows(name, 0, 10_000)]
    assert [row["n"] for row in rows] == list(range(1, len(rows) + 1))
    return [row["bindings"][variable]["value"] for row in rows]


@pytest.mark.parametrize("text", [OF_A_STEP, OF_THE_MATCH], ids=["of a step", "of the match"])
@pytest.mark.parametrize("count", [2, 40])
@pytest.mark.parametrize("alone", [True, False])
def test_the_event_is_set_aside_and_all_others_have_their_rows(
    service: list[Service], tmp_path: Path, clock: Clock, text: str, count: int, alone: bool
) -> None:
    for name, each in (("costly", text), ("plain", PLAIN)):
        service[0].put_query(name, QueryChanges(each))
    every = events(count)
    for part in every if alone else ["".join(every)]:
        service[0].accept("s", part.encode(), "nquads")
    good = [f"good{n}" for n in range(count)] + [f"goood{n}" for n in range(count)]
    assert sorted(texts(service[0], "costly")) == sorted(len(PATTERNS) * good)
    assert len(texts(service[0], "plain")) == len(PATTERNS) * (2 * count + 1)
    (letter,) = [json.loads(line) for line in service[0].dead_letters(0, 10)]
    assert (letter["source"], letter["queries"], letter["sort"]) == ("urn:poison", ["costly"], "bound")
    assert "event_seconds" in letter["reason"]
    assert [service[0].query(name)["set_aside"] for name in ("costly", "plain")] == [1, 0]
    rows, searches = texts(service[0], "costly"), clock.searches
    service[0]._matcher.save = lambda: None  # type: ignore[method-assign]
    service[0].close()
    service[0] = Service.open(tmp_path, LIMITS)
    assert texts(service[0], "costly") == rows
    assert clock.searches == searches  # it is not tried again


def test_readers_of_its_stream_are_set_back_with_it(service: list[Service], clock: Clock) -> None:
    service[0].put_query("made", QueryChanges(MADE))
    service[0].put_query("reader", QueryChanges(READER))
    service[0].accept("s", "".join(events(3)).encode(), "nquads")
    service[0].accept("s", event("late", 40, "text", "good").encode(), "nquads")
    service[0].advance("s", "2026-01-01T00:01:00Z")
    good = [f"{word}{n}" for word in ("good", "goood") for n in range(3)] + ["good"]
    assert sorted(texts(service[0], "reader", "o")) == sorted(len(PATTERNS) * good)
    assert service[0].query("made")["set_aside"] == 1
