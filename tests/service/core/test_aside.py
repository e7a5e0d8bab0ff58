"""Events that cannot be matched within their bounds are set aside, once and for all."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from arrays.wanted import check_wanted
from spaseq.service.core import state as states
from spaseq.service.core import watch
from spaseq.service.core.clock import SystemClock
from spaseq.service.core.folder import DataFolder
from spaseq.service.core.matcher import GivenUp, Matcher
from spaseq.service.core.service import Service
from spaseq.service.core.watch import NOTED, EventKey, Note
from spaseq.service.errors import Refused
from spaseq.service.log.segmented import SegmentedLog
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.streams import StreamSettings
from tests.service.core.test_service import EACH, PROV
from tests.waiting import PATIENCE_S, waited

DAY = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
FEW = Limits(event_solutions=100)
MANY = Limits(event_solutions=1_000_000)
PRODUCT = EACH.replace("?s ?p ?v", "?s <urn:p> ?v . ?t <urn:p> ?w . ?u <urn:p> ?x FILTER(?v != ?w)")
OTHER = PRODUCT.replace("GPM A", "GPM Z").replace("SEQ(A)", "SEQ(Z)")


def graph(name: str, second: int, triples: int) -> str:
    """An event with so many triples of one property."""
    stamp = f'<urn:{name}> <{PROV}> "2026-01-01T00:00:{second:02}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    return stamp + "".join(f'<urn:s{n}> <urn:p> "{n}" <urn:{name}> .\n' for n in range(triples))


SMALL, LARGE = 2, 8
"""Triples of which the product has 4 and 448 solutions."""


class Setting:
    """A service over a folder, with a stream."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.service = Service.open(folder, FEW)
        self.service.put_stream("s", StreamSettings("urn:s"))

    def put(self, name: str, text: str, **how: Any) -> None:
        self.service.put_query(name, QueryChanges(text, **how))

    def push(self, *events: str) -> None:
        self.service.accept("s", "".join(events).encode(), "nquads")

    def die(self) -> None:
        """End without a snapshot."""
        self.service._matcher.save = lambda: None  # type: ignore[method-assign]
        self.service.close()

    def again(self, limits: Limits, killed: bool) -> None:
        if killed:
            self.die()
        else:
            self.service.close()
        self.service = Service.open(self.folder, limits)

    def graphs(self, name: str) -> list[str]:
        """The events of all rows of a query."""
        self.service.settled()
        rows = [json.loads(line) for _, line in self.service.rows(name, 0, 10_000)]
        assert [row["n"] for row in rows] == list(range(1, len(rows) + 1))
        return sorted({graph for row in rows for graphs in row["events"].values() for graph in graphs})

    def letters(self) -> list[dict[str, Any]]:
        self.service.settled()
        return [json.loads(line) for line in self.service.dead_letters(0, 100)]

    def set_aside(self, name: str) -> int:
        return int(self.service.query(name)["set_aside"])


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    made = Setting(tmp_path)
    yield made
    made.service.close()


@pytest.mark.parametrize("killed", [False, True])
def test_a_query_with_the_same_pattern_keeps_what_is_too_much_for_another(setting: Setting, killed: bool) -> None:
    """The pattern has 20 solutions, in each of 20 partitions: only the query with USING sets the event aside."""
    text = "SELECT ?s WITHIN 9 SECONDS {} FROM STREAM S <urn:s> {{ SEQ(P) DEFINE GPM P ON S {{ ?s <urn:p> ?v }} }}"
    setting.put("using", text.format("PARTITION BY ?k USING { ?u <urn:p> ?k }"))
    setting.put("plain", text.format(""))
    for second in (1, 2):
        setting.push(graph(f"e{second}", second, 20))
        setting.again(FEW, killed)
        assert setting.graphs("plain") == [f"urn:e{number}" for number in range(1, second + 1)]
        assert setting.service.query("plain")["rows"] == 20 * second
        assert (setting.set_aside("using"), setting.set_aside("plain")) == (second, 0)


@pytest.mark.parametrize("alone", [True, False])
def test_an_event_is_set_aside_for_the_queries_that_exceed_a_bound_and_others_see_it(
    setting: Setting, alone: bool
) -> None:
    for name, text in (("one", PRODUCT), ("same", PRODUCT), ("other", OTHER), ("each", EACH)):
        setting.put(name, text)
    events = [graph("a", 1, SMALL), graph("b", 2, LARGE), graph("c", 3, SMALL)]
    for part in events if alone else ["".join(events)]:
        setting.push(part)
    for name in ("one", "same", "other"):
        assert (setting.graphs(name), setting.set_aside(name)) == (["urn:a", "urn:c"], 1)
    assert (setting.graphs("each"), setting.set_aside("each")) == (["urn:a", "urn:b", "urn:c"], 0)
    (letter,) = setting.letters()
    assert (letter["sort"], letter["source"], letter["stream"]) == ("bound", "urn:b", "S")
    assert letter["queries"] == ["one", "same", "other"]
    assert "event_solutions" in letter["reason"] and letter["raw"].startswith("<urn:b>")


@pytest.mark.parametrize("killed", [True, False])
def test_what_was_decided_is_not_tried_again_by_a_recovery_a_restart_or_a_replay(
    setting: Setting, killed: bool
) -> None:
    setting.put("one", PRODUCT)
    setting.push(graph("a", 1, SMALL), graph("b", 2, LARGE))
    before = setting.graphs("one"), setting.letters()
    setting.again(MANY, killed)
    assert (setting.graphs("one"), setting.letters()) == before
    assert setting.set_aside("one") == 1
    replayed = [json.loads(line) for line in setting.service.retained.replay("one", *DAY)]
    assert {graph for row in replayed for graph in row["events"]["A"]} == {"urn:a"}
    setting.push(graph("c", 3, LARGE))
    assert setting.graphs("one") == ["urn:a", "urn:c"]


def test_another_text_sees_the_event_and_one_that_is_rebuilt_decides_again(setting: Setting) -> None:
    setting.put("one", PRODUCT)
    setting.push(graph("a", 1, LARGE))
    setting.service.settled()
    setting.put("one", OTHER, since="window")
    setting.service.settled()
    assert (setting.set_aside("one"), len(setting.letters())) == (2, 2)
    setting.put("one", EACH, since="window")
    setting.service.settled()
    setting.push(graph("b", 2, SMALL))
    assert setting.graphs("one") == ["urn:b"]  # what was found before is not reported again
    assert setting.set_aside("one") == 2


def test_a_replay_sets_nothing_aside_and_ends_with_a_problem(setting: Setting) -> None:
    setting.push(graph("a", 1, SMALL), graph("b", 2, LARGE))
    setting.put("one", PRODUCT)
    lines = [json.loads(line) for line in setting.service.retained.replay("one", *DAY)]
    assert lines[-1]["problem"]["status"] == 422 and "event_solutions" in lines[-1]["problem"]["detail"]
    assert (setting.letters(), setting.set_aside("one")) == ([], 0)


def test_a_query_for_which_too_many_are_set_aside_fails_by_name_wherever_the_log_is_read(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "SET_ASIDE_MAX", 2)
    setting.put("one", PRODUCT)
    setting.put("each", EACH)
    for number in range(4):
        setting.push(graph(f"e{number}", number, LARGE))
        setting.service.settled()
        assert bool(setting.service.query("one")["error"]) == (number >= 2)
    assert "3 events could not be matched" in setting.service.query("one")["error"]["detail"]
    assert len(setting.graphs("each")) == 4
    setting.again(FEW, killed=True)
    assert setting.service.query("one")["state"] == "failed" and setting.set_aside("one") == 3
    setting.put("one", PRODUCT)
    setting.push(graph("f", 10, LARGE))
    setting.service.settled()
    assert setting.service.query("one")["state"] == "running" and setting.set_aside("one") == 4


def test_decisions_are_forgotten_with_the_records_that_have_the_events(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting.put("one", PRODUCT)
    setting.push(graph("a", 1, LARGE))
    setting.service.settled()
    aside = setting.service._queries.operators.aside
    setting.service.snapshot()
    assert aside.decided and setting.service._matcher.state.aside
    monkeypatch.setattr(SegmentedLog, "first", property(lambda log: log.next))
    setting.service.snapshot()
    assert not aside.decided and setting.service._matcher.state.aside == []
    assert setting.set_aside("one") == 1


def test_why_not_names_the_bound(setting: Setting) -> None:
    setting.put("one", PRODUCT)
    setting.push(graph("b", 2, LARGE))
    setting.service.settled()
    found = setting.service.explaining.why_not("one", {}, {"A": ["urn:b"]}, None, None).to_dict()
    assert [each["cause"] for each in found["attempts"]] == ["bound"]
    assert found["attempts"][0]["detail"]["event"] == "urn:b"


def test_time_is_a_bound_like_the_number_of_solutions(tmp_path: Path) -> None:
    service = Service.open(tmp_path, Limits(event_seconds=1e-9))
    service.put_stream("s", StreamSettings("urn:s"))
    service.put_query("one", QueryChanges(PRODUCT))
    service.accept("s", graph("a", 1, 300).encode(), "nquads")
    service.settled()
    (letter,) = [json.loads(line) for line in service.dead_letters(0, 10)]
    assert "event_seconds" in letter["reason"] and letter["queries"] == ["one"]
    service.close()


# --- deaths ---------------------------------------------------------------------------------------------------------


def leaves(folder: Path, note: Note) -> None:
    """Leave what a process leaves that dies while it matches."""
    (folder / NOTED).write_bytes(msgspec.json.encode(note))


def test_an_event_that_was_being_matched_at_two_deaths_in_a_row_is_set_aside(setting: Setting) -> None:
    setting.put("one", PRODUCT)
    setting.put("each", EACH)
    setting.push(graph("a", 1, SMALL))
    setting.service.settled()
    setting.die()
    key = EventKey("urn:s", "urn:a", 1_767_225_601 * 10**9)
    several = Note(matching=True, until=99)
    once = Note(matching=True, event=key)
    for death, aside in ((several, 0), (once, 0)):
        leaves(setting.folder, death)
        setting.service = Service.open(setting.folder, FEW)
        setting.service.settled()
        assert setting.set_aside("one") == aside
        setting.die()
        assert not (setting.folder / NOTED).exists()
    leaves(setting.folder, Note(matching=True, event=key, before=key))
    setting.service = Service.open(setting.folder, FEW)
    assert setting.graphs("one") == ["urn:a"]  # its rows were stored before
    assert (setting.set_aside("one"), setting.set_aside("each")) == (1, 1)
    (letter,) = setting.letters()
    assert letter["queries"] == ["one", "each"] and "died" in letter["reason"]


def test_an_event_is_noted_while_it_is_matched_for_long_and_not_after(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "NOTED_S", 0.0)
    monkeypatch.setattr(watch, "_LOOK_S", 0.01)
    found: list[bytes] = []
    path, original = setting.folder / NOTED, watch.Watch.begin

    def begin(self: watch.Watch, event: int | None) -> None:
        original(self, event)
        waited(path.exists)
        found.append(path.read_bytes())

    setting.again(FEW, killed=False)
    setting.put("one", PRODUCT)
    monkeypatch.setattr(watch.Watch, "begin", begin)
    setting.push(graph("a", 1, SMALL))
    setting.service.settled()
    assert found and b"urn:a" in found[0]
    assert not path.exists()
    setting.service._folder.watch.expect_end()  # SIGTERM is no death
    found.clear()
    monkeypatch.setattr(watch.Watch, "begin", original)
    setting.push(graph("b", 2, SMALL))
    setting.service.settled()
    setting.service.close()
    assert not path.exists()
    setting.service = Service.open(setting.folder, FEW)


# --- recovery -------------------------------------------------------------------------------------------------------


class Gate:
    """Holds a recovery where it reads events, until it is opened; what is not wanted ends there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.open, self.passes = threading.Event(), threading.Event(), 0
        original = Matcher._read_events

        def read(matcher: Matcher, records: Any) -> None:
            if records and not matcher.at_work and not self.open.is_set():
                self.passes += 1
                self.reached.set()
                while not self.open.wait(0.002):
                    check_wanted()
            original(matcher, records)

        monkeypatch.setattr(Matcher, "_read_events", read)


class Recovering:
    """A service that recovers in a thread of its own."""

    def __init__(self, folder: Path, gate: Gate) -> None:
        self.gate, self.told, self.service = gate, list[Service](), None
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(folder,))
        self._thread.start()
        assert gate.reached.wait(PATIENCE_S)

    def _run(self, folder: Path) -> None:
        try:
            self.service = Service.open(folder, FEW, recovering=self.told.append)
        except BaseException as error:
            self.failure = error

    @property
    def now(self) -> Service:
        return self.told[-1]

    def opened(self) -> Service:
        """The service, once the gate is open."""
        self.gate.open.set()
        self._thread.join(PATIENCE_S)
        assert self.service is not None, self.failure
        return self.service

    def begun_again(self, times: int) -> None:
        waited(lambda: len(self.told) == times and self.gate.passes == times)


@pytest.fixture
def left(setting: Setting) -> Setting:
    """A service that was killed with events that no snapshot has."""
    setting.put("one", PRODUCT)
    setting.put("each", EACH)
    setting.service.snapshot()
    setting.push(graph("a", 1, SMALL))
    setting.push(graph("b", 2, SMALL))
    setting.service.settled()
    setting.die()
    return setting


def test_a_service_that_recovers_can_be_asked_and_says_how_far_it_is(
    left: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovering = Recovering(left.folder, Gate(monkeypatch))
    now = recovering.now
    assert now.recovering["position"] < now.recovering["of"] and set(now.recovering) == {"position", "of", "query"}
    assert [each["name"] for each in now.queries()] == ["one", "each"]
    assert now.stream("s")["events"] == 2
    assert len(now.rows("each", 0, 100)) == 4
    left.service = recovering.opened()
    assert left.graphs("one") == ["urn:a", "urn:b"]


def test_a_query_that_is_deleted_meanwhile_is_read_no_more_by_this_recovery_and_later_ones(
    left: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovering = Recovering(left.folder, Gate(monkeypatch))
    recovering.now.delete_query("one")
    recovering.begun_again(2)
    left.service = recovering.opened()
    assert [each["name"] for each in left.service.queries()] == ["each"]
    assert left.graphs("each") == ["urn:a", "urn:b"]
    left.again(FEW, killed=True)
    assert "one" not in left.service._queries.main.members
    with pytest.raises(Refused):
        left.service.query("one")


@pytest.mark.parametrize("killed", [True, False])
def test_a_query_that_is_paused_meanwhile_stays_where_it_was_until_it_is_resumed(
    left: Setting, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    recovering = Recovering(left.folder, Gate(monkeypatch))
    recovering.now.pause("one")
    recovering.begun_again(2)
    left.service = recovering.opened()
    left.push(graph("c", 3, SMALL))
    assert left.graphs("each") == ["urn:a", "urn:b", "urn:c"]
    assert left.graphs("one") == ["urn:a", "urn:b"]  # from before it was killed
    left.again(FEW, killed)
    assert left.service.query("one")["state"] == "paused"
    left.service.resume("one")
    assert left.graphs("one") == ["urn:a", "urn:b", "urn:c"]
    left.again(FEW, killed)
    left.push(graph("d", 4, SMALL))
    assert left.graphs("one") == ["urn:a", "urn:b", "urn:c", "urn:d"]


def test_a_query_that_was_put_behind_the_snapshot_is_paused_as_others_are(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting.service.snapshot()
    setting.push(graph("a", 1, SMALL))
    setting.put("one", PRODUCT)
    setting.push(graph("b", 2, SMALL))
    setting.service.settled()
    setting.die()
    recovering = Recovering(setting.folder, Gate(monkeypatch))
    recovering.now.pause("one")
    recovering.begun_again(2)
    setting.service = recovering.opened()
    setting.service.resume("one")
    setting.push(graph("c", 3, SMALL))
    assert setting.graphs("one") == ["urn:b", "urn:c"]


def test_a_recovery_that_is_to_end_is_given_up_and_goes_on_at_the_next_start(
    left: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovering = Recovering(left.folder, Gate(monkeypatch))
    recovering.now.end_recovery()
    recovering._thread.join(PATIENCE_S)
    assert isinstance(recovering.failure, GivenUp)
    recovering.gate.open.set()
    left.service = Service.open(left.folder, FEW)
    assert left.graphs("one") == ["urn:a", "urn:b"]


def test_a_service_ends_although_an_event_is_matched_without_end(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting.service.close()
    setting.service = Service(DataFolder(setting.folder), Limits(grace="1s"), SystemClock())
    setting.service.recover()
    setting.service._matcher.start()
    reached, original = threading.Event(), Matcher._read_events

    def read(matcher: Matcher, records: Any) -> None:
        while records:
            reached.set()
            check_wanted()
        original(matcher, records)

    monkeypatch.setattr(Matcher, "_read_events", read)
    setting.put("one", PRODUCT)
    setting.push(graph("a", 1, SMALL))
    assert reached.wait(PATIENCE_S)
    setting.service.close()
    monkeypatch.undo()
    setting.service = Service.open(setting.folder, FEW)
    assert setting.graphs("one") == ["urn:a"]
