"""The event that is being matched, as another thread sees it: one that takes more than a second is noted on disk.

noted       in the data folder: the event that was being matched when the process died, if it took so long

A process that is killed, or runs out of memory, dies without a word. If it dies twice in a row with the same event so
noted, the next one sets the event aside. SIGTERM is no death.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import msgspec

from sparql_gpm.columns import EventBatch, RowEvent
from sparql_gpm.labels import PatternLabel
from spaseq.service.log.files import sync_folder

NOTED = "noted"
NOTED_S = 1.0
"""Seconds of matching after which an event is noted."""
_LOOK_S = 0.25
_logger = logging.getLogger("spaseq.service")


class EventKey(NamedTuple):
    """An event: the IRI of its stream, the name of its graph, its time."""

    iri: str
    name: str
    time: int


class Note(msgspec.Struct, frozen=True):
    """The content of the file.

    matching    something was being matched
    event       that was it, None: several events at once
    until       the number of the last record that was being read
    before      the event with which the process had died before
    """

    matching: bool = False
    event: EventKey | None = None
    until: int = 0
    before: EventKey | None = None


_Part = tuple[PatternLabel, EventBatch | RowEvent, int | None]
"""Events that are matched with a pattern: one, by its place, or several (None)."""


class Watch:
    """Knows what the thread that matches is at, and notes it.

    deadly  the event with which the process has died twice
    careful_until   the number of the last record whose events are to be matched one by one, so that one can be noted
    until   the number of the last record that is being read
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NOTED
        self._label = PatternLabel()
        self._events: EventBatch | RowEvent = RowEvent(0, 0, "", ())
        self._part: _Part | None = None
        self._seen: tuple[_Part, float] | None = None
        self._noted: _Part | None = None
        self._ended = Event()
        self._thread: Thread | None = None
        self.until = 0
        self._expected = False
        died = self._read()
        self._before = died.event if died.matching and died.event != died.before else None
        self.deadly = died.event if died.matching and died.event == died.before else None
        self.careful_until = died.until if died.matching and died.event is None else 0
        self._write(Note(before=self._before) if self._before is not None else None)

    def start(self) -> None:
        """Begin to look."""
        self._ended.clear()
        self._thread = Thread(target=self._run, name="spaseq-watch", daemon=True)
        self._thread.start()

    def expect_end(self) -> None:
        """Note nothing any more: the process ends as it is told to. A signal handler may call this."""
        self._expected = True
        self._path.unlink(missing_ok=True)

    def stop(self) -> None:
        """Look no more, until it is started again."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._thread = self._part = self._noted = None

    def close(self) -> None:
        """End; no death is expected any more."""
        self.stop()
        self._write(None)

    @property
    def query(self) -> str | None:
        """The query whose pattern is matched just now."""
        part = self._part
        return None if part is None else part[0].query

    def look(self, label: PatternLabel, events: EventBatch | RowEvent) -> None:
        """These events are matched next with a pattern."""
        self._label, self._events = label, events

    def begin(self, event: int | None) -> None:
        """One of them is matched now, or several."""
        self._part = (self._label, self._events, event)

    def end(self) -> None:
        """They have been matched."""
        part, self._part = self._part, None
        if part is not None and part is self._noted:
            self._noted = None
            self._before = None if _key(part) == self._before else self._before
            self._write(None if self._before is None else Note(before=self._before))

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_S):
            part, now = self._part, time.monotonic()
            if part is None or self._seen is None or self._seen[0] is not part:
                self._seen = None if part is None else (part, now)
            elif now - self._seen[1] > NOTED_S and self._noted is not part:
                self._noted = part
                self._write(Note(True, _key(part), self.until, self._before))
                if self._part is not part:  # it ended meanwhile, and saw no note
                    self._write(None if self._before is None else Note(before=self._before))

    def _read(self) -> Note:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Note)
        except FileNotFoundError:
            return Note()
        except (OSError, msgspec.DecodeError) as error:
            _logger.warning("%s cannot be read, and is not used: %s", self._path, error)
            return Note()

    def _write(self, note: Note | None) -> None:
        """Have a note on disk, or none; a disk that does not take it is no reason to stop."""
        try:
            if note is None or self._expected:
                if self._path.exists():
                    self._path.unlink()
                return
            part = self._path.with_suffix(".part")
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(msgspec.json.encode(note))
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._path)
            sync_folder(self._path.parent)
        except OSError as error:
            _logger.warning("%s cannot be written: %s", self._path, error)


def _key(part: _Part) -> EventKey | None:
    label, events, place = part
    if isinstance(events, RowEvent):
        return EventKey(label.streams[events.stream][1], events.name, events.time)
    return None if place is None else key_of(label, events, place)


def key_of(label: PatternLabel, batch: EventBatch, index: int) -> EventKey:
    """The key of an event of a batch that a pattern reads."""
    return EventKey(label.streams[int(batch.streams[index])][1], batch.names[index], int(batch.times[index]))
