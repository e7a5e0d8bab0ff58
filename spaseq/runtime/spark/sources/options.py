"""The options of `spark.read.format("spaseq")` and `spark.readStream.format("spaseq")`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sparql_gpm.rdf_io import FORMATS
from spaseq.errors import InputError

_MEBIBYTE = 1 << 20
TRIGGER_BYTES = 128 * _MEBIBYTE
"""A micro-batch takes 0.4 s by itself."""
PARTITION_BYTES = 32 * _MEBIBYTE
"""A task takes 0.05 s by itself, and as much as this in ten times that."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Where events come from, and how much of them at a time. Option names are those given in brackets.

    path                    [path] a file, folder or glob
    brokers, topics         [kafka.bootstrap.servers, subscribe] brokers; topics, with commas between them
    kafka                   [kafka.*] further settings of librdkafka
    starting_offsets        [startingOffsets] "earliest", or {"topic": {"0": 17}} as JSON
    host, port              [host, port] of a server that sends lines; for tests, it cannot be read again
    format                  [rdfFormat] of messages: nquads, trig, turtle or ntriples; files have it in their names
    bytes_per_trigger       [maxBytesPerTrigger] admitted to one micro-batch, about; of files
    messages_per_trigger    [maxOffsetsPerTrigger] the same, of Kafka; None: all there are
    partition_bytes         [maxPartitionBytes] of a file for one task
    end                     [end] tell the end of the stream once all that is there has been read, so that the last
                            events are reported: for a finite replay, with `trigger(availableNow=True)`
    text                    [text] "true": rows of files hold their text; else they say which bytes of which file, and
                            stage 1 reads these itself, which spares Spark all of the text
    """

    path: str = ""
    brokers: str = ""
    topics: tuple[str, ...] = ()
    kafka: Mapping[str, str] = field(default_factory=dict)
    starting_offsets: str = "earliest"
    host: str = ""
    port: int = 0
    format: str = "nquads"
    bytes_per_trigger: int = TRIGGER_BYTES
    messages_per_trigger: int | None = None
    partition_bytes: int = PARTITION_BYTES
    end: bool = False
    text: bool = False


_PREFIX = "kafka."
_KNOWN = {
    "path", "subscribe", "startingoffsets", "host", "port", "rdfformat", "maxbytespertrigger", "maxoffsetspertrigger",
    "maxpartitionbytes", "end", "text",
}  # fmt: skip


def read_options(given: Mapping[str, str]) -> SourceOptions:
    """The options as they are given to Spark; names in any case. Raises InputError for one that cannot be used."""
    options = {name.lower(): value for name, value in given.items()}
    kafka = {name[len(_PREFIX) :]: value for name, value in options.items() if name.startswith(_PREFIX)}
    for name in options:
        if name not in _KNOWN and not name.startswith(_PREFIX):
            raise InputError(
                f"source spaseq has no option '{name}'", hint=f"options: {', '.join(sorted(_KNOWN))}, kafka.*"
            )
    _check_place(options, kafka)
    return SourceOptions(
        path=options.get("path", ""),
        brokers=kafka.pop("bootstrap.servers", ""),
        topics=tuple(topic.strip() for topic in options.get("subscribe", "").split(",") if topic.strip()),
        kafka=kafka,
        starting_offsets=options.get("startingoffsets", "earliest"),
        host=options.get("host", ""),
        port=_number(options, "port", 0) or 0,
        format=_format(options.get("rdfformat", "nquads")),
        bytes_per_trigger=_number(options, "maxbytespertrigger", TRIGGER_BYTES) or TRIGGER_BYTES,
        messages_per_trigger=_number(options, "maxoffsetspertrigger", None),
        partition_bytes=_number(options, "maxpartitionbytes", PARTITION_BYTES) or PARTITION_BYTES,
        end=options.get("end", "false").lower() == "true",
        text=options.get("text", "false").lower() == "true",
    )


def _check_place(options: Mapping[str, str], kafka: Mapping[str, str]) -> None:
    given = [name for name in ("path", "subscribe", "host") if options.get(name)]
    hint = "give a path, or kafka.bootstrap.servers and subscribe, or host and port"
    if len(given) != 1:
        raise InputError(
            "source spaseq has no input" if not given else f"{' and '.join(given)} exclude each other", hint=hint
        )
    if given == ["subscribe"] and not kafka.get("bootstrap.servers"):
        raise InputError("subscribe needs kafka.bootstrap.servers", hint=hint)
    if given == ["host"] and not options.get("port"):
        raise InputError("host needs a port", hint=hint)
    if given == ["host"] and options.get("rdfformat", "nquads") != "nquads":
        raise InputError("a socket sends lines of N-Quads", hint="other formats come in files and in Kafka messages")


def _number(options: Mapping[str, str], name: str, default: int | None) -> int | None:
    text = options.get(name)
    if text is None:
        return default
    if not text.isdigit() or not int(text):
        raise InputError(f"option {name}: '{text}' is no number from 1 on", hint="leave it out for the default")
    return int(text)


def _format(text: str) -> str:
    if text not in FORMATS:
        raise InputError(f"option rdfFormat: '{text}' is unknown", hint=f"one of {', '.join(FORMATS)}")
    return text
