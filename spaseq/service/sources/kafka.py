"""A Kafka topic, read without a consumer group: offsets are kept with the events."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING
from zlib import crc32

from spaseq.service.peers.extras import require, secrets
from spaseq.service.peers.kafka import ANSWER_S_MAX, Brokers, Worker, partitions_of, told_kafka
from spaseq.service.peers.pauses import Away, Failed, keep_up
from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sources.bodies import MESSAGES_MAX, Message, bodies_of
from spaseq.service.sources.handing import Handing
from spaseq.service.sources.intake import Intake
from spaseq.service.sources.kafka_position import KafkaPosition

if TYPE_CHECKING:
    from confluent_kafka import Consumer
    from confluent_kafka import Message as KafkaMessage

POLL_S = 0.2
PARTITIONS_S = 30.0
"""So often it is looked for new partitions."""
MARKS_S_MAX = 5.0
"""For reading the messages that were read last, to see that they are the same."""
_SETTINGS = {
    "group.id": "spaseq",
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "max.poll.interval.ms": 86_400_000,
    "log_level": 0,
    "queued.max.messages.kbytes": 16_384,
}
_log = logging.getLogger(__name__)


class KafkaSource:
    """The messages of a topic, each whole events.

    The position has, for each partition, the next offset and the mark of the last message: its time and checksum, so
    that a topic that was made anew is noticed however far it has come. What is no longer there is told; reading goes
    on without it under `on_loss = "skip"` only.
    """

    def __init__(self, stream: str, settings: SourceSettings) -> None:
        assert settings.kafka is not None and settings.topic is not None
        require("confluent_kafka", "kafka", "Kafka")
        self._topic, self._format = settings.topic, settings.body_format
        self._start, self._skips = settings.start or "earliest", settings.on_loss == "skip"
        own = {**(settings.properties or {}), **secrets(settings.secrets)}
        self._settings = {**_SETTINGS, **own, "bootstrap.servers": settings.kafka}
        self._what = f"stream {stream}, topic {settings.topic} at {settings.kafka}"

    async def run(self, intake: Intake) -> None:
        """Read messages, from connection to connection."""
        from confluent_kafka import KafkaException

        await keep_up(self._what, lambda done: self._session(intake, done), intake.report, (KafkaException,))

    async def _session(self, intake: Intake, succeeded: Callable[[], None]) -> None:
        from confluent_kafka import Consumer

        brokers = Brokers()
        settings = {**self._settings, "error_cb": brokers.on_error}
        async with Worker("spaseq-kafka") as call:
            consumer = await call(partial(Consumer, settings))
            try:
                position = await call(self._assign, consumer, KafkaPosition.of(intake.position(), self._topic))
                intake.report("running", None)
                reading, handing = _Reading(position), Handing(intake, succeeded)
                until = time.monotonic() + PARTITIONS_S
                if self._start == "latest" and intake.position() is None:
                    await handing.hand(b"", self._format, position.text)
                while True:
                    found = await call(partial(consumer.consume, MESSAGES_MAX, timeout=POLL_S))
                    for body in bodies_of(reading.taken(found), self._format):
                        await handing.hand(body.value, body.body_format, body.position)
                    brokers.check()
                    if time.monotonic() >= until:
                        if await call(partitions_of, consumer, self._topic) != sorted(position.next):
                            return
                        until = time.monotonic() + PARTITIONS_S
            finally:
                call.later(consumer.close)

    def _assign(self, consumer: Consumer, position: KafkaPosition) -> KafkaPosition:
        """Begin at a position; Failed if messages after it are lost and are not to be skipped."""
        from confluent_kafka import KafkaException, TopicPartition

        try:
            bounds = {
                number: consumer.get_watermark_offsets(TopicPartition(self._topic, number), timeout=ANSWER_S_MAX)
                for number in partitions_of(consumer, self._topic)
            }
        except KafkaException as error:
            raise Away(told_kafka(error)) from error
        before = {p: following - 1 for p, following in position.next.items() if p in bounds}
        marks = self._marks(consumer, {p: at for p, at in before.items() if bounds[p][0] <= at < bounds[p][1]})
        if lost := "; ".join(position.lost(bounds, marks)):
            if not self._skips:
                raise Failed(f'{lost}: on_loss = "skip" goes on with what there is')
            _log.warning("%s: %s; reading goes on with what there is", self._what, lost)
        here = position.kept(bounds, marks, self._start)
        consumer.assign([TopicPartition(self._topic, p, following) for p, following in here.next.items()])
        return here

    def _marks(self, consumer: Consumer, offsets: Mapping[int, int]) -> dict[int, str]:
        """The marks of some messages, where they are still there."""
        from confluent_kafka import TopicPartition

        wanted, found, until = dict(offsets), dict[int, str](), time.monotonic() + MARKS_S_MAX
        if wanted:
            consumer.assign([TopicPartition(self._topic, p, offset) for p, offset in wanted.items()])
        while wanted and time.monotonic() < until:
            for message in consumer.consume(len(wanted), timeout=POLL_S):
                partition = message.partition()
                if partition is not None and wanted.pop(partition, None) == message.offset() and not message.error():
                    found[partition] = _mark(message)
        return found


class _Reading:
    """The messages after a position."""

    def __init__(self, position: KafkaPosition) -> None:
        self._position = position

    def taken(self, messages: Sequence[KafkaMessage]) -> Iterator[Message]:
        """The messages with the positions after them; Away for an error among them."""
        for message in messages:
            partition, offset, failure = message.partition(), message.offset(), message.error()
            if failure is not None:
                raise Away(failure.str())
            assert partition is not None and offset is not None
            self._position = self._position.after(partition, offset, _mark(message))
            yield Message(message.value() or b"", self._position.text)


def _mark(message: KafkaMessage) -> str:
    return f"{message.timestamp()[1]}-{crc32(message.value() or b''):08x}"
