"""Kafka topics as a Spark source, over confluent-kafka: no connector jar is needed.

A message holds whole events. Offsets are Kafka's own, so a replayed micro-batch reads the same messages; nothing is
committed to the broker. Messages of N-Quads are concatenated into longer rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from spaseq.errors import InputError, RunError
from spaseq.inputs.formats import TEXT_BYTES, is_of_lines
from spaseq.inputs.texts import InputText
from spaseq.runtime.spark.sources.kafka_offsets import Bounds, KafkaPlace, Marks, Offsets, changed, limited
from spaseq.runtime.spark.sources.options import SourceOptions, warn_once
from spaseq.runtime.spark.sources.rows import batch, signal

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_ANSWER_S_MAX = 30.0
_POLL_S = 1.0
_MESSAGES_MAX = 10_000
_MARK_S_MAX = 5.0
_MARK_SETTINGS = {"queued.min.messages": 1, "max.partition.fetch.bytes": 1 << 16, "fetch.wait.max.ms": 100}
"""For reading one message of each partition."""


@dataclass
class KafkaPartition(InputPartition):
    """Messages begin ≤ offset < end of one partition of a topic, after some signals; topic "": only these."""

    topic: str
    partition: int
    begin: int
    end: int
    signals: tuple[str, ...] = ()


class Topics:
    """The messages of some topics on their brokers."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def first(self, bounds: Bounds) -> KafkaPlace:
        """The place at which reading begins: that of the options, else of the first messages kept."""
        given = self._given()
        return KafkaPlace(
            {t: {p: given.get(t, {}).get(p, low) for p, (low, _) in found.items()} for t, found in bounds.items()}
        )

    def kept(self, place: KafkaPlace, bounds: Bounds) -> KafkaPlace:
        """The place on the brokers of now; raises RunError if messages are lost, unless these are to be skipped."""
        marks = self.marks({t: {p: place.next[t][p] for p in found} for t, found in place.marks.items()})
        if lost := place.lost(bounds, marks):
            self._options.lose(f"kafka://{self._options.brokers}", lost)
            return place.kept(bounds, marks)
        return place

    def marks(self, offsets: Offsets) -> Marks:
        """The marks of the messages before these offsets, where there are such messages."""
        from confluent_kafka import TopicPartition

        wanted = {(t, int(p)): number - 1 for t, found in offsets.items() for p, number in found.items() if number}
        found: dict[str, dict[str, str]] = {}
        if not wanted:
            return found
        consumer, until = _consumer(self._options, _MARK_SETTINGS), time.monotonic() + _MARK_S_MAX
        try:
            consumer.assign([TopicPartition(*place, offset) for place, offset in wanted.items()])
            while wanted and time.monotonic() < until:
                for message in consumer.consume(len(wanted), timeout=_POLL_S):
                    place = message.topic() or "", message.partition() or 0
                    if wanted.pop(place, None) == message.offset() and message.error() is None:
                        found.setdefault(place[0], {})[str(place[1])] = _mark(message)
        finally:
            consumer.close()
        return found

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

    def bounds(self) -> Bounds:
        """The first and last messages of each partition; raises RunError where brokers do not answer."""
        from confluent_kafka import KafkaException, TopicPartition

        consumer = _consumer(self._options)
        try:
            return {
                topic: {
                    str(number): consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_ANSWER_S_MAX)
                    for number in _partitions(consumer, topic)
                }
                for topic in self._options.topics
            }
        except KafkaException as error:
            raise RunError(f"cannot ask {self._options.brokers} for topics: {error.args[0].str()}") from error
        finally:
            consumer.close()


def _last(bounds: Bounds) -> Offsets:
    return {topic: {number: high for number, (_, high) in found.items()} for topic, found in bounds.items()}


def _mark(message: Message) -> str:
    return f"{message.timestamp()[1]}-{crc32(message.value() or b''):08x}"


def _partitions(consumer: Consumer, topic: str) -> list[int]:
    found = consumer.list_topics(topic, timeout=_ANSWER_S_MAX).topics[topic]
    if found.error is not None:
        raise InputError(f"cannot read the topic {topic}: {found.error.str()}", hint="check the brokers and the name")
    return sorted(found.partitions)


def _consumer(options: SourceOptions, more: Mapping[str, Any] | None = None) -> Consumer:
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
        **(more or {}),
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
                if failure.code() in (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET):
                    reason = f"{place}: message {position} is not there; Spark's next try, or the next start, says why"
                    raise RunError(reason)
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
        yield from (batch(signal(words)) for words in partition.signals)
        if not partition.topic:
            return
        lines = is_of_lines(self._options.format)
        size = TEXT_BYTES if lines else 1
        text, first = bytearray(), partition.begin
        for message in self._topics.messages(partition):
            if len(text) >= size:
                yield self._row(partition, first, text)
                text.clear()
            if not text:
                first = message.offset() or 0
            value = message.value() or b""
            text += value if value.endswith(b"\n") or not lines else value + b"\n"
        if text:
            yield self._row(partition, first, text)

    def _row(self, partition: KafkaPartition, offset: int, text: bytearray) -> pa.RecordBatch:
        place = f"{partition.topic}[{partition.partition}]@{offset}"
        return batch(InputText(bytes(text), place, format=self._options.format))


class KafkaReader(_Reading, DataSourceReader):
    """All messages that exist, as a static DataFrame."""

    def partitions(self) -> Sequence[InputPartition]:
        """One for each partition of each topic."""
        bounds = self._topics.bounds()
        return _between(self._topics.kept(self._topics.first(bounds), bounds).next, _last(bounds))


class KafkaStreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Topics that grow."""

    def __init__(self, options: SourceOptions) -> None:
        super().__init__(options)
        self._target: Bounds | None = None
        self._target_s: float | None = None
        self._checked = False
        self._seen: dict[str, float] = {}

    def initialOffset(self) -> dict[str, Any]:
        """The offsets of the first messages."""
        return self._topics.first(self._topics.bounds()).offset()

    def getDefaultReadLimit(self) -> ReadLimit:
        """The messages of one micro-batch."""
        limit = self._options.messages_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:
        """Leave messages that arrive from now on to the next run."""
        self._target, self._target_s = self._topics.bounds(), time.time()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The offsets that the limit allows, shared among partitions by backlog; the end is a micro-batch."""
        bounds = self._target if self._target is not None else self._topics.bounds()
        here = self._topics.kept(KafkaPlace.of(start), bounds)
        last = _last(bounds)
        waiting = {f"{topic}[{number}]" for topic, number, _, _ in changed(here.next, last)}
        if here.ended:
            self._options.check_ended(bool(waiting))
            return start
        idle, since = self._idle(here, last, waiting)
        if not waiting and idle == here.idle:
            return replace(here, ended=self._options.end and self._target is not None).offset()
        most = None if isinstance(limit, ReadAllAvailable) else getattr(limit, "max_rows", None)
        reached = last if most is None else limited(here.next, last, most)
        marks = {**here.marks, **self._topics.marks(reached)} if waiting else here.marks
        return KafkaPlace(reached, marks, idle=idle, since=since).offset()

    def _idle(
        self, here: KafkaPlace, last: Offsets, waiting: Collection[str]
    ) -> tuple[tuple[str, ...], dict[str, float]]:
        """The partitions that have had nothing to be read for as long as the options say, and since when each has."""
        longest, names = self._options.idle_timeout_s, KafkaPlace(last).partitions()
        if longest is None or len(names) < 2:
            empty = [
                f"{topic}[{number}]" for topic, found in last.items() for number, high in found.items() if not high
            ]
            if empty and waiting and not self._options.end:
                warn_once(f"{' '.join(empty)}: no message yet, so nothing is decided but with --idle-timeout")
            return (), {}
        now = time.time() if self._target_s is None else self._target_s
        known = {name: here.since.get(name, self._seen.setdefault(name, now)) for name in names}
        since = {name: now if name in waiting else known[name] for name in names}
        return tuple(name for name in names if now - since[name] >= longest), since

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One for each partition that has something new; RunError if a micro-batch that is run again has lost some."""
        first, last = KafkaPlace.of(start), KafkaPlace.of(end)
        if not self._checked or self._options.on_data_loss == "skip":
            self._checked, bounds = True, self._topics.bounds()
            first, last = self._topics.kept(first, bounds), self._topics.kept(last, bounds)
        found = [] if start == end else _signalled(_between(first.next, last.next), last)
        return [*found, KafkaPartition("", 0, 0, 0, ("end",))] if last.ended and not first.ended else found


def _signalled(found: list[KafkaPartition], end: KafkaPlace) -> list[KafkaPartition]:
    """The partitions of a micro-batch; of several the first one tells which hold the watermark."""
    names = end.partitions()
    if len(names) < 2:
        return found
    active = " ".join(["partitions", *(name for name in names if name not in end.idle)])
    named = [replace(part, signals=(f"partition {part.topic}[{part.partition}]",)) for part in found]
    first, *others = named or [KafkaPartition("", 0, 0, 0)]
    return [replace(first, signals=(active, *first.signals)), *others]


def _between(start: Offsets, end: Offsets) -> list[KafkaPartition]:
    return [KafkaPartition(topic, int(number), begin, stop) for topic, number, begin, stop in changed(start, end)]
