"""The settings of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct, field, to_builtins

from sparql_gpm.rdf_io import PROV_TIME
from spaseq.errors import InputError
from spaseq.inputs.event_times import TimeReading, is_time, reading_of
from spaseq.service.settings.quantities import Count, Duration, FilePath, Iri, Size, check_iri, size_bytes
from spaseq.service.settings.quantities import duration_ns as nanoseconds
from spaseq.service.settings.sources import SourceSettings


class Dedup(Struct, frozen=True, forbid_unknown_fields=True):
    """The identities of events that are remembered: as long as both hold.

    age         since the event was accepted, by the wall clock
    events      the number of identities
    """

    age: Duration = "1h"
    events: Count = 1_000_000

    def __post_init__(self) -> None:
        nanoseconds("dedup.age", self.age)


class LogRetention(Struct, frozen=True, forbid_unknown_fields=True):
    """The part of the log that is kept beyond what windows need; None: no bound."""

    age: Duration | None = None
    size: Size | None = None

    def __post_init__(self) -> None:
        if self.age is not None:
            nanoseconds("retention.age", self.age)
        if self.size is not None:
            size_bytes("retention.size", self.size)


def _log_retention() -> LogRetention:
    return LogRetention("7d", "20GB")


class StreamSettings(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A stream as the user declares it; properties give the numbers.

    iri             by which queries find it
    max_delay       lateness allowed
    idle_timeout    after which a silent stream holds no other back; None: it is waited for
    max_ahead       how far an event may be ahead of the wall clock; None: any
    clock           "event": events say their time; "arrival": they are stamped when they are accepted
    time            properties that state an event's time: IRIs, or paths `<IRI1>/<IRI2>`
    time_choice     of several values inside a graph; None: the event is malformed
    time_unit       that a number counts
    time_origin     the xsd:dateTime at which numbers begin; None: 1970
    template        the file that says what a row of CSV or NDJSON means
    contexts        of JSON-LD: the file by URL
    source          None: events are pushed over HTTP
    """

    iri: Iri
    max_delay: Duration = "0s"
    idle_timeout: Duration | None = None
    max_ahead: Duration | None = None
    clock: Literal["event", "arrival"] = "event"
    time: tuple[str, ...] = (PROV_TIME,)
    time_choice: Literal["earliest", "latest"] | None = None
    time_unit: Literal["s", "ms", "us", "ns"] = "s"
    time_origin: str | None = None
    template: FilePath | None = None
    contexts: dict[str, FilePath] = field(default_factory=dict)
    dedup: Dedup = field(default_factory=Dedup)
    retention: LogRetention = field(default_factory=_log_retention)
    source: SourceSettings | None = None

    def __post_init__(self) -> None:
        check_iri("iri", self.iri)
        nanoseconds("max_delay", self.max_delay)
        for key, text in (("idle_timeout", self.idle_timeout), ("max_ahead", self.max_ahead)):
            if text is not None:
                nanoseconds(key, text)
        self._check_time()
        if self.source is not None and self.source.body_format == "csv" and self.template is None:
            raise ValueError("template: it is missing: it says what a row of csv means")

    def _check_time(self) -> None:
        if not self.time:
            raise ValueError("time: an empty list: name the properties that state the time, or leave it out")
        if self.clock == "arrival" and self.time != (PROV_TIME,):
            raise ValueError('time: clock = "arrival" stamps events itself: leave one of them out')
        if self.time_origin is not None and not is_time(self.time_origin):
            raise ValueError(f"time_origin: '{self.time_origin:.60}' is no xsd:dateTime")
        try:
            reading_of(self.time, self.time_choice, self.time_unit, self.time_origin, {})
        except InputError as error:
            raise ValueError(f"time: {error.message}") from None

    def files(self) -> Iterator[tuple[str, str]]:
        """The key and the path of each file that the stream needs."""
        if self.template is not None:
            yield "template", self.template
        for url, path in self.contexts.items():
            yield f"contexts.{url}", path

    @cached_property
    def time_reading(self) -> TimeReading:
        """The properties of time as readers take them."""
        return reading_of(self.time, self.time_choice, self.time_unit, self.time_origin, {})

    @cached_property
    def max_delay_ns(self) -> int:
        """The lateness allowed, in nanoseconds."""
        return nanoseconds("max_delay", self.max_delay)

    @cached_property
    def idle_timeout_ns(self) -> int | None:
        """The silence after which the stream holds no other back; None: it is waited for."""
        return None if self.idle_timeout is None else nanoseconds("idle_timeout", self.idle_timeout)

    @cached_property
    def max_ahead_ns(self) -> int | None:
        """The time by which an event may be ahead of the wall clock; None: any."""
        return None if self.max_ahead is None else nanoseconds("max_ahead", self.max_ahead)

    @cached_property
    def dedup_age_ns(self) -> int:
        """The time for which an identity is remembered."""
        return nanoseconds("dedup.age", self.dedup.age)

    @property
    def dedup_events(self) -> int:
        """The number of identities that are remembered."""
        return self.dedup.events

    @cached_property
    def retention_age_ns(self) -> int | None:
        """The age beyond which the log is trimmed; None: none."""
        return None if self.retention.age is None else nanoseconds("retention.age", self.retention.age)

    @cached_property
    def retention_bytes(self) -> int | None:
        """The size beyond which the log is trimmed; None: none."""
        return None if self.retention.size is None else size_bytes("retention.size", self.retention.size)

    def shown(self) -> Mapping[str, Any]:
        """The settings as GET gives them: as written, with defaults, without those that are None."""
        shown: dict[str, Any] = to_builtins(self)
        return {key: value for key, value in shown.items() if value is not None}
