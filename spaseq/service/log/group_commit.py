"""Group commit: one thread appends what others have submitted, as many records at once as wait.

A sync costs the same for one record as for a thousand, so records that come while one is under way share the next one.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, RLock, Thread
from typing import Generic, TypeAlias, TypeVar

from spaseq.service.log.segmented import Place, SegmentedLog

GROUP_RECORDS_MAX = 10_000
GROUP_BYTES_MAX = 8 << 20
"""A group takes no further record from here on."""

T = TypeVar("T")
_FULL = (errno.ENOSPC, errno.EDQUOT)


class NotDurable(Exception):
    """A record could not be written, or one that was submitted before it; it is not in the log.

    full    the disk is full
    sure    False: it may be in the log after a restart
    """

    def __init__(self, reason: str, full: bool = False, sure: bool = True) -> None:
        super().__init__(reason)
        self.full, self.sure = full, sure


_Submitted: TypeAlias = tuple[bytes, T, Future[int]]


class GroupCommit(Generic[T]):
    """Appends records of any thread to a log.

    on_durable  takes the place of each record that is on disk, and the record, in order, before the thread that
                submitted it hears of it
    on_told     takes them after that thread has heard of it: work that can wait for its turn
    on_failure  is told when a group could not be written and all that were submitted after it are given up as well,
                before their threads hear of it: what was decided with them must be undone
    deciding    held by a thread that decides what to submit by what was submitted before, and submits it
    """

    def __init__(
        self,
        log: SegmentedLog,
        on_durable: Callable[[Place, T], None],
        on_told: Callable[[Place, T], None],
        on_failure: Callable[[], None],
    ) -> None:
        self._log = log
        self._on_durable, self._on_told, self._on_failure = on_durable, on_told, on_failure
        self.deciding = RLock()
        self._changed = Condition()
        self._waiting: list[_Submitted[T]] = []
        self._closed = False
        self._thread: Thread | None = None

    def submit(self, data: bytes, record: T) -> Future[int]:
        """Append a record, as these bytes; the future gives its number once it is on disk, or raises NotDurable."""
        future: Future[int] = Future()
        with self._changed:
            if self._closed:
                raise NotDurable("the log is closed")
            self._waiting.append((data, record, future))
            if self._thread is None:
                self._thread = Thread(target=self._commit, name="spaseq-log", daemon=True)
                self._thread.start()
            self._changed.notify()
        return future

    def close(self) -> None:
        """Write what waits, and end."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _commit(self) -> None:
        while group := self._next_group():
            try:
                first, link = self._log.append([data for data, _, _ in group])
            except OSError as error:
                self._give_up(group, error)
                continue
            for number, (_, record, _) in enumerate(group, first):
                self._on_durable(Place(number, link), record)
            for number, (_, _, future) in enumerate(group, first):
                future.set_result(number)
            for number, (_, record, _) in enumerate(group, first):
                self._on_told(Place(number, link), record)

    def _next_group(self) -> list[_Submitted[T]]:
        """The records of the next group; none once the log is closed."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            size = taken = 0
            for data, _, _ in self._waiting[:GROUP_RECORDS_MAX]:
                size, taken = size + len(data), taken + 1
                if size >= GROUP_BYTES_MAX:
                    break
            group, self._waiting = self._waiting[:taken], self._waiting[taken:]
            return group

    def _give_up(self, group: list[_Submitted[T]], error: OSError) -> None:
        """Records submitted later were decided by what these would have changed, so they fail with them."""
        with self.deciding, self._changed:
            self._on_failure()
            group, self._waiting = group + self._waiting, []
        for _, _, future in group:
            future.set_exception(NotDurable(error.strerror or str(error), error.errno in _FULL, self._log.sure))
