"""What happens to an engine, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, TypeAlias

from sparql_gpm.times import format_time
from spaseq.engine.live import Engine
from spaseq.engine.registration import OnMatch, Registration
from spaseq.lang.parse import parse
from tests.simulation.bodies import Event, written
from tests.simulation.once import TEXTS_MAX

_parsed = lru_cache(TEXTS_MAX)(parse)


@dataclass(slots=True)
class Live:
    """An engine, and the function that takes its rows."""

    engine: Engine
    on_match: OnMatch

    @property
    def registered(self) -> Mapping[str, Registration]:
        """Its queries by name; KeyError for one that is not there is a refusal."""
        return {each.name: each for each in self.engine.registrations}


@dataclass(frozen=True, slots=True)
class Register:
    """Register a query."""

    KIND: ClassVar[str] = "register"

    name: str
    text: str

    def ask(self, live: Live) -> None:
        """See `Request`."""
        live.engine.register(_parsed(self.text, self.name), live.on_match)


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace a query by one with another text."""

    KINDS: ClassVar[tuple[str, ...]] = ("replace nothing", "replace state", "replace window")

    name: str
    text: str
    keep: str

    @property
    def KIND(self) -> str:
        """See `Step`."""
        return f"replace {self.keep}"

    def ask(self, live: Live) -> None:
        """See `Request`."""
        live.registered[self.name].replace(_parsed(self.text, self.name), self.keep)


@dataclass(frozen=True, slots=True)
class Change:
    """Pause, resume or unregister a query."""

    KINDS: ClassVar[tuple[str, ...]] = ("pause", "resume", "unregister")

    KIND: str
    name: str

    def ask(self, live: Live) -> None:
        """See `Request`."""
        getattr(live.registered[self.name], self.KIND)()


@dataclass(frozen=True, slots=True)
class Push:
    """Push an event by itself."""

    KIND: ClassVar[str] = "push"

    stream: str
    event: Event

    def ask(self, live: Live) -> None:
        """See `Request`."""
        time = None if self.event.time is None else format_time(self.event.time)
        live.engine.push(self.stream, self.event.triples, time, self.event.name)


@dataclass(frozen=True, slots=True)
class PushBatch:
    """Push many events; `way`: what is special about them."""

    KINDS: ClassVar[tuple[str, ...]] = ("push batch", "push late", "push malformed")

    way: str
    stream: str
    format: str
    events: tuple[Event, ...]

    @property
    def KIND(self) -> str:
        """See `Step`."""
        return self.way

    def ask(self, live: Live) -> None:
        """See `Request`."""
        live.engine.push_batch(self.stream, written(self.format, self.events), self.format)


@dataclass(frozen=True, slots=True)
class Advance:
    """Say that nothing earlier will come; `time`: nanoseconds since the epoch."""

    KIND: ClassVar[str] = "advance"

    stream: str
    time: int

    def ask(self, live: Live) -> None:
        """See `Request`."""
        live.engine.advance(self.stream, format_time(self.time))


@dataclass(frozen=True, slots=True)
class Open:
    """Go on with another engine, which has no queries yet."""

    KIND: ClassVar[str] = "open"

    history: bool
    max_delay_s: int


@dataclass(frozen=True, slots=True)
class Restore:
    """Take a snapshot, and go on with an engine that is restored from it."""

    KIND: ClassVar[str] = "restore"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Take a snapshot that nobody restores."""

    KIND: ClassVar[str] = "snapshot"


Request: TypeAlias = Register | Replace | Change | Push | PushBatch | Advance
"""What a program asks for: `ask` asks an engine."""
Step: TypeAlias = Request | Open | Restore | Snapshot
KINDS = (
    "register", *Replace.KINDS, *Change.KINDS, "push", *PushBatch.KINDS, "advance", "open", "restore", "snapshot",
)  # fmt: skip
"""Every `KIND` of a step."""
