"""A disk that fails for a while: requests are refused by name, and everything is there when the disk works again."""

from __future__ import annotations

import errno
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, BinaryIO
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparql_gpm.times import SECOND_NS, format_time
from spaseq.errors import RunError
from spaseq.service.core import copies, groups, history, matcher, storing
from spaseq.service.core.folder import DataFolder
from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.log import segmented
from spaseq.service.log.files import DiskFolder
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.streams import LogRetention, StreamSettings
from spaseq.service.store.database import Database
from spaseq.service.store.faults import starting
from tests.service.core.test_service import EACH, PAIR, Running, event
from tests.service.faulty_connection import CODES, FaultyDisk
from tests.service.faulty_files import FaultyFiles
from tests.simulation.faults import SteppedClock
from tests.waiting import waited

OF_FILES = ("open", "write", "sync", "truncate", "sync folder", "note")
OF_READING = ("open", "read", "remove")
OF_DATABASE = ("connect", "begin", "insert", "delete", "select", "commit")
OPERATIONS = [(kind, name) for kind, names in enumerate((OF_FILES, OF_READING, OF_DATABASE)) for name in names]
TIMES = (1, 3, 10)
"""Operations that fail, one after the other."""
KNOWING = "SELECT ?v ?k WITHIN 20 SECONDS FROM STREAM S <urn:s> FROM NAMED <urn:kb> WHERE { SEQ(A) DEFINE GPM A ON S "
KNOWING += "{ ?s <urn:a> ?v . GRAPH <urn:kb> { <urn:x> <urn:k> ?k } } }"


@contextmanager
def impatient() -> Iterator[None]:
    """A time in which everything is tried again at once."""
    with (
        patch.object(storing, "STORE_AGAIN_S", 0.0),
        patch.object(groups, "READ_AGAIN_S", 0.0),
        patch.object(copies, "READ_AGAIN_S", 0.0),
        patch.object(matcher, "SAVE_AGAIN_S_MIN", 0.001),
        patch.object(matcher, "SAVE_AGAIN_S_MAX", 0.001),
        patch.object(segmented, "SEGMENT_BYTES", 1_500),
        patch.object(history, "_EVERY", 4),
    ):
        yield


class OnFaultyDisk:
    """A service whose log and database are on a disk that fails."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files, self.disk = folder, FaultyFiles(), FaultyDisk()
        self.clock = SteppedClock(1_700_000_000 * SECOND_NS)
        self.service = self.opened()

    def opened(self) -> Service:
        service = Service(DataFolder(self.folder, self.files, self.disk.connect), Limits(), self.clock)
        service.recover()
        service._matcher.start()
        return service

    @contextmanager
    def failing(self, kind: int, operation: str, code: int, times: int) -> Iterator[None]:
        """A time in which an operation fails, as often as is said."""
        left = times

        def fail(asked: str) -> int:
            nonlocal left
            if asked != operation or left == 0:
                return 0
            left -= 1
            return code

        self._fail_by(kind, fail)
        try:
            yield
        finally:
            self._fail_by(kind, lambda _: 0)

    def _fail_by(self, kind: int, fail: Callable[[str], int]) -> None:
        if kind == 0:
            self.files.fail = fail
        elif kind == 1:
            self.files.fail_others = fail
        else:
            self.disk.fail = fail

    def settled(self) -> None:
        """Wait until nothing waits for the disk any more, and all that was accepted has been read."""
        self.service._log.probe()
        self.service.settled()
        waited(lambda: not self.service.disk.waiting())
        self.service.settled()
        self.service.check_matching()


def steps(folder: Path) -> list[Callable[[Service], Any]]:
    """The requests to a service, one after the other; each may be asked again."""
    (knowledge := folder / "kb.nt").write_text("<urn:x> <urn:k> <urn:v> .\n")
    stream = StreamSettings("urn:s", max_delay="2s", retention=LogRetention(age="1s"))
    short = PAIR.replace("1 HOUR", "20 SECONDS")

    def push(first: int, service: Service) -> None:
        for number in range(first, first + 6):
            body = event(f"e{number}", 3 * number, "ab"[number % 2], str(number)) + (
                "<urn:a> <urn:b> .\n" if number == first else ""
            )
            service.accept("s", body.encode(), "nquads", str(number))
            service.settled()  # what is read at once decides what is trimmed

    def asked(service: Service) -> None:
        service.rows("each", 0, 100)
        service.dead_letters(0, 100)
        list(service.retained.replay("pair", "2023-11-14T22:13:20Z", "2023-11-14T23:13:20Z"))
        service.retained.newest_events("s", 3)
        try:
            service.explaining.why("each", service.newest_row("each"))
        except Refused as refused:
            if refused.status != 410:
                raise

    return [
        lambda service: service.put_stream("s", stream),
        lambda service: service.put_query("each", QueryChanges(EACH.replace("1 HOUR", "20 SECONDS"))),
        lambda service: service.put_query("pair", QueryChanges(short)),
        lambda service: service.put_kb("k", KnowledgeSettings("urn:kb", path=str(knowledge))),
        lambda service: service.put_query("knowing", QueryChanges(KNOWING)),
        partial(push, 0),
        lambda service: service.pause("each"),
        partial(push, 6),
        lambda service: service.put_query("pair", QueryChanges(short + "# again", since="window")),
        lambda service: service.resume("each"),
        asked,
        lambda service: service.snapshot(),
        partial(push, 12),
        lambda service: service.put_query("pair", QueryChanges(short, since="window")),
        lambda service: service.snapshot(),
        asked,
        partial(push, 18),
    ]  # fmt: skip


def shown(service: Service) -> dict[str, Any]:
    """All that a service has found."""
    service.settled()
    service.advance("s", format_time((1_700_000_000 + 1_000) * SECOND_NS))
    service.settled()
    names = [each["name"] for each in service.queries()]
    assert [each["state"] for each in service.queries()] == ["running"] * len(names), service.queries()
    of_stream = {key: service.stream("s")[key] for key in ("events", "late", "malformed", "watermark", "position")}
    return (
        {name: service.rows(name, 0, 1_000) for name in names} | {"letters": service.dead_letters(0, 100)} | of_stream
    )


@cache
def undisturbed() -> dict[str, Any]:
    """The twin."""
    with TemporaryDirectory() as folder, impatient():
        twin = OnFaultyDisk(Path(folder) / "data")
        for step in steps(Path(folder)):
            twin.clock.pass_seconds(5)
            step(twin.service)
            twin.service.settled()
        assert twin.service._log.first > 1  # it was trimmed
        found = shown(twin.service)
        twin.service.close()
    assert (len(found["each"]), len(found["pair"]), len(found["knowing"]), len(found["letters"])) == (24, 11, 12, 4)
    return found


def insisted(step: Callable[[Service], Any], on: OnFaultyDisk) -> None:
    """Ask until it is done: as the disk fails it is refused, and the file is named."""
    while True:
        try:
            step(on.service)
            return
        except Refused as refused:
            assert refused.status in (503, 507), refused
        except (OSError, sqlite3.Error) as error:  # over HTTP this is `store.faults.refused`
            assert isinstance(error, sqlite3.Error) or str(error.filename).startswith("log"), error


@settings(max_examples=30, deadline=None)
@given(
    code=st.sampled_from(sorted(CODES)),
    operation=st.sampled_from(OPERATIONS),
    moment=st.integers(0, 16),
    times=st.sampled_from(TIMES),
    restarted=st.booleans(),
)
def test_a_disk_that_fails_for_a_while_changes_no_row(
    code: int, operation: tuple[int, str], moment: int, times: int, restarted: bool
) -> None:
    """On 8b7edbed a read or open that failed ended matching."""
    twin = undisturbed()
    with TemporaryDirectory() as folder, impatient():
        on = OnFaultyDisk(Path(folder) / "data")
        try:
            for number, step in enumerate(steps(Path(folder))):
                on.clock.pass_seconds(5)
                if number != moment:
                    insisted(step, on)
                    continue
                with on.failing(*operation, code, times):
                    insisted(step, on)
                    insisted(Service.settled, on)
                on.settled()
                if restarted:
                    on.service.close()
                    on.service = on.opened()
            assert shown(on.service) == twin
        finally:
            on.service.close()


@pytest.fixture
def on(tmp_path: Path) -> Iterator[OnFaultyDisk]:
    """A service with two queries over a stream, one of them with a window to rebuild."""
    with impatient():
        made = OnFaultyDisk(tmp_path / "data")
        made.service.put_stream("s", StreamSettings("urn:s", max_delay="2s"))
        for name, text in {"each": EACH, "pair": PAIR}.items():
            made.service.put_query(name, QueryChanges(text))
        yield made
        made.service.close()


def push(on: OnFaultyDisk, number: int) -> None:
    """Push an event, with which the one of ten before is on time."""
    on.service.accept("s", event(f"e{number}", 3 * number, "ab"[number % 2], str(number)).encode(), "nquads")


def pairs(service: Service) -> list[str]:
    return [json.loads(line)["bindings"]["b"]["value"] for _, line in service.rows("pair", 0, 100)]


@pytest.mark.parametrize("since", ["window", "resumed"])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_query_waits_by_name_for_the_log_and_others_go_on(on: OnFaultyDisk, since: str, restarted: bool) -> None:
    service = on.service
    for number in range(6):
        push(on, number)
    service.settled()
    assert pairs(service) == ["1", "3"]
    if since == "resumed":
        service.pause("pair")
    with on.failing(1, "read", errno.EIO, -1):
        push(on, 6)
        if since == "resumed":
            service.resume("pair")
        else:
            service.put_query("pair", QueryChanges(PAIR + "# again", since="window"))
        push(on, 7)
        push(on, 8)
        waited(lambda: service.newest_row("each") == 8)
        waited(lambda: "query pair" in service.disk.waiting())
        (fault,) = service.disk.waiting().values()
        assert re.fullmatch(r"log/\d+-0000\.log: Input/output error", fault), fault
        service.disk.check()
        service.snapshot()
        with pytest.raises(OSError, match="Input/output error"):
            list(service.retained.replay("each", "2023-11-14T22:13:20Z", "2023-11-14T23:13:20Z"))
        if restarted:
            service.close()
    if restarted:
        on.service = on.opened()
    on.settled()
    assert pairs(on.service) == ["1", "3", "5", "7"]


def test_a_snapshot_is_tried_again_and_nothing_is_trimmed_before(on: OnFaultyDisk) -> None:
    for number in range(4):
        push(on, number)
    with on.failing(2, "delete", errno.ENOSPC, -1):
        with pytest.raises(sqlite3.OperationalError, match="ENOSPC"):
            on.service.snapshot()
        saved = on.service._matcher._saved
        waited(lambda: on.service._matcher._save_again_s == matcher.SAVE_AGAIN_S_MAX)
        assert on.service.disk.waiting() == {"snapshot": "service.sqlite: disk says ENOSPC"}
        push(on, 4)
        on.service.settled()
        on.service.disk.check()
    on.settled()
    assert on.service._matcher._saved == on.service._log.next - 1 > saved


def test_it_is_said_while_rows_cannot_be_stored(on: OnFaultyDisk) -> None:
    with on.failing(2, "commit", errno.EDQUOT, -1):
        for number in range(4):
            push(on, number)
        waited(lambda: "rows" in on.service.disk.waiting())
        with pytest.raises(Refused, match=r"rows cannot be written: service.sqlite: disk says EDQUOT") as refused:
            on.service.disk.check()
        assert refused.value.status == 503 and refused.value.members["waiting"]
    on.settled()
    on.service.disk.check()
    assert on.service.newest_row("each") == 3


def test_it_is_said_while_nothing_can_be_accepted_and_looked_at_though_nobody_pushes(on: OnFaultyDisk) -> None:
    with on.failing(0, "sync", errno.EROFS, -1):
        with pytest.raises(Refused) as refused:
            push(on, 0)
        assert refused.value.status == 503
        on.service._ticker.tick()
        with pytest.raises(Refused, match="log cannot be written: log: Read-only file system"):
            on.service.disk.check()
    on.service._ticker.tick()
    on.service.disk.check()
    assert segmented.PROBE not in on.files.names()
    push(on, 0)


def test_a_slow_disk_is_said_to_be_slow(on: OnFaultyDisk) -> None:
    begun, over = Event(), Event()

    def slow(operation: str) -> int:
        if operation == "sync":
            begun.set()
            over.wait()
        return 0

    on.files.fail = slow
    promise = on.service.begin("s", event("e", 0).encode(), "nquads")
    begun.wait()
    with patch("spaseq.service.core.disk.SLOW_S", -1.0):
        assert on.service.disk.waiting()["log"].startswith("the disk is slow: a write has gone on for")
        on.service.disk.check()
    over.set()
    promise.kept()
    assert on.service.disk.waiting() == {}


def test_a_service_that_cannot_store_anything_ends_all_the_same(on: OnFaultyDisk) -> None:
    on.disk.fail = lambda operation: errno.EIO
    push(on, 0)
    push(on, 3)
    on.service.close()
    on.disk.fail = lambda operation: 0
    on.service = on.opened()
    assert on.service.newest_row("each") == 1


def test_damage_is_not_tried_again_and_names_the_file(on: OnFaultyDisk) -> None:
    def malformed(*_: object) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error

    with patch.object(on.disk, "check", malformed):
        push(on, 0)
        push(on, 3)
        waited(lambda: on.service._matcher.failure is not None)
    with pytest.raises(Refused, match=r"service.sqlite is damaged: database disk image is malformed"):
        on.service.check_matching()


def test_a_start_that_the_disk_refuses_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("no folder")
    with pytest.raises(RunError, match=r"the data folder cannot be used: .*log: "), starting():
        DataFolder(tmp_path)


def test_a_read_that_failed_once_ends_no_matching(running_on_disk: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 8b7edbed matching ended: a query that catches up reads the log, and the thread died of the first EIO."""
    running, service = running_on_disk, running_on_disk.service
    opened, left = DiskFolder.open, [errno.EIO, errno.EMFILE]

    def failing(folder: DiskFolder, name: str) -> BinaryIO:
        if left:
            raise OSError(left[0], os.strerror(left.pop(0)), name)
        return opened(folder, name)

    running.put("each", EACH)
    service.pause("each")
    running.push(event("e1", 0), event("e2", 30))
    service.settled()
    monkeypatch.setattr(DiskFolder, "open", failing)
    service.resume("each")
    waited(lambda: service.newest_row("each") == 1)
    assert not left
    service.check_matching()


def test_a_snapshot_that_failed_once_is_tried_again(running_on_disk: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 8b7edbed the thread that matches died of it, if it had begun the snapshot itself."""
    running, service = running_on_disk, running_on_disk.service
    transaction, left = Database.transaction, [True]

    def failing(database: Database) -> Any:
        if left:
            left.pop()
            raise sqlite3.OperationalError("disk I/O error")
        return transaction(database)

    monkeypatch.setattr(matcher, "SNAPSHOT_RECORDS", 1)
    monkeypatch.setattr(Database, "transaction", failing)
    running.push(event("e", 0))
    waited(lambda: not left and service._matcher._saved == 2)
    service.check_matching()


@pytest.fixture
def running_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A service over real files, tried again soon."""
    for module, name in ((groups, "READ_AGAIN_S"), (matcher, "SAVE_AGAIN_S_MIN")):
        monkeypatch.setattr(module, name, 0.01, raising=False)
    made = Running(tmp_path)
    made.service.put_stream("s", StreamSettings("urn:s", max_delay="2s"))
    yield made
    monkeypatch.undo()
    made.service.close()
