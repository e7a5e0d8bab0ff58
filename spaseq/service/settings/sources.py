"""The settings of the source of a stream."""

from __future__ import annotations

import os
from typing import Annotated, Literal

from msgspec import Meta, Struct

from spaseq.service.settings.peers import (
    check_absolute,
    check_servers,
    check_url,
    check_variable,
    needed,
    the_kind,
)

Format = Literal["nquads", "trig", "turtle", "ntriples", "jsonld", "ndjsonld", "ndjson", "jelly", "csv"]
Variable = Annotated[str, Meta(description="The name of an environment variable.", examples=["SPASEQ_KAFKA_PASSWORD"])]

FOLLOWED_FORMATS = ("nquads", "ndjsonld", "ndjson", "csv")
"""The formats in which a file may grow: of lines."""
_SUFFIXES: dict[str, Format] = {
    ".nq": "nquads",
    ".nquads": "nquads",
    ".ndjsonld": "ndjsonld",
    ".jsonl": "ndjson",
    ".ndjson": "ndjson",
    ".csv": "csv",
}
_MEMBERS = {
    "kafka": frozenset({"topic", "start", "on_loss", "properties", "secrets"}),
    "mqtt": frozenset({"topic", "client_id", "user", "password"}),
    "sse": frozenset({"event", "token"}),
    "websocket": frozenset({"token"}),
    "files": frozenset({"start"}),
}


class SourceSettings(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A source as the user declares it: one of the first five, and what goes with it.

    kafka       brokers, HOST:PORT with commas between them
    mqtt        a broker, mqtt://HOST:PORT or mqtts://HOST:PORT
    sse         the URL of server-sent events
    websocket   the URL, ws:// or wss://
    files       the path of files that grow, in which * and ? stand for parts of names
    format      of a message, an event or a file; default: N-Quads, of sse JSON-LD, of files by their names
    topic       of Kafka; of MQTT with + and # as its filters have them
    start       where reading begins the first time; default "earliest"
    on_loss     "skip": go on if the topic no longer has what comes next; default: wait until the user says so
    properties, secrets     of librdkafka; the values of the latter are names of environment variables
    client_id   by which the MQTT broker knows the session; default: spaseq-STREAM
    user, password, token   the latter two are names of environment variables
    event       the type of server-sent events; default "message"
    """

    kafka: str | None = None
    mqtt: str | None = None
    sse: str | None = None
    websocket: str | None = None
    files: str | None = None
    format: Format | None = None
    topic: str | None = None
    start: Literal["earliest", "latest"] | None = None
    on_loss: Literal["wait", "skip"] | None = None
    properties: dict[str, str] | None = None
    secrets: dict[str, Variable] | None = None
    client_id: str | None = None
    user: str | None = None
    password: Variable | None = None
    token: Variable | None = None
    event: str | None = None

    def __post_init__(self) -> None:
        kind = the_kind(self, _MEMBERS, frozenset({"format"}))
        match kind:
            case "kafka":
                check_servers("kafka", self.kafka or "")
                needed("topic", self.topic)
            case "mqtt":
                check_url("mqtt", self.mqtt_url, ("mqtt", "mqtts"))
                needed("topic", self.topic)
            case "sse":
                check_url("sse", self.sse or "", ("http", "https"))
            case "websocket":
                check_url("websocket", self.websocket or "", ("ws", "wss"))
            case _:
                check_absolute("files", self.files or "")
                if self.body_format not in FOLLOWED_FORMATS:
                    raise ValueError(f"format: a file that grows is of {', '.join(FOLLOWED_FORMATS)}")
        check_variable("password", self.password)
        check_variable("token", self.token)
        for name, variable in (self.secrets or {}).items():
            check_variable(f"secrets.{name}", variable)

    @property
    def mqtt_url(self) -> str:
        """The URL of the MQTT broker; HOST:PORT alone is without TLS."""
        broker = self.mqtt or ""
        return broker if "://" in broker else f"mqtt://{broker}"

    @property
    def body_format(self) -> str:
        """The format of what comes."""
        if self.format is not None:
            return self.format
        if self.sse is not None:
            return "jsonld"
        return _SUFFIXES.get(os.path.splitext(self.files or "")[1].lower(), "nquads")
