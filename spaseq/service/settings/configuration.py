"""The configuration of a service: what it declares, who may ask, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct

from sparql_gpm.times import SECOND_NS
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.quantities import Count, Duration, Seconds, Size, duration_ns, size_bytes
from spaseq.service.settings.queries import QuerySettings
from spaseq.service.settings.streams import StreamSettings

_MILLISECOND_NS = 1_000_000


class Limits(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The limits of the service.

    body            bytes of a body, after decompression
    queue           events accepted that the matcher has not read
    readers         connections that follow rows
    header_timeout  for the headers of a request
    decoded         bytes by which reading one body may make the process grow, with 64 MB more
    body_seconds    processor time of reading one body
    text            bytes of the text of a query
    request         processor time of PUT of a query, validate, explain, why and why-not
    event_seconds   processor time of matching one event with one pattern, or of one condition
    event_solutions solutions of one event and one pattern
    kb              bytes of the file of a knowledge base
    grace           time that the service takes to end
    """

    body: Size = "16MB"
    queue: Count = 100_000
    readers: Count = 1_000
    header_timeout: Duration = "10s"
    decoded: Size = "256MB"
    body_seconds: Seconds = 10
    text: Size = "256kB"
    request: Duration = "30s"
    event_seconds: Seconds = 10
    event_solutions: Count = 1_000_000
    kb: Size = "4GB"
    grace: Duration = "30s"

    def __post_init__(self) -> None:
        for key in ("body", "decoded", "text", "kb"):
            size_bytes(key, getattr(self, key))
        for key in ("header_timeout", "request", "grace"):
            duration_ns(key, getattr(self, key), least=_MILLISECOND_NS)

    @cached_property
    def body_bytes(self) -> int:
        """The bytes of a body, after decompression."""
        return size_bytes("body", self.body)

    @cached_property
    def decoded_bytes(self) -> int:
        """The bytes by which one body may make the process grow."""
        return size_bytes("decoded", self.decoded)

    @cached_property
    def text_bytes(self) -> int:
        """The bytes of the text of a query."""
        return size_bytes("text", self.text)

    @cached_property
    def kb_bytes(self) -> int:
        """The bytes of the file of a knowledge base."""
        return size_bytes("kb", self.kb)

    @cached_property
    def header_timeout_ns(self) -> int:
        """The time for the headers of a request."""
        return duration_ns("header_timeout", self.header_timeout)

    @cached_property
    def request_s(self) -> float:
        """The processor time of one request, seconds."""
        return duration_ns("request", self.request) / SECOND_NS

    @cached_property
    def grace_s(self) -> float:
        """The time that the service takes to end, seconds."""
        return duration_ns("grace", self.grace) / SECOND_NS


class Auth(Struct, frozen=True, forbid_unknown_fields=True):
    """The names of the environment variables that hold the tokens; None: nobody has that one."""

    read: str | None = None
    push: str | None = None
    admin: str | None = None

    def __post_init__(self) -> None:
        if not any((self.read, self.push, self.admin)):
            raise ValueError("read, push, admin: name the environment variable of at least one token")


class Web(Struct, frozen=True, forbid_unknown_fields=True):
    """The names and pages of the web that the service answers to.

    hosts       names in the header Host beside those of the loopback interface and of --host
    origins     pages elsewhere that may ask (CORS), such as "https://example.org"
    """

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if wrong := next((each for each in self.origins if not _is_origin(each)), None):
            raise ValueError(f"origins: '{wrong:.200}' is no origin: expected for example https://example.org")


@dataclass(frozen=True, slots=True)
class Configuration:
    """The declarations of a file; `auth` is None where it has no such table.

    file    its name, for errors
    """

    streams: Mapping[str, StreamSettings] = field(default_factory=dict)
    kb: Mapping[str, KnowledgeSettings] = field(default_factory=dict)
    queries: Mapping[str, QuerySettings] = field(default_factory=dict)
    auth: Auth | None = None
    limits: Limits = field(default_factory=Limits)
    web: Web = field(default_factory=Web)
    file: str = "the configuration"


def _is_origin(text: str) -> bool:
    scheme, separator, host = text.partition("://")
    return scheme in ("http", "https") and bool(separator and host) and not set(host) & set("/?#* ")
