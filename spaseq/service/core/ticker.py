"""Work that is due because time passes: silent streams, snapshots that are due, knowledge bases whose files changed."""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Event, Thread

from sparql_gpm.times import SECOND_NS
from spaseq.service.core.admission import Admission
from spaseq.service.core.clock import Clock
from spaseq.service.core.declarations import Declarations
from spaseq.service.core.matcher import Matcher
from spaseq.service.errors import Refused
from spaseq.service.log.segmented import SegmentedLog

TICK_S = 1.0
"""Silence is counted to a second."""
SNAPSHOT_NS = 60 * SECOND_NS
"""A snapshot is due so long after the last one, if something has been read."""
_logger = logging.getLogger("spaseq.service")


class Ticker:
    """A thread that looks once a second; `tick` does what it does, for tests with a clock of their own."""

    def __init__(
        self,
        admission: Admission,
        declarations: Declarations,
        matcher: Matcher,
        log: SegmentedLog,
        clock: Clock,
    ) -> None:
        self._log = log
        self._admission, self._declarations, self._matcher, self._clock = admission, declarations, matcher, clock
        self._read_since: dict[str, int] = {}
        self._saved = clock.steady()
        self._checked: dict[str, tuple[int, tuple[int, int, int]]] = {}
        self._ended = Event()
        self._thread = Thread(target=self._run, name="spaseq-clock", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def tick(self) -> None:
        """Look once."""
        self._move_silent_streams()
        self._refresh()
        self._log.probe()
        now = self._clock.steady()
        if now - self._saved >= SNAPSHOT_NS:
            self._saved = now
            if self._matcher.unsaved and not self._matcher.save_fault:
                self._matcher.call(self._matcher.save)

    def _run(self) -> None:
        while not self._ended.wait(TICK_S):
            try:
                self.tick()
            except Refused as refused:  # the disk: said to those who push as well
                _logger.error("%s", refused)

    def _move_silent_streams(self) -> None:
        now = self._clock.steady()
        with self._admission.deciding:
            streams = self._admission.decided.streams
            if all(each.settings.idle_timeout_ns is None for each in streams.values()):
                self._read_since = {}
                return
            read = self._declarations.read_streams()
            names = [name for name in read if streams[name].settings.idle_timeout_ns is not None]
        self._read_since = {name: self._read_since.get(name, now) for name in names}
        self._admission.tick(self._read_since)

    def _refresh(self) -> None:
        """Put the knowledge bases again whose files have changed, as often as they are to be looked at."""
        now = self._clock.steady()
        for name, declared in list(self._admission.durable.knowledge.items()):
            seconds = declared.settings.source.refresh_s
            if declared.settings.path is None or seconds is None:
                continue
            before, known = self._checked.get(name, (now, (0, 0, 0)))
            if name in self._checked and now - before < seconds * SECOND_NS:
                continue
            found = _stamp(declared.settings.path)
            self._checked[name] = now, found
            if found != known and known != (0, 0, 0):
                try:
                    self._declarations.put_kb(name, declared.settings)
                except Refused as refused:
                    _logger.warning("knowledge base '%s' stays as it was: %s", name, refused.detail)


def _stamp(path: str) -> tuple[int, int, int]:
    """Numbers that change with a file; zeros where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino
