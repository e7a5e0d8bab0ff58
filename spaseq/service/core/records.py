"""The records of the log: everything that changes what queries see, in the order in which it was accepted.

What the wall clock or the past of a stream decided stands in the record, so a replay decides nothing again.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from spaseq.outputs.dead_letters import DeadLetter
from spaseq.runtime.state.packed_events import PackedEvents
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QuerySettings
from spaseq.service.settings.streams import StreamSettings

VERSION = 1
"""Of the records; one more when an older service could not read them."""


class Answered(msgspec.Struct, frozen=True, array_like=True):
    """The answer to a request with an Idempotency-Key.

    key     the SHA-256 of the header
    body    the SHA-256 of the body
    answer  what 202 carried, as JSON
    """

    key: bytes
    body: bytes
    answer: bytes


class Accepted(msgspec.Struct, frozen=True, array_like=True, tag="events"):
    """A body with events of a stream.

    iri         of the stream then: its name may come to mean another one
    at          when it was accepted, nanoseconds of the wall clock
    first       the position of the first event, from 1
    count       of the events, the late ones among them; then `events` holds them
    late        the indices of the late ones
    identities  16 bytes for each event, zeros for one without an identity
    letters     of what was malformed or too far ahead
    unnamed     events without a graph IRI, so far
    largest, watermark  of the stream, after it
    offset      the position of its source behind the body, in the source's own terms; empty without a source
    """

    stream: str
    iri: str
    at: int
    first: int
    count: int
    late: tuple[int, ...]
    events: PackedEvents | None
    identities: bytes
    duplicates: int
    letters: tuple[DeadLetter, ...]
    unnamed: int
    largest: int
    watermark: int
    answered: Answered | None = None
    offset: bytes = b""


class Advanced(msgspec.Struct, frozen=True, array_like=True, tag="advance"):
    """A stream's watermark moved without an event: its producer said so, or it was idle for `silence` nanoseconds."""

    stream: str
    iri: str
    at: int
    watermark: int
    silence: int = 0


class StreamPut(msgspec.Struct, frozen=True, array_like=True, tag="stream"):
    """A stream made or changed; `files` has the texts of its template and contexts by path."""

    name: str
    at: int
    settings: StreamSettings
    files: dict[str, str]


class KnowledgePut(msgspec.Struct, frozen=True, array_like=True, tag="kb"):
    """A knowledge base made or changed; `copy` names the copy of its file in the data folder, "" for an endpoint."""

    name: str
    at: int
    settings: KnowledgeSettings
    copy: str


class QueryPut(msgspec.Struct, frozen=True, array_like=True, tag="query"):
    """A query made or replaced.

    since       "now", "window", or "kept": only settings changed that are not the text
    """

    name: str
    at: int
    settings: QuerySettings
    since: Literal["now", "window", "kept"]


class Deleted(msgspec.Struct, frozen=True, array_like=True, tag="delete"):
    """A stream, knowledge base or query deleted.

    recovering  while the service read its log again: the query is not read from the beginning of later recoveries
    """

    kind: Literal["stream", "kb", "query"]
    name: str
    at: int
    recovering: bool = False


class Paused(msgspec.Struct, frozen=True, array_like=True, tag="pause"):
    """A query paused, or resumed; `recovering` as of `Deleted`."""

    name: str
    at: int
    paused: bool
    recovering: bool = False


class Lost(msgspec.Struct, frozen=True, array_like=True, tag="lost"):
    """Something was lost on disk, and that was accepted: the service has gone on with what was there.

    what        each thing that was lost, in words
    records     the number of records of the log that were lost
    rows        the number of rows and dead letters that were lost
    """

    at: int
    what: tuple[str, ...]
    records: int
    rows: int

    @property
    def letters(self) -> list[DeadLetter]:
        """The dead letters that say so."""
        return [DeadLetter("lost", "", "", 0, 0, f"lost on disk: {each}", "", sort="lost") for each in self.what]


class Tried(msgspec.Struct, frozen=True, array_like=True):
    """A pattern of a query; `put` is the number of the record with the text of the query."""

    query: str
    put: int
    pattern: str


class EventAside(msgspec.Struct, frozen=True, array_like=True):
    """An event of a stream, by the name of its graph and its time, and the patterns that are not matched with it."""

    iri: str
    name: str
    time: int
    patterns: tuple[Tried, ...]

    @property
    def queries(self) -> dict[str, int]:
        """The names of the queries, each with the number of the record with its text."""
        return {each.query: each.put for each in self.patterns}


class SetAside(msgspec.Struct, frozen=True, array_like=True, tag="aside"):
    """Events that could not be matched within their bounds, and their dead letters."""

    at: int
    events: tuple[EventAside, ...]
    letters: tuple[DeadLetter, ...]


Record: TypeAlias = Accepted | Advanced | StreamPut | KnowledgePut | QueryPut | Deleted | Paused | Lost | SetAside

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[tuple[int, Record]] = msgspec.msgpack.Decoder(tuple[int, Record])


def encoded(record: Record) -> bytes:
    """A record as bytes."""
    return _encoder.encode((VERSION, record))


def decoded(data: bytes) -> Record:
    """The record; msgspec.ValidationError for bytes of another version."""
    return _decoder.decode(data)[1]
