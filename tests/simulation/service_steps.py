"""What happens to a service, as plain data: a history is a sequence of these, and can be replayed from them alone.

A step that makes no sense where it stands, as others were dropped, is refused by the service and its twin alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeAlias

from sparql_gpm.times import format_time
from spaseq.service.core.service import Service
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QueryChanges, Since
from tests.simulation.bodies import Event, written
from tests.strategies.knowledge import DB

KNOWLEDGE = "kb"
"""The name of the one knowledge base."""


@dataclass(frozen=True, slots=True)
class Register:
    """Put a query under a name that is free."""

    KIND: ClassVar[str] = "register"

    name: str
    text: str

    def ask(self, service: Service, folder: Path) -> object:
        """See `Request`."""
        return service.put_query(self.name, QueryChanges(self.text))


@dataclass(frozen=True, slots=True)
class Replace:
    """Put another text under the name of a query."""

    KINDS: ClassVar[tuple[str, ...]] = ("replace now", "replace window")

    name: str
    text: str
    since: Since

    @property
    def KIND(self) -> str:
        """See `Step`."""
        return f"replace {self.since}"

    def ask(self, service: Service, folder: Path) -> object:
        """See `Request`."""
        return service.put_query(self.name, QueryChanges(self.text, since=self.since))


@dataclass(frozen=True, slots=True)
class Pause:
    """Pause a query."""

    KIND: ClassVar[str] = "pause"

    name: str

    def ask(self, service: Service, folder: Path) -> object:
        """See `Request`."""
        return service.pause(self.name)


@dataclass(frozen=True, slots=True)
class Resume:
    """Let a paused query go on."""

    KIND: ClassVar[str] = "resume"

    name: str

    def ask(self, service: Service, folder: Path) -> object:
        """See `Request`."""
        return service.resume(self.name)


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a query."""

    KIND: ClassVar[str] = "delete"

    name: str

    def ask(self, service: Service, folder: Path) -> object:
        """See `Request`."""
        return service.delete_query(self.name)


@dataclass(frozen=True, slots=True)
class Know:
    """Put or change the knowledge base; `text`: its N-Triples."""

    KIND: ClassVar[str] = "knowledge"

    text: str

    def ask(self, service: Service, folder: Path) -> object:
        """See `Request`."""
        path = folder / "knowledge.nt"
        path.write_text(self.text)
        return service.put_kb(KNOWLEDGE, KnowledgeSettings(DB, path=str(path)))


@dataclass(frozen=True, slots=True)
class Push:
    """Push a body.

    way         what is special about it
    key         the Idempotency-Key
    identifier  the ce-id
    after_s     seconds that pass before
    """

    KINDS: ClassVar[tuple[str, ...]] = ("push", "push late", "push malformed", "push again")

    way: str
    stream: str
    format: str
    events: tuple[Event, ...]
    key: str | None = None
    identifier: str | None = None
    after_s: int = 0

    @property
    def KIND(self) -> str:
        """See `Step`."""
        return self.way

    def ask(self, service: Service, folder: Path) -> object:
        """See `Request`."""
        return service.accept(self.stream, written(self.format, self.events), self.format, self.key, self.identifier)


@dataclass(frozen=True, slots=True)
class Advance:
    """Say that nothing earlier will come; `time`: nanoseconds since the epoch."""

    KIND: ClassVar[str] = "advance"

    stream: str
    time: int

    def ask(self, service: Service, folder: Path) -> object:
        """See `Request`."""
        return service.advance(self.stream, format_time(self.time))


Request: TypeAlias = Register | Replace | Pause | Resume | Delete | Know | Push | Advance
"""What a client asks for: `ask` asks a service; `folder` is for files that the request names."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Ask for a snapshot."""

    KIND: ClassVar[str] = "snapshot"


@dataclass(frozen=True, slots=True)
class Restart:
    """SIGTERM, and a start so many seconds later."""

    KIND: ClassVar[str] = "restart"

    down_s: int


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL, and a start so many seconds later.

    during      the request that it interrupts: its record may be on disk, and has not been read
    at          the operation of the disk, from 0, from which on all fail for that request; None: it is answered
    kept        percent of what was written and not synced that is on disk afterwards
    """

    KIND: ClassVar[str] = "kill"

    down_s: int
    during: Request | None = None
    at: int | None = None
    kept: int = 100


@dataclass(frozen=True, slots=True)
class Power:
    """The machine loses its power, and the service starts so many seconds later.

    seed    of what is there of all that was not synced
    during  what it interrupts
    at      the operation of the disks, from 0, from which on there is no power; None, or if there are not so many:
            a request is answered, and its record has not been read, or what was asked for is done
    again   the operation of the disks at which it is lost again while the service starts
    """

    KIND: ClassVar[str] = "power"

    down_s: int
    seed: int
    during: Request | Snapshot | None = None
    at: int | None = None
    again: int | None = None


@dataclass(frozen=True, slots=True)
class FullDisk:
    """A request during which an operation of the log's disk fails.

    at      its number, from 0
    code    the errno

    What a failed sync has left is cut off; were that to fail as well, the record might be there after a restart
    although the request was refused.
    """

    KIND: ClassVar[str] = "full disk"

    request: Request
    at: int
    code: int


@dataclass(frozen=True, slots=True)
class StepClock:
    """The wall clock is set forward, or back."""

    KIND: ClassVar[str] = "clock step"

    seconds: int


@dataclass(frozen=True, slots=True)
class Pass:
    """Time passes, and the service looks for silent streams and snapshots that are due."""

    KIND: ClassVar[str] = "time passes"

    seconds: int


@dataclass(frozen=True, slots=True)
class Follow:
    """A client begins to follow the rows of a query behind a number; one that has this name already comes back."""

    KIND: ClassVar[str] = "follow"

    client: str
    query: str
    after: int = 0


@dataclass(frozen=True, slots=True)
class Read:
    """A client reads so many parts of what is there, at most."""

    KIND: ClassVar[str] = "read"

    client: str
    parts: int


@dataclass(frozen=True, slots=True)
class Vanish:
    """A client goes away without a word."""

    KIND: ClassVar[str] = "vanish"

    client: str


Step: TypeAlias = Request | Snapshot | Restart | Kill | Power | FullDisk | StepClock | Pass | Follow | Read | Vanish
KINDS = (
    "register", *Replace.KINDS, "pause", "resume", "delete", "knowledge", *Push.KINDS, "advance", "snapshot",
    "restart", "kill", "power", "full disk", "clock step", "time passes", "follow", "read", "vanish",
)  # fmt: skip
"""Every `KIND` of a step."""
