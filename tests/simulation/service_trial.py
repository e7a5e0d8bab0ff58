"""A service under test beside its twin: steps are taken by both, and all that can be asked of them is compared."""

from __future__ import annotations

import errno
import json
import sqlite3
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from spaseq.service.core import history
from spaseq.service.core.records import Accepted, Advanced, QueryPut, Record, SetAside, decoded
from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from tests.service.lost_power import PowerLost
from tests.simulation.batch import Log
from tests.simulation.clients import Clients
from tests.simulation.faults import SteppedClock, failing
from tests.simulation.history import Different, plain
from tests.simulation.service_steps import (
    Follow,
    FullDisk,
    Kill,
    Pass,
    Power,
    Push,
    Read,
    Request,
    Restart,
    Snapshot,
    Step,
    StepClock,
    Vanish,
)
from tests.simulation.under_test import DISK, LIMITS, Twin, UnderTest, comparable
from tests.strategies.stream import SECOND

MARK_RECORDS = 16
"""Records between two marks of the log, few: what is rebuilt begins at one."""
_ALL = 1_000_000_000
_NEVER = _ALL
"""Operations of the disk before one fails, where none does."""
_NOT_COMPARED = frozenset({"memory", "runs"})
"""Of queries: what is kept in memory now, which depends on how much was read at once."""


class ServiceTrial:
    """See `Trial`.

    counts  of steps, events, rows, restarts, kills and losses of power
    """

    def __init__(self, folder: Path) -> None:
        self._clock = SteppedClock()
        self.under = UnderTest(folder, self._clock)
        self.twin = Twin(folder, self._clock)
        self._clients = Clients(self.under.service)
        self._rows: dict[tuple[str, int], int] = {}
        self._letters = 0
        self._log = Log(LIMITS.event_solutions)
        self.counts: Counter[str] = Counter()
        self._read_log()

    def take(self, step: Step) -> None:
        """Take a step and compare; raises Different."""
        self.counts["steps"] += 1
        try:
            self._pass_before(step)
            self._take(step)
            self._read_log()
            self._compare()
        except Different:
            raise
        except Exception as error:
            raise Different(type(error).__name__, "".join(traceback.format_exception(error))) from error

    def check_batch(self) -> None:
        """Compare the rows of queries with those of an engine that gets their events at once; raises Different."""
        declared = self.twin.service._admission.durable.queries
        for name, since in self._log.queries.items():
            if name not in declared or declared[name].paused or (expected := self._log.rows(name)) is None:
                continue
            self.counts["checked in a batch"] += 1
            found = [(n, _without_number(line)) for n, line in self.twin.service.rows(name, since.rows, _ALL)]
            numbered = [(since.rows + n, line) for n, line in enumerate(map(_without_number, expected), 1)]
            _same_lines("batch", f"{name} since record {since.number}: ", found, numbered)

    def close(self) -> None:
        """End."""
        self._clients.close()
        self.under.close()
        self.twin.close()

    # --- steps ------------------------------------------------------------------------------------

    def _take(self, step: Step) -> None:
        match step:
            case Snapshot():
                self.under.service.snapshot()
            case Restart(down_s):
                self.under.restart(down_s)
                self._restarted("restarts")
            case Kill():
                self._kill(step)
            case Power():
                self._lose_power(step)
            case FullDisk(request, at, code):
                with failing(self.under.files, code, at):
                    self._request(request, may_fail=True)
            case StepClock(seconds):
                self._clock.ahead += seconds * SECOND
            case Pass(seconds):
                self._clock.pass_seconds(seconds)
                self.under.service._ticker.tick()
            case Follow(client, query, after):
                if (declared := self._declared(query)) is not None:
                    self._clients.follow(client, query, declared, min(after, self.under.service.newest_row(query)))
            case Read(client, parts):
                self._read(client, parts)
            case Vanish(client):
                self._clients.vanish(client)
            case _:
                self._request(step)

    def _pass_before(self, step: Step) -> None:
        """Let the time pass that passes before a body is pushed."""
        match step:
            case Push(after_s=seconds):
                self._clock.pass_seconds(seconds)
            case FullDisk(request) | Kill(during=request) | Power(during=request) if request is not None:
                self._pass_before(request)

    def _kill(self, step: Kill) -> None:
        request, said = step.during, list[Refused | None]()
        if request is None:
            self.under.kill(step, lambda service: None)
            self._restarted("kills")
            return

        def ask(service: Service) -> None:
            at = _NEVER if step.at is None else step.at
            with failing(self.under.files, errno.EIO, at, for_good=True):
                said.append(_said(request, service, self.under.folder))

        decided = self.twin.decision(request)
        self.under.kill(step, ask)
        self._check_ended(request, said[0], decided, step.at is not None)
        self._restarted("kills")

    def _lose_power(self, step: Power) -> None:
        request, said = step.during, list[Refused | None]()
        if request is None or isinstance(request, Snapshot):
            self.under.lose_power(step, lambda service: _snapshot_made(service) if request else None)
        else:
            decided = self.twin.decision(request)
            self.under.lose_power(step, lambda service: said.append(_said(request, service, self.under.folder)))
            self._check_ended(request, said[0], decided, step.at is not None)
        self._restarted("losses of power")

    def _check_ended(
        self, request: Request, said: Refused | None, decided: Record | Refused | None, may_fail: bool
    ) -> None:
        """What was granted is in the log after a start; `may_fail`: what was not may be there, or may not."""
        records = self._read_log()
        failed = may_fail and _is_of_disk(said)
        self._check(request, said, decided, failed)
        self._check_records(records, [] if failed and not records else _records_of(decided))

    def _request(self, request: Request, may_fail: bool = False) -> None:
        """Ask, and compare with what the twin decides; `may_fail`: the disk fails just now."""
        decided = self.twin.decision(request)
        said = _said(request, self.under.service, self.under.folder)
        failed = may_fail and _is_of_disk(said)
        self._check(request, said, decided, failed)
        self._check_records(self._read_log(), [] if failed else _records_of(decided))

    def _check(self, request: Request, said: Refused | None, decided: Record | Refused | None, failed: bool) -> None:
        """The service answers as its twin would, unless the disk has failed."""
        status = decided.status if isinstance(decided, Refused) else None
        if not failed and (None if said is None else said.status) != status:
            raise Different("answer", f"{said}, where the twin decided {decided}, to {request}")

    def _check_records(self, records: Sequence[Record], expected: Sequence[Record]) -> None:
        """The log has the records that the twin would have written."""
        if [comparable(each) for each in records] != [comparable(each) for each in expected]:
            raise Different("log", f"{records}, where the twin decided {expected}")

    def _restarted(self, how: str) -> None:
        self.counts[how] += 1
        self._read_log()
        self.twin.restarted()
        self._clients.restarted(self.under.service)

    def _read(self, name: str, parts: int) -> None:
        rows = self.under.service.rows  # they are those of the twin, but for labels of blank nodes
        wrong = self._clients.read(name, parts, self._declared, lambda query, after: rows(query, after, _ALL))
        if wrong is not None:
            raise Different("client", wrong)

    def _read_log(self) -> list[Record]:
        """Let the twin read what the log has more since the last call; returns that."""
        found, copies = list[Record](), self.under.folder / "data" / "kb"
        read = [(number, decoded(data), data) for number, data in self.under.records()]
        for _, record, _ in read:
            self.twin.know(record)
        for number, record, data in read:
            self.twin.take(number, record, data, copies)
            self._log.add(number, record, self._rows_of(record))
            if isinstance(record, SetAside):
                self.counts["set aside"] += len(record.events)
                continue
            found.append(record)
            if isinstance(record, Accepted):
                self.counts["events"] += record.count
            if isinstance(record, Advanced) and record.silence:
                self._check_silence(record)
        return found

    def _check_silence(self, record: Advanced) -> None:
        """The watermark of a silent stream is where its silence has moved it."""
        settings = self.twin.service._admission.durable.streams[record.stream]
        largest = settings.progress.largest
        if settings.progress.events and record.watermark < largest - settings.settings.max_delay_ns + record.silence:
            raise Different("silence", f"{record} of {settings}")

    # --- comparison -------------------------------------------------------------------------------

    def _compare(self) -> None:
        service, twin = self.under.service, self.twin.service
        service.settled()
        self._read_log()
        for what in ("streams", "kbs"):
            _same(what, getattr(service, what)(), getattr(twin, what)())
        _same("queries", _shown(service._overview.queries()), _shown(twin._overview.queries()))
        for name, declared in twin._admission.durable.queries.items():
            before = self._rows.get((name, declared.number), 0)
            rows = service.rows(name, before, _ALL)
            _same_lines("rows", f"of {name} behind {before}: ", rows, twin.rows(name, before, _ALL))
            if rows:
                self._rows[name, declared.number] = rows[-1][0]
                self.counts["rows"] += len(rows)
        letters, others = (each.dead_letters(self._letters, _ALL) for each in (service, twin))
        _same_lines("dead letters", "", list(enumerate(letters)), list(enumerate(others)))
        self._letters += len(letters)
        if service._matcher.failure is not None:
            raise Different("matching has ended", repr(service._matcher.failure))

    def _rows_of(self, record: Record) -> int | None:
        """The rows so far of the query that a record puts; None if it is paused, or waits for one that is."""
        if not isinstance(record, QueryPut) or record.name not in self.twin.service._queries.main.members:
            return None
        return self.twin.service.newest_row(record.name)

    def _declared(self, query: str) -> int | None:
        """The number of the query that has a name now."""
        declared = self.twin.service._admission.durable.queries.get(query)
        return None if declared is None else declared.number


@contextmanager
def service_trial() -> Iterator[ServiceTrial]:
    """A trial in a folder of its own, in memory where there is one."""
    shared = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder,
        patch.object(history, "_EVERY", MARK_RECORDS),
    ):
        trial = ServiceTrial(Path(folder))
        try:
            yield trial
        finally:
            trial.close()


def _said(request: Request, service: Service, folder: Path) -> Refused | None:
    """None if a request was granted."""
    try:
        request.ask(service, folder)
    except Refused as refused:
        return refused
    return None


def _snapshot_made(service: Service) -> None:
    """A snapshot, unless power is lost before it is made."""
    with suppress(PowerLost, OSError, sqlite3.Error, Refused):
        service.snapshot()


def _is_of_disk(said: Refused | None) -> bool:
    """True for a refusal because the disk has failed."""
    return said is not None and said.status in DISK


def _records_of(decided: Record | Refused | None) -> list[Record]:
    """The records of the log that a decision makes."""
    return [] if decided is None or isinstance(decided, Refused) else [decided]


def _shown(queries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is compared of queries."""
    return [{key: value for key, value in each.items() if key not in _NOT_COMPARED} for each in queries]


def _same(what: str, found: Sequence[dict[str, Any]], expected: Sequence[dict[str, Any]]) -> None:
    for one, other in zip(found, expected, strict=False):
        if members := [f"{key} {one.get(key)}, not {value}" for key, value in other.items() if one.get(key) != value]:
            raise Different(what, f"{other['name']} has {'; '.join(members)}")
    if found != expected:
        raise Different(what, f"{[each['name'] for each in found]}, not {[each['name'] for each in expected]}")


def _same_lines(sort: str, what: str, found: Sequence[tuple[int, str]], expected: Sequence[tuple[int, str]]) -> None:
    """Both have the same lines under the same numbers, apart from the labels of blank nodes."""
    if found == expected:
        return
    for one, other in zip(found, expected, strict=False):
        if one != other and (one[0], plain(one[1])) != (other[0], plain(other[1])):
            raise Different(sort, f"{what}{one}, not {other}")
    if len(found) != len(expected):
        more = (found[len(expected) :] or expected[len(found) :])[:3]
        raise Different(sort, f"{what}{len(found)} instead of {len(expected)}: {more}")


def _without_number(line: str) -> str:
    """A row in JSON without its number, its members in a fixed order."""
    row = json.loads(line)
    row.pop("n", None)
    return json.dumps(row)
