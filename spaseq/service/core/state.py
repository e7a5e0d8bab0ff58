"""The declarations, and the progress of each stream: a function of the records of the log.

The service has three of them, each at another place in the log: what has been decided, what is on disk, and what the
queries have read.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import msgspec
from msgspec.structs import replace

from arrays.times import BEFORE_ALL
from spaseq.service.core.records import (
    Accepted,
    Advanced,
    Deleted,
    EventAside,
    KnowledgePut,
    Lost,
    Paused,
    QueryPut,
    Record,
    SetAside,
    StreamPut,
)
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QuerySettings
from spaseq.service.settings.streams import StreamSettings


class Progress(msgspec.Struct):
    """The progress of a stream.

    events, late        accepted; the late ones are events, too
    position            of the last accepted event, from 1; 0 for none
    unnamed             events without a graph IRI
    largest, watermark  in nanoseconds since the epoch
    at                  when the last event was accepted
    silence             nanoseconds without an event since then, as far as they moved the watermark
    offset              the position of its source
    """

    events: int = 0
    late: int = 0
    malformed: int = 0
    duplicates: int = 0
    position: int = 0
    unnamed: int = 0
    largest: int = BEFORE_ALL
    watermark: int = BEFORE_ALL
    at: int = 0
    silence: int = 0
    offset: bytes = b""

    def accept(self, record: Accepted) -> None:
        """Take over a body."""
        self.events += record.count
        self.late += len(record.late)
        self.malformed += len(record.letters)
        self.duplicates += record.duplicates
        self.position = record.first + record.count - 1
        self.unnamed, self.largest, self.watermark = record.unnamed, record.largest, record.watermark
        self.offset = record.offset or self.offset
        if record.count:
            self.at, self.silence = record.at, 0

    def advance(self, record: Advanced) -> None:
        """Take over a watermark."""
        self.watermark = max(self.watermark, record.watermark)
        self.silence = max(self.silence, record.silence)


class DeclaredStream(msgspec.Struct, frozen=True):
    """A stream, the texts of the files that it names, by path, and its progress."""

    settings: StreamSettings
    files: dict[str, str]
    progress: Progress


class DeclaredKnowledge(msgspec.Struct, frozen=True):
    """A knowledge base, and the name of the copy of its file, if it has one."""

    settings: KnowledgeSettings
    copy: str


SET_ASIDE_MAX = 1_000
"""Events that may be set aside for a query with one text; beyond, it is failed."""


class DeclaredQuery(msgspec.Struct, frozen=True):
    """A query.

    number  of the record that made it: rows are numbered anew for another one of the same name
    put     number of the record with its present text
    paused_by   number of the record that has paused it; 0: none, or one that release 0.1.0 read
    set_aside   events that could not be matched within their bounds; `set_aside_before` of them before it was put last
    """

    settings: QuerySettings
    number: int
    put: int
    paused: bool = False
    paused_by: int = 0
    set_aside: int = 0
    set_aside_before: int = 0

    @property
    def too_many_aside(self) -> str:
        """The error of a query for which too many events were set aside since it was put last; "": they are few."""
        count = self.set_aside - self.set_aside_before
        if count <= SET_ASIDE_MAX:
            return ""
        return (
            f"{count:,} events could not be matched within event_seconds or event_solutions, more than "
            f"{SET_ASIDE_MAX:,}: the dead letters of the sort 'bound' have them; raise the limits, or PUT another text"
        )


class State(msgspec.Struct):
    """All that is declared, by name, up to a record of the log.

    known   kind and name of all that was ever declared: a configuration does not bring back what was deleted
    lost_records, lost_rows     whose loss on disk was accepted
    aside   events that are not matched again, each with the number of the record that says so
    """

    number: int = 0
    streams: dict[str, DeclaredStream] = msgspec.field(default_factory=dict)
    knowledge: dict[str, DeclaredKnowledge] = msgspec.field(default_factory=dict)
    queries: dict[str, DeclaredQuery] = msgspec.field(default_factory=dict)
    known: set[str] = msgspec.field(default_factory=set)
    lost_records: int = 0
    lost_rows: int = 0
    aside: list[tuple[int, EventAside]] = msgspec.field(default_factory=list)

    def apply(self, number: int, record: Record) -> None:
        """Take over the next record."""
        self.number = number
        match record:
            case Accepted():
                self.streams[record.stream].progress.accept(record)
            case Advanced():
                self.streams[record.stream].progress.advance(record)
            case StreamPut(name, _, settings, files):
                known = self.streams.get(name)
                progress = Progress() if known is None else known.progress
                self.streams[name] = DeclaredStream(settings, files, progress)
                self.known.add(f"stream {name}")
            case KnowledgePut(name, _, settings, copied):
                self.knowledge[name] = DeclaredKnowledge(settings, copied)
                self.known.add(f"kb {name}")
            case QueryPut(name, _, settings, since):
                self._put(name, settings, number, since == "kept")
            case Deleted(kind, name):
                self._delete(kind, name)
            case Lost(records=records, rows=rows):
                self.lost_records, self.lost_rows = self.lost_records + records, self.lost_rows + rows
            case SetAside(events=events):
                self._set_aside(number, events)
            case Paused(name, _, paused):
                was = self.queries[name]
                by = 0 if not paused else was.paused_by if was.paused else number
                self.queries[name] = replace(was, paused=paused, paused_by=by)

    def largest(self) -> dict[str, int]:
        """The largest time of each stream, by IRI."""
        return {each.settings.iri: each.progress.largest for each in self.streams.values()}

    def copy(self) -> State:
        """The same, apart from it."""
        streams = {name: replace(each, progress=copy(each.progress)) for name, each in self.streams.items()}
        return replace(
            self,
            streams=streams,
            knowledge=dict(self.knowledge),
            queries=dict(self.queries),
            known=set(self.known),
            aside=list(self.aside),
        )

    def forget_aside(self, before: int) -> None:
        """Forget decisions about events that stood in records before this one: those are gone."""
        self.aside = [(number, event) for number, event in self.aside if number >= before]

    def _set_aside(self, number: int, events: Sequence[EventAside]) -> None:
        self.aside += [(number, event) for event in events]
        for name, put in (each for event in events for each in event.queries.items()):
            known = self.queries.get(name)
            if known is not None and known.number <= put:
                self.queries[name] = replace(known, set_aside=known.set_aside + 1)

    def _put(self, name: str, settings: QuerySettings, number: int, kept: bool) -> None:
        known = self.queries.get(name)
        self.known.add(f"query {name}")
        if known is None:
            self.queries[name] = DeclaredQuery(settings, number, number)
        else:
            put, before = (known.put, known.set_aside_before) if kept else (number, known.set_aside)
            self.queries[name] = replace(known, settings=settings, put=put, set_aside_before=before)

    def _delete(self, kind: str, name: str) -> None:
        match kind:
            case "stream":
                self.streams.pop(name, None)
            case "kb":
                self.knowledge.pop(name, None)
            case _:
                self.queries.pop(name, None)
