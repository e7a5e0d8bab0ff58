"""The options of `spark.read.format("spaseq")` and `spark.readStream.format("spaseq")`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sparql_gpm.reading.blocks import LINE_BYTES_MAX
from sparql_gpm.times import SECOND_NS, parse_duration
from spaseq.errors import InputError, RunError
from spaseq.inputs.formats import check_format

_MEBIBYTE = 1 << 20
TRIGGER_BYTES = 128 * _MEBIBYTE
"""A micro-batch costs 0.4 s whatever its size."""
PARTITION_BYTES = 32 * _MEBIBYTE
"""A task costs 0.05 s whatever its size, and ten times as much for this many bytes."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The source of events, and how much is read at a time. Option names are those given in brackets.

    path                    [path] a file, directory or glob
    brokers, topics         [kafka.bootstrap.servers, subscribe] brokers; topics, separated by commas
    kafka                   [kafka.*] further settings of librdkafka
    starting_offsets        [startingOffsets] "earliest", or {"topic": {"0": 17}} as JSON
    host, port              [host, port] of a server that sends lines; for tests, since it cannot be read again
    format                  [rdfFormat] of messages
    file_format             [inputFormat] of files; "": their names say it
    tables                  [tables] "true": files of tables are read as well, by the template of the job
    bytes_per_trigger       [maxBytesPerTrigger] of files in one micro-batch, about
    messages_per_trigger    [maxOffsetsPerTrigger] of Kafka in one micro-batch, about; None: all
    partition_bytes         [maxPartitionBytes] of a file for one task
    end                     [end] signal the end of the stream after all existing input, so that the last events are
                            reported: for a finite replay, with `trigger(availableNow=True)`
    text                    [text] "true": rows of files hold their text; else they name a range of a file, which
                            stage 1 reads itself, so that Spark does not carry the text
    max_line                [maxLine] the longest line, statement or graph block, or file of one event, in bytes, of
                            files whose text is read here; what is longer is a dead letter
    idle_timeout_s          [idleTimeout] a partition of a topic that has had no message for so long (a duration, `30s`)
                            holds the watermark no longer; None: every partition holds it
    on_data_loss            [onDataLoss] "fail" where input is gone or replaced; "skip": go on, with a warning
    """

    path: str = ""
    brokers: str = ""
    topics: tuple[str, ...] = ()
    kafka: Mapping[str, str] = field(default_factory=dict)
    starting_offsets: str = "earliest"
    host: str = ""
    port: int = 0
    format: str = "nquads"
    file_format: str = ""
    tables: bool = False
    bytes_per_trigger: int = TRIGGER_BYTES
    messages_per_trigger: int | None = None
    partition_bytes: int = PARTITION_BYTES
    end: bool = False
    text: bool = False
    max_line: int = LINE_BYTES_MAX
    on_data_loss: str = "fail"
    idle_timeout_s: float | None = None

    def lose(self, where: str, lost: Sequence[str]) -> None:
        """Raises RunError that says what was lost; with `skip` a warning says it, once for each reason."""
        more = f"; and {len(lost) - _LOST_SHOWN_MAX} more" if len(lost) > _LOST_SHOWN_MAX else ""
        reason = f"{where} is not what was read: {'; '.join(lost[:_LOST_SHOWN_MAX])}{more}"
        if self.on_data_loss == "fail":
            way = "put it back, begin with a new checkpoint, or go on with what is left: --on-data-loss skip"
            raise RunError(f"{reason}. {way}", hint=way)
        warn_once(reason)

    def check_ended(self, more: bool) -> None:
        """Raises RunError where a checkpoint says that the stream has ended, and more input is wanted or there."""
        if more or not self.end:
            where = self.path or ",".join(self.topics)
            found = f"{where} has ended for this checkpoint" + (", and there is more input now" if more else "")
            way = "begin with a new checkpoint and output; a job without --end-of-stream goes on at each start"
            raise RunError(f"{found}: {way}", hint=way)


_PREFIX = "kafka."
_LOST_SHOWN_MAX = 5


@lru_cache(maxsize=256)
def warn_once(reason: str) -> None:
    """Write a warning on the standard error of this process, the driver's, once for each reason."""
    logging.getLogger(__name__).warning("%s", reason)


_FIELDS = {
    "path": "path", "subscribe": "topics", "startingoffsets": "starting_offsets", "host": "host", "port": "port",
    "rdfformat": "format", "inputformat": "file_format",
    "tables": "tables", "maxbytespertrigger": "bytes_per_trigger", "maxoffsetspertrigger": "messages_per_trigger",
    "maxpartitionbytes": "partition_bytes", "end": "end", "text": "text", "maxline": "max_line",
    "ondataloss": "on_data_loss", "idletimeout": "idle_timeout_s",
}  # fmt: skip
"""The field of each option, by its name in lower case."""


def read_options(given: Mapping[str, str]) -> SourceOptions:
    """The options that Spark passes, names in any case; raises InputError for one that cannot be used."""
    options = {name.lower(): value for name, value in given.items()}
    kafka = {name[len(_PREFIX) :]: value for name, value in options.items() if name.startswith(_PREFIX)}
    for name in options:
        if name not in _FIELDS and not name.startswith(_PREFIX):
            raise InputError(
                f"source spaseq has no option '{name}'", hint=f"options: {', '.join(sorted(_FIELDS))}, kafka.*"
            )
    rdf_format = options.get("rdfformat", "nquads")
    check_format(rdf_format)
    if options.get("inputformat"):
        check_format(options["inputformat"])
    _check_source(options, kafka, rdf_format)
    values = {_FIELDS[name]: _value(name, text) for name, text in options.items() if name in _FIELDS}
    return SourceOptions(brokers=kafka.pop("bootstrap.servers", ""), kafka=kafka, **values)


def _check_source(options: Mapping[str, str], kafka: Mapping[str, str], rdf_format: str) -> None:
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
    if given == ["host"] and rdf_format != "nquads":
        raise InputError("a socket sends lines of N-Quads", hint="other formats are for files and Kafka messages")


def _value(name: str, text: str) -> Any:
    match name:
        case "subscribe":
            return tuple(topic.strip() for topic in text.split(",") if topic.strip())
        case "end" | "text" | "tables":
            return text.lower() == "true"
        case "ondataloss" if text not in ("fail", "skip"):
            raise InputError(f"option onDataLoss: '{text}' is unknown", hint="fail or skip")
        case "idletimeout":
            try:
                return parse_duration(text) / SECOND_NS
            except ValueError as error:
                raise InputError(f"option idleTimeout: {error}", hint="leave it out for none") from error
        case "port" | "maxbytespertrigger" | "maxoffsetspertrigger" | "maxpartitionbytes" | "maxline":
            if not text.isdigit() or not int(text):
                raise InputError(f"option {name}: '{text}' is no number from 1 on", hint="leave it out for the default")
            return int(text)
    return text
