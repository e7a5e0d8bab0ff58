"""What befalls a service under test: clocks that are set, kills, operations of the disk that fail."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Lock, Thread

from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from tests.service.faulty_files import FaultyFiles
from tests.service.lost_power import Disk, PowerLost
from tests.strategies.stream import ORIGIN, SECOND
from tests.waiting import PATIENCE_S, waited


@dataclass(slots=True)
class SteppedClock:
    """A clock that stands still until it is set.

    now     both clocks, nanoseconds
    ahead   by which the wall clock is ahead of that
    """

    now: int = ORIGIN
    ahead: int = 0

    def pass_seconds(self, seconds: int) -> None:
        """Let time pass."""
        self.now += seconds * SECOND

    def wall(self) -> int:
        """See `Clock`."""
        return self.now + self.ahead

    def steady(self) -> int:
        """See `Clock`."""
        return self.now


@contextmanager
def failing(files: FaultyFiles, code: int, at: int, for_good: bool = False) -> Iterator[None]:
    """A time in which an operation of a disk fails, the one with the number `at`; `for_good`: so do all behind it."""
    count = 0

    def fail(operation: str) -> int:
        nonlocal count
        count += 1
        return code if count == at + 1 or (for_good and count > at) else 0

    files.fail, files.tear = fail, lambda size: size // 2
    try:
        yield
    finally:
        files.fail = lambda operation: 0


@contextmanager
def losing_power(files: FaultyFiles, disk: Disk, at: int) -> Iterator[None]:
    """A time in which there is no power from an operation of both on, the one with the number `at`."""
    count, lock = 0, Lock()

    def is_over() -> bool:
        nonlocal count
        with lock:
            count += 1
            return count > at

    def lost(operation: str) -> int:
        if is_over():
            raise PowerLost
        return 0

    files.fail, files.tear = lambda operation: errno.EIO if is_over() else 0, lambda size: size // 2
    disk.fail = lost
    try:
        yield
    finally:
        files.fail = disk.fail = lambda operation: 0


def held(service: Service) -> Event:
    """Let the service read nothing more of its log until the event is set."""
    begun, over = Event(), Event()

    def stand_still() -> None:
        begun.set()
        over.wait()

    service._matcher.look(stand_still)
    begun.wait(PATIENCE_S)
    return over


def settled_or_stuck(service: Service) -> None:
    """Wait until all has been read, or the log does not take what was set aside."""

    def settle() -> None:
        with suppress(Refused):
            service.settled()

    settling = Thread(target=settle, daemon=True)
    settling.start()
    waited(lambda: not settling.is_alive() or service._matcher.decide_fault)


def stop(service: Service, files: FaultyFiles, over: Event | None = None) -> None:
    """End the threads of a service as a kill does: nothing that it has not done yet is done.

    over    of `held`
    """
    files.fail = lambda operation: errno.EIO
    service._ticker.close()
    service._admission.close()
    matcher = service._matcher
    with matcher._changed:
        matcher._waiting.clear()
    if over is not None:
        over.set()
    matcher.close()
    service._watch.stop()
    service._queries.close()
    with suppress(OSError):
        service._folder.close()
