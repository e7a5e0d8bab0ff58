"""Kafka topics as a Spark source, over confluent-kafka: no connector jar is needed.

A message holds whole events. Offsets are Kafka's own, so a replayed micro-batch reads the same messages; nothing is
committed to the broker. Messages of N-Quads are concatenated into longer rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from spaseq.errors import InputError, RunError
from spaseq.inputs.formats import FORMATS, TEXT_BYTES
from spaseq.inputs.texts import InputText
from spaseq.runtime.spark.sources.options import SourceOptions
from spaseq.runtime.spark.sources.rows import END, batch

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

Offsets = dict[str, dict[str, int]]
"""Topic → partition → the next message; partitions are strings, as JSON has them."""

_ANSWER_S_MAX = 30.0
_POLL_S = 1.0
_MESSAGES_MAX = 10_000
_ENDED = "spaseq.ended"
"""A key of an offset beside the topics: the end of the stream has been signalled. No topic has this name."""


@dataclass
class KafkaPartition(InputPartition):
    """Messages begin ≤ offset < end of one partition of a topic; topic "": the end of the stream."""

    topic: str
    partition: int
    begin: int
    end: int


class Topics:
    """The messages of some topics on their brokers."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def first(self) -> Offsets:
        """The offsets at which reading begins: those of the options, else of the first messages kept."""
        given, bounds = self._given(), self._bounds()
        return {
            topic: {str(p): given.get(topic, {}).get(str(p), low) for p, (low, _) in bounds[topic].items()}
            for topic in bounds
        }

    def last(self) -> Offsets:
        """The offsets after the last messages."""
        return {topic: {str(p): high for p, (_, high) in found.items()} for topic, found in self._bounds().items()}

    def messages(self, partition: KafkaPartition) -> Iterator[Message]:
        """The messages of one partition; raises RunError for one that does not arrive or is no longer kept."""
        from confluent_kafka import TopicPartition

        consumer = _consumer(self._options)
        try:
            consumer.assign([TopicPartition(partition.topic, partition.partition, partition.begin)])
            yield from _consumed(consumer, partition)
        finally:
            consumer.close()

    def _given(self) -> Offsets:
        text = self._options.starting_offsets
        if text == "earliest":
            return {}
        try:
            found = json.loads(text)
            return {topic: {str(int(p)): int(o) for p, o in partitions.items()} for topic, partitions in found.items()}
        except (ValueError, AttributeError, TypeError) as error:
            hint = 'earliest, or offsets such as {"topic": {"0": 17}}: only these are the same after a restart'
            raise InputError(f"option startingOffsets: '{text}' is unknown", hint=hint) from error

    def _bounds(self) -> dict[str, dict[int, tuple[int, int]]]:
        from confluent_kafka import KafkaException, TopicPartition

        consumer = _consumer(self._options)
        try:
            return {
                topic: {
                    number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_ANSWER_S_MAX)
                    for number in _partitions(consumer, topic)
                }
                for topic in self._options.topics
            }
        except KafkaException as error:
            raise RunError(f"cannot ask {self._options.brokers} for topics: {error.args[0].str()}") from error
        finally:
            consumer.close()


def _partitions(consumer: Consumer, topic: str) -> list[int]:
    found = consumer.list_topics(topic, timeout=_ANSWER_S_MAX).topics[topic]
    if found.error is not None:
        raise InputError(f"cannot read the topic {topic}: {found.error.str()}", hint="check the brokers and the name")
    return sorted(found.partitions)


def _consumer(options: SourceOptions) -> Consumer:
    try:
        from confluent_kafka import Consumer
    except ImportError as error:
        raise InputError("Kafka needs confluent-kafka", hint="pip install 'spaseq[spark]'") from error
    settings: dict[str, Any] = {
        "group.id": "spaseq",
        "auto.offset.reset": "error",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        **options.kafka,
        "bootstrap.servers": options.brokers,
    }
    return Consumer(settings)


def _consumed(consumer: Consumer, wanted: KafkaPartition) -> Iterator[Message]:
    from confluent_kafka import KafkaError

    place, silent_s = f"{wanted.topic}[{wanted.partition}]", 0.0
    position = wanted.begin
    while position < wanted.end:
        found = consumer.consume(_MESSAGES_MAX, timeout=_POLL_S)
        silent_s = 0.0 if found else silent_s + _POLL_S
        if silent_s >= _ANSWER_S_MAX:
            raise RunError(f"{place}: no message {position} within {_ANSWER_S_MAX:.0f} s", hint="Spark tries again")
        for message in found:
            offset, failure = message.offset(), message.error()
            assert offset is not None
            if failure is not None:
                if failure.code() != KafkaError._PARTITION_EOF:
                    raise RunError(f"{place}@{position}: {failure.str()}", hint="Spark tries again")
                position = max(position, offset)
                continue
            position = offset + 1
            if offset >= wanted.end:
                return
            yield message


class _Reading:
    """The part that static and streaming readers share."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._topics = Topics(options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of one partition, concatenated to rows of about TEXT_BYTES if their format allows it."""
        assert isinstance(partition, KafkaPartition)
        if not partition.topic:
            yield batch(END)
            return
        size = TEXT_BYTES if FORMATS[self._options.format].lines else 1
        text, first = bytearray(), partition.begin
        for message in self._topics.messages(partition):
            if len(text) >= size:
                yield self._row(partition, first, text)
                text.clear()
            if not text:
                first = message.offset() or 0
            value = message.value() or b""
            text += value if value.endswith(b"\n") else value + b"\n"
        if text:
            yield self._row(partition, first, text)

    def _row(self, partition: KafkaPartition, offset: int, text: bytearray) -> pa.RecordBatch:
        place = f"{partition.topic}[{partition.partition}]@{offset}"
        return batch(InputText(bytes(text), place, format=self._options.format))


class KafkaReader(_Reading, DataSourceReader):
    """All messages that exist, as a static DataFrame."""

    def partitions(self) -> Sequence[InputPartition]:
        """One for each partition of each topic."""
        return _between(self._topics.first(), self._topics.last())


class KafkaStreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Topics that grow."""

    def __init__(self, options: SourceOptions) -> None:
        super().__init__(options)
        self._target: Offsets | None = None

    def initialOffset(self) -> dict[str, Any]:
        """The offsets of the first messages."""
        return self._topics.first()

    def getDefaultReadLimit(self) -> ReadLimit:
        """The messages of one micro-batch."""
        limit = self._options.messages_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:
        """Leave messages that arrive from now on to the next run."""
        self._target = self._topics.last()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The offsets that the limit allows, shared among partitions by backlog; the end is a micro-batch."""
        last = self._target if self._target is not None else self._topics.last()
        if _ENDED in start:
            self._options.check_ended(bool(_between(start, last)))
            return start
        most = getattr(limit, "max_rows", None)
        reached = last if most is None or isinstance(limit, ReadAllAvailable) else _limited(start, last, most)
        if not _between(start, reached):
            return {**start, _ENDED: {}} if self._options.end and self._target is not None else start
        return reached

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One for each partition that has something new."""
        found = _between(start, {topic: end[topic] for topic in end if topic != _ENDED})
        return [*found, KafkaPartition("", 0, 0, 0)] if _ENDED in end and _ENDED not in start else found


def _between(start: Offsets, end: Offsets) -> list[InputPartition]:
    """The messages between two offsets; a new partition begins with its first message."""
    return [
        KafkaPartition(topic, int(number), start.get(topic, {}).get(number, 0), stop)
        for topic, partitions in sorted(end.items())
        for number, stop in sorted(partitions.items(), key=lambda item: int(item[0]))
        if start.get(topic, {}).get(number, 0) < stop
    ]


def _limited(start: Offsets, last: Offsets, messages: int) -> Offsets:
    """The offsets after about so many messages, at least one of each partition with a backlog."""
    waiting = {(t, n): stop - start.get(t, {}).get(n, 0) for t, found in last.items() for n, stop in found.items()}
    total = sum(waiting.values())
    if total <= messages:
        return last
    taken = {key: min(count, max(1, count * messages // total)) for key, count in waiting.items()}
    return {t: {n: start.get(t, {}).get(n, 0) + taken[t, n] for n in found} for t, found in last.items()}
