"""Queries that are stopped while a service recovers, wherever: in the end all have the rows of an undisturbed one."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spaseq.service.core.clock import SystemClock
from spaseq.service.core.folder import DataFolder
from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.streams import StreamSettings
from tests.service.core.test_aside import graph
from tests.service.core.test_service import EACH, MADE, READER

PAIR = "SELECT ?v ?w WITHIN 5 EVENTS SLIDING FROM STREAM S <urn:s> WHERE { SEQ(A ; B) DEFINE GPM A ON S { ?s ?p ?v } "
TEXTS = (EACH, PAIR + "DEFINE GPM B ON S { ?t ?q ?w } }", MADE, READER)
NAMES = ("a", "b", "c")
LIMITS = Limits(event_solutions=3)

names, stops = st.sampled_from(NAMES), st.sampled_from(["pause", "delete"])
Step = tuple[Any, ...]
steps = st.one_of(
    st.tuples(st.just("push"), st.integers(1, 4)),
    st.tuples(st.just("push"), st.integers(1, 4)),
    st.tuples(st.just("put"), names, st.sampled_from(range(len(TEXTS))), st.sampled_from(["now", "window"])),
    st.tuples(st.sampled_from(["pause", "resume", "delete"]), names),
    st.tuples(st.just("snapshot")),
    st.tuples(st.just("die"), st.lists(st.tuples(stops, names), max_size=2)),
)


class Pair:
    """A service that dies, and one that does not."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._events = folder / "one", 0
        self.one, self.other = self._opened([]), Service.open(folder / "other", LIMITS)
        self.ask(lambda service: service.put_stream("s", StreamSettings("urn:s")))
        for name, text in zip(NAMES, TEXTS[1:], strict=True):
            self.take(("put", name, TEXTS.index(text), "now"))

    def ask(self, asked: Any) -> None:
        """Ask both the same, with the same answer."""
        refused = []
        for service in (self.one, self.other):
            with suppress(Refused):
                asked(service)
                refused.append(None)
        assert len(refused) in (0, 2)

    def take(self, step: Step) -> None:
        """Take a step."""
        match step:
            case ("push", triples):
                self._events += 1
                body = graph(f"e{self._events}", self._events, triples).encode()
                self.ask(lambda service: service.accept("s", body, "nquads"))
            case ("put", name, text, since):
                self.ask(lambda service: service.put_query(name, QueryChanges(TEXTS[text], since=since)))
            case ("snapshot",):
                self.one.snapshot()
            case ("die", stopped):
                self.one._matcher.save = lambda: None  # type: ignore[method-assign]
                self.one.close()
                self.one = self._opened(stopped)
            case (how, name):
                self.ask(lambda service: _stop(service, how, name))

    def _opened(self, stopped: list[tuple[str, str]]) -> Service:
        """The service, in each recovery of which a query is stopped, one after the other."""
        folder = DataFolder(self._folder)
        while True:
            service = Service(folder, LIMITS, SystemClock())
            if stopped:
                how, name = stopped.pop(0)
                with suppress(Refused):
                    _stop(service, how, name)
                with suppress(Refused):
                    _stop(self.other, how, name)
            if service.recover():
                service._matcher.start()
                return service
            folder.read_again()

    def check(self) -> None:
        """All have found the same once none is paused."""
        for name in NAMES:
            self.ask(lambda service, name=name: service.resume(name))
        found = []
        for service in (self.one, self.other):
            service.settled()
            service.settled()
            shown = {each["name"]: (each["state"], each["set_aside"]) for each in service.queries()}
            rows = {name: [_plain(line) for _, line in service.rows(name, 0, 10_000)] for name in shown}
            found.append((shown, rows))
        assert found[0] == found[1]

    def close(self) -> None:
        """End both."""
        self.one.close()
        self.other.close()


def _stop(service: Service, how: str, name: str) -> None:
    {"pause": service.pause, "resume": service.resume, "delete": service.delete_query}[how](name)


def _plain(line: str) -> Any:
    row = json.loads(line)
    return {key: value for key, value in row.items() if key != "triples"} if "triples" in row else row


@settings(max_examples=12)
@given(st.lists(steps, min_size=5, max_size=16))
def test_rows_are_those_of_an_undisturbed_service(history: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder))
        try:
            for step in history:
                pair.take(step)
            pair.check()
        finally:
            pair.close()
