"""A service whose clock, disk and crashes are those of a random number generator; the rows must not show it."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from sparql_gpm.times import SECOND_NS
from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.queries import QueryChanges, Since
from spaseq.service.settings.streams import StreamSettings
from tests.service.faulty_files import FaultyFiles
from tests.strategies.stream import Arrived, to_trig

FAR = "2200-01-01T00:00:00Z"
_BLANK = re.compile(r'"type": "bnode", "value": "[^"]*"|_:\w+')


class SteppedClock:
    """Both clocks are set by the simulation."""

    def __init__(self) -> None:
        self.now = 1_700_000_000 * SECOND_NS

    def wall(self) -> int:
        return self.now

    def steady(self) -> int:
        return self.now


class Simulation:
    """One service, its only client, and what befalls them.

    faults      chance that an operation of the disk fails
    """

    def __init__(self, folder: Path, dice: Random, faults: float = 0.0) -> None:
        self.folder, self.dice, self.faults = folder, dice, faults
        self.clock, self.files = SteppedClock(), FaultyFiles()
        self.crashes = self.failures = 0
        self.service = self._opened()

    def push(self, stream: str, events: list[Arrived]) -> None:
        """Push until it is acknowledged, and sometimes once more."""
        body = to_trig(tuple(event[1:] for event in events)).encode()
        self.again(self.service.accept, stream, body, "trig")
        if self.dice.random() < 0.1:
            said = self.service.accept(stream, body, "trig") if not self.faults else {"duplicates": len(events)}
            assert said["duplicates"] == len(events), said

    def again(self, request: Callable[..., object], *arguments: object) -> None:
        """Ask until the disk does what it shall."""
        while True:
            try:
                request(*arguments)
                return
            except Refused as refused:
                assert refused.status in (503, 507), refused
                self.failures += 1

    def crash(self) -> None:
        """Kill the service, lose some of what was not synced, and start it again."""
        self.crashes += 1
        left = self.files.crashed(lambda size: self.dice.randint(0, size))
        killed(self.service, self.files)
        self.files = left
        self.service = self._opened()

    def befall(self) -> None:
        """Let something happen, or nothing."""
        match self.dice.randrange(12):
            case 0 | 1:
                self.crash()
            case 2:
                self.service.snapshot()
            case 3:
                self.clock.now += self.dice.randrange(5) * SECOND_NS
                self.service._ticker.tick()
            case _:
                pass

    def put(self, name: str, text: str, since: Since = "now") -> None:
        """Put a query."""
        self.again(self.service.put_query, name, QueryChanges(text, since=since))

    def put_stream(self, name: str, iri: str) -> None:
        """Put a stream whose log is kept for ever."""
        self.again(self.service.put_stream, name, StreamSettings(iri, max_delay="0s"))

    def rows(self, name: str) -> list[str]:
        """The rows of a query when all has been read; their blank nodes are all the same."""
        return rows_of(self.service, name)

    def from_scratch(self) -> Service:
        """A service that reads the same log from its first record, without a crash or a snapshot."""
        files = FaultyFiles()
        files.contents = self.files.contents
        return Service.open(self.folder / "scratch", Limits(), self.clock, files)

    def close(self) -> None:
        """End."""
        self.files.fail = lambda operation: 0
        self.service.close()

    def _opened(self) -> Service:
        service = Service.open(self.folder / "data", Limits(), self.clock, self.files)
        self.files.fail = self._fault
        self.files.tear = lambda size: self.dice.randint(0, size)
        return service

    def _fault(self, operation: str) -> int:
        if self.dice.random() >= self.faults:
            return 0
        return self.dice.choice((errno.EIO, errno.ENOSPC))


def rows_of(service: Service, name: str) -> list[str]:
    """The rows of a query when all has been read; their blank nodes are all the same."""
    service.settled()
    return [plain(line) for _, line in service.rows(name, 0, 10_000_000)]


def plain(line: str) -> str:
    """A row whose blank nodes are all the same."""
    return _BLANK.sub(lambda found: '"type": "bnode"' if found[0].startswith('"') else "_:b", line)


def killed(service: Service, files: FaultyFiles) -> None:
    """End the threads of a service; from now on nothing reaches its disk."""
    files.fail = lambda operation: errno.EIO
    service._ticker.close()
    matcher = service._matcher
    with matcher._changed:
        matcher._waiting.clear()
        matcher._events = 0
    service._admission.close()
    with matcher._changed:
        matcher._waiting.clear()
    matcher.close()
    service._queries.close()
    service._database.close()
    os.close(service._lock)


def without_number(line: str) -> str:
    """A row as the command line has it."""
    row = json.loads(line)
    del row["n"]
    return json.dumps(row)
