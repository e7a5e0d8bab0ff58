"""A restarted service gives every query its own state; one that cannot be read fails its query, and no other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from spaseq.runtime.state.saved_states import InputState, QueryState
from spaseq.service.core.saved_groups import SavedGroup
from spaseq.service.core.service import Service
from spaseq.service.core.snapshots import load, save
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QueryChanges, Since
from spaseq.service.settings.streams import StreamSettings
from spaseq.service.store.database import Database
from spaseq.service.store.writes import store_snapshot
from tests.engine.test_saved_states import BAD, CHAINS, NAMES, dependent
from tests.states.release import EVENTS, EX, HALF, KNOWING, KNOWN, QUERIES, STREAMS, Event, bodies

Rows = dict[str, list[tuple[int, str]]]


class Served:
    """A service over a folder, with some of the queries, and all streams."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open()

    def open(self) -> None:
        """Start it, or start it again."""
        self.service = Service.open(self.folder, Limits())

    def declare(self, names: tuple[str, ...], snapshots: bool = False) -> None:
        """Put the streams and queries, with a snapshot after each."""
        for name, iri in STREAMS.items():
            self.service.put_stream(name, StreamSettings(iri, max_delay="3s"))
        for name in names:
            self.service.put_query(name, QueryChanges(QUERIES[name]))
            if snapshots:
                self.service.snapshot()

    def push(self, events: tuple[Event, ...]) -> None:
        """Push events."""
        for stream, body in bodies(events):
            self.service.accept(stream, body, "nquads")

    def restart(self) -> None:
        """End it, and start it again."""
        self.service.close()
        self.open()

    def rows(self) -> Rows:
        """The rows of each query, which are numbered from 1 on."""
        self.service.settled()
        found = {each["name"]: self.service.rows(each["name"], 0, 10**6) for each in self.service.queries()}
        assert all([n for n, _ in rows] == list(range(1, len(rows) + 1)) for rows in found.values())
        return found

    def errors(self) -> dict[str, str]:
        """The reasons of the queries that have failed, when all has been read."""
        self.service.settled()
        return {each["name"]: each["error"]["detail"] for each in self.service.queries() if each["error"]}


@pytest.fixture
def expected(tmp_path: Path) -> Iterator[Callable[[tuple[str, ...]], Rows]]:
    """The rows of queries in a service that is never disturbed."""
    opened: list[Served] = []

    def rows(names: tuple[str, ...]) -> Rows:
        opened.append(twin := Served(tmp_path / "twin"))
        twin.declare(names)
        twin.push(EVENTS)
        return twin.rows()

    yield rows
    for each in opened:
        each.service.close()


@pytest.mark.parametrize("names", CHAINS[:2])
def test_a_clean_restart_gives_every_query_its_own_state(
    names: tuple[str, ...], tmp_path: Path, expected: Callable[[tuple[str, ...]], Rows]
) -> None:
    """On 8b7edbed queries had each other's states, and with a reader of two streams the service started no more."""
    served = Served(tmp_path / "data")
    served.declare(names, snapshots=True)
    for begin in range(0, len(EVENTS), 30):
        served.push(EVENTS[begin : begin + 30])
        served.restart()
    assert served.rows() == expected(names) and not served.errors()
    served.service.close()


def change(folder: Path, changed: Callable[[SavedGroup], SavedGroup]) -> None:
    """Let the snapshot of a service that has ended hold something else."""
    database = Database(folder / "service.sqlite", is_new=False)
    found = database.snapshot()
    assert found is not None
    number, link, parts = found
    saved = load(parts)
    saved = msgspec.structs.replace(saved, groups=[changed(group) for group in saved.groups])
    with database.transaction() as write:
        store_snapshot(write, number, link, save(saved))
    database.close()


@pytest.mark.parametrize("wrong", BAD)
@pytest.mark.parametrize("name", ["chain", "made"])
def test_a_state_that_cannot_be_read_fails_its_query_and_its_window_brings_it_back(
    wrong: Callable[[QueryState], QueryState],
    name: str,
    tmp_path: Path,
    expected: Callable[[tuple[str, ...]], Rows],
) -> None:
    def changed(group: SavedGroup) -> SavedGroup:
        queries = [
            msgspec.structs.replace(each, state=wrong(each.state)) if each.name == name and each.state else each
            for each in group.queries
        ]
        return msgspec.structs.replace(group, queries=queries)

    served, undisturbed = Served(tmp_path / "data"), expected(NAMES)
    served.declare(NAMES)
    served.push(EVENTS[:HALF])
    before = len(served.rows()[name])
    served.service.close()
    change(served.folder, changed)
    for _ in range(2):
        served.open()
        assert list(served.errors()) == [name] and BAD[wrong] in served.errors()[name]
        assert "?since=window" in served.errors()[name] and len(served.rows()[name]) == before
        served.service.close()
    served.open()
    served.service.put_query(name, QueryChanges(QUERIES[name], since="window"))
    assert not served.errors()
    served.push(EVENTS[HALF:])
    served.restart()
    found = served.rows()
    assert {each for each in NAMES if found[each] != undisturbed[each]} <= dependent({name: ""}) - {name}
    served.service.close()


def test_an_input_that_cannot_be_read_fails_the_queries_that_read_it(
    tmp_path: Path, expected: Callable[[tuple[str, ...]], Rows]
) -> None:
    names, undisturbed = ("chain", "parts", "two"), expected(("chain", "parts", "two"))

    def changed(group: SavedGroup) -> SavedGroup:
        inputs = [each if len(each.iris) > 1 else InputState(each.iris, each.blob[:-9]) for each in group.inputs]
        return msgspec.structs.replace(group, inputs=inputs)

    served = Served(tmp_path / "data")
    served.declare(names)
    served.push(EVENTS[:HALF])
    served.service.close()
    change(served.folder, changed)
    served.open()
    assert served.errors().keys() == {"chain", "parts"} and "damaged" in served.errors()["chain"]
    served.push(EVENTS[HALF:])
    assert served.rows()["two"] == undisturbed["two"]
    served.service.close()


def put_known(served: Served, number: int, count: int = 1) -> None:
    """Put a knowledge base of so many kinds for each key, whose names begin with a number."""
    path = served.folder.parent / "kb.nt"
    known = [(key, kind) for key in range(3) for kind in range(count)]
    path.write_text("".join(f"<{EX}k{key}> <{EX}kind> <{EX}{number}-{kind}> .\n" for key, kind in known))
    served.service.put_kb("known", KnowledgeSettings(KNOWN, path=str(path)))


@pytest.mark.parametrize("kinds", [(1, 2), (2, 1)])
def test_an_event_sees_the_knowledge_base_that_was_there_when_it_was_read(
    kinds: tuple[int, int], tmp_path: Path
) -> None:
    """Where each key has one kind a match could be joined instead of its events, until the base is put again."""
    served = Served(tmp_path / "data")
    served.declare(())
    for number, count in enumerate(kinds):
        put_known(served, number, count)
        if not number:
            served.service.put_query("enriched", QueryChanges(KNOWING["enriched"]))
        served.push(EVENTS[number * HALF : (number + 1) * HALF])
        served.restart()
    found = set()
    for _, text in served.rows()["enriched"]:
        row = json.loads(text)
        event = int(row["events"]["A"][0].removeprefix("urn:e"))
        if not HALF - 4 <= event < HALF:  # the last ones wait for later events of their streams
            found.add((int(event >= HALF), row["bindings"]["c"]["value"]))
    assert found == {(number, f"{EX}{number}-{kind}") for number in (0, 1) for kind in range(kinds[number])}
    assert not served.errors()
    served.service.close()


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("since", ["now", "window"])
def test_a_paused_query_catches_up_over_the_knowledge_bases_of_its_place_in_the_log(
    restarts: bool, since: Since, tmp_path: Path
) -> None:
    """So far it was restarted over the newest one, and joined with that what had been accepted before."""

    def rows(folder: Path, pauses: bool) -> Rows:
        served = Served(folder / "data")
        served.declare(())
        put_known(served, 0)
        served.service.put_query("enriched", QueryChanges(KNOWING["enriched"]))
        if pauses:
            served.service.pause("enriched")
        for number in range(4):
            put_known(served, number)
            if number == 2 and since == "window":  # read where it stands in the log
                changed = KNOWING["enriched"].replace("?k ?c", "?c ?k")
                served.service.put_query("enriched", QueryChanges(changed, since=since))
            served.push(EVENTS[30 * number : 30 * number + 30])
            if restarts:
                served.restart()
        if pauses:
            served.service.resume("enriched")
        found = served.rows()
        assert not served.errors()
        served.service.close()
        return found

    for name in ("paused", "never"):
        (tmp_path / name).mkdir()
    found, undisturbed = rows(tmp_path / "paused", True), rows(tmp_path / "never", False)
    assert found == undisturbed
    assert {json.loads(text)["bindings"]["c"]["value"] for _, text in found["enriched"]} == {
        f"{EX}{number}-0" for number in range(4)
    }
