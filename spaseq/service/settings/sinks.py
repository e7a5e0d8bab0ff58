"""The settings of the sinks of a query."""

from __future__ import annotations

from msgspec import Struct

from spaseq.service.settings.peers import (
    check_absolute,
    check_servers,
    check_url,
    check_variable,
    needed,
    the_kind,
)
from spaseq.service.settings.sources import Variable

_MEMBERS = {
    "kafka": frozenset({"topic", "transactional_id", "properties", "secrets"}),
    "webhook": frozenset({"token"}),
    "file": frozenset[str](),
}


class SinkSettings(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A sink as the user declares it: one of the first three, and what goes with it.

    kafka       brokers, HOST:PORT with commas between them
    webhook     the URL to which rows are posted
    file        the path of the file to which rows are appended
    topic       of Kafka
    transactional_id    by which brokers know the sink; default: spaseq-QUERY-TOPIC
    properties, secrets     of librdkafka; the values of the latter are names of environment variables
    token       the name of the environment variable with the webhook's bearer token
    """

    kafka: str | None = None
    webhook: str | None = None
    file: str | None = None
    topic: str | None = None
    transactional_id: str | None = None
    properties: dict[str, str] | None = None
    secrets: dict[str, Variable] | None = None
    token: Variable | None = None

    def __post_init__(self) -> None:
        match the_kind(self, _MEMBERS):
            case "kafka":
                check_servers("kafka", self.kafka or "")
                needed("topic", self.topic)
            case "webhook":
                check_url("webhook", self.webhook or "", ("http", "https"))
            case _:
                check_absolute("file", self.file or "")
        check_variable("token", self.token)
        for name, variable in (self.secrets or {}).items():
            check_variable(f"secrets.{name}", variable)

    @property
    def key(self) -> str:
        """The text under which a query knows how far the sink has come, however its other settings change."""
        if self.kafka is not None:
            return f"kafka {self.kafka} {self.topic}"
        return f"webhook {self.webhook}" if self.webhook is not None else f"file {self.file}"


def check_sinks(sinks: tuple[SinkSettings, ...]) -> None:
    """Raises ValueError for two sinks of a query that lead to one place."""
    seen: set[str] = set()
    for key in (sink.key for sink in sinks):
        if key in seen:
            raise ValueError(f"sinks: two lead to '{key:.200}'")
        seen.add(key)
