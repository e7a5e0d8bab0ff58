"""Decisions about a body and about a silent stream, apart from the order of requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from arrays.times import BEFORE_ALL, nearest_time
from sparql_gpm.columns import EventBatch, Ids, Mask
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.reading.json_contexts import context_of
from sparql_gpm.reading.raw_text import RawText
from sparql_gpm.times import SECOND_NS, format_time
from spaseq.inputs.tables.template import parse_template
from spaseq.outputs.dead_letters import event_as_nquads
from spaseq.service.core.bodies import Body, BodyReading
from spaseq.service.core.identities import cloud_event_key
from spaseq.service.core.records import Accepted
from spaseq.service.core.state import Progress
from spaseq.service.errors import Refused
from spaseq.service.settings.streams import StreamSettings

AHEAD = "too far ahead"


def body_reading(settings: StreamSettings, files: Mapping[str, str]) -> BodyReading:
    """The reading of a stream's bodies; InputError or ValueError for a template or context that is none."""
    time = settings.time_reading
    path = settings.template
    template = None if path is None else parse_template(files[path], path, time.predicates)
    contexts = {url: context_of(files[path]) for url, path in settings.contexts.items()}
    return BodyReading(time, contexts, template, settings.clock == "arrival")


def named_events(body: Body) -> Iterator[tuple[str, bool]]:
    """The name of each event of a body; True if that is its graph IRI."""
    return zip(body.events.names, body.named.tolist(), strict=True)


def identity_of(body: Body, identifier: str | None) -> bytes | None:
    """The identity of the event without a graph IRI."""
    if identifier is None or body.named.all():
        return None
    if len(body.events) > 1:
        raise Refused(400, "ce-id names one event", "the body has several events: ce-id is the identity of one")
    return cloud_event_key(identifier)


def nothing_accepted(body: Body) -> Refused:
    """The refusal of a body without an event."""
    shown = [f"line {fault.line}, column {fault.column}: {fault.reason}" for fault in body.malformed[:3]]
    detail = "the body has no event" + (f" that is well-formed: {'; '.join(shown)}" if shown else "")
    return Refused(400, "Nothing was an event", detail, members={"rejected": rejected(body.malformed)})


def in_order(faults: Sequence[Malformed]) -> list[Malformed]:
    """Faults as they stand in the body."""
    return sorted(faults, key=lambda fault: (fault.line, fault.column))


def rejected(faults: Sequence[Malformed]) -> list[dict[str, Any]]:
    """The faults as an answer says them."""
    return [{"line": fault.line, "column": fault.column, "reason": fault.reason} for fault in faults]


def answer_of(record: Accepted, faults: Sequence[Malformed]) -> dict[str, Any]:
    """The answer to a request whose body became this record."""
    return {
        "accepted": record.count,
        "duplicates": record.duplicates,
        "late": len(record.late),
        "rejected": rejected(faults),
        "position": record.first + record.count - 1,
    }


def renamed(body: Body, taken: Ids, stream: str, unnamed: int) -> EventBatch:
    """These events of a body; those without a graph IRI are named by their number on the stream."""
    events, numbers = body.events if len(taken) == len(body.events) else body.events.take(taken), count(unnamed)
    if body.named[taken].all():
        return events
    named = zip(events.names, body.named[taken].tolist(), strict=True)
    names = [name if is_named else f"urn:spaseq:event:{stream}:{next(numbers)}" for name, is_named in named]
    columns = events.offsets, events.subjects, events.predicates, events.objects
    return EventBatch(events.times, events.streams, names, *columns)


def faults_ahead(body: Body, ahead: Mask, settings: StreamSettings) -> Iterator[Malformed]:
    """The faults of events that are too far ahead of the wall clock."""
    for index in np.flatnonzero(ahead).tolist():
        time, name = format_time(int(body.events.times[index])), body.events.names[index]
        reason = f"<{name}> is at {time}, more than max_ahead ({settings.max_ahead}) later than the wall clock"
        raw = RawText(event_as_nquads(body.events, index, body.dictionary).encode())
        yield Malformed(int(body.lines[index]), 1, reason, raw.shown, AHEAD, *raw.whole, whole_event=True)


def past(largest: int, settings: StreamSettings) -> int:
    """The watermark after an event of this time."""
    return max(BEFORE_ALL, largest - settings.max_delay_ns)


def idle_watermark(
    settings: StreamSettings, progress: Progress, silence: int, read: int, wall: int
) -> tuple[int, int] | None:
    """The watermark of a silent stream and its silence, in whole seconds, if it moves; `read`: since it is read."""
    assert settings.idle_timeout_ns is not None
    counted = (silence if progress.at else read) // SECOND_NS * SECOND_NS
    if counted < settings.idle_timeout_ns:
        return None
    base = progress.largest + counted if progress.largest != BEFORE_ALL else wall // SECOND_NS * SECOND_NS
    watermark = nearest_time(base - settings.max_delay_ns)
    return (watermark, counted) if watermark > progress.watermark else None
