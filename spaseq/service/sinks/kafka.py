"""Rows in a Kafka topic, each once: transactions, and what they have committed is looked up after a crash."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from spaseq.service.peers.extras import require, secrets
from spaseq.service.peers.kafka import ANSWER_S_MAX, Worker, partitions_of, told_kafka
from spaseq.service.peers.pauses import Away, keep_up
from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.sinks.batches import Batch, next_batch
from spaseq.service.sinks.feed import RowFeed, SinkPosition

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka import Message as KafkaMessage

TRANSACTION_S_MAX = 30.0
READ_S_MAX = 60.0
"""For looking up what was committed."""
_POLL_S = 0.5
_MESSAGES_MAX = 1_000
_SINK, _ROW = "spaseq-sink", "spaseq-row"
"""The headers of a message: the transactional id, and the number of the row."""
Offsets = dict[int, int]
"""Partition → the offset after what was written to it last."""


class KafkaSink:
    """Writes rows in transactions, with the query's name as key, so that one partition has all of them in order.

    After a transaction the position is stored, with the offsets behind it. A crash may come in between. So the next
    start, or the next connection, ends the transaction that may be open, and reads what stands behind those offsets:
    of the rows there, those that were committed are visible, and it goes on after the last of them.
    """

    def __init__(self, query: str, settings: SinkSettings) -> None:
        assert settings.kafka is not None and settings.topic is not None
        require("confluent_kafka", "kafka", "Kafka")
        self._topic, self._key = settings.topic, query.encode()
        self._id = settings.transactional_id or f"spaseq-{query}-{settings.topic}"
        own = {**(settings.properties or {}), **secrets(settings.secrets)}
        self._settings: dict[str, Any] = {"log_level": 0, **own, "bootstrap.servers": settings.kafka}
        self._what = f"query {query}, topic {settings.topic} at {settings.kafka}"

    async def run(self, feed: RowFeed) -> None:
        """Write rows as they come."""
        await keep_up(self._what, lambda done: self._session(feed, done), feed.report, ())

    async def _session(self, feed: RowFeed, succeeded: Callable[[], None]) -> None:
        async with Worker("spaseq-kafka") as call:
            producer = await call(self._producer)
            try:
                n, offsets = await self._recovered(call, feed)
                feed.report("running", None)
                while True:
                    rows = await next_batch(self._what, feed, n)
                    offsets = await call(self._write, producer, rows, offsets)
                    n = rows[-1][0]
                    await feed.done(SinkPosition(n, _note(offsets)))
                    succeeded()
            finally:
                call.later(producer.purge)

    async def _recovered(self, call: Worker, feed: RowFeed) -> tuple[int, Offsets]:
        """The last row that was committed, and the offsets behind it; both are stored."""
        position = feed.position()
        known = _offsets(position.note)
        n, offsets = await call(partial(self._committed, known, position.n))
        if n != position.n or offsets != known:
            await feed.done(SinkPosition(n, _note(offsets)))
        return n, offsets

    # --- on the worker's thread -------------------------------------------------------------------

    def _producer(self) -> Producer:
        """A producer; of earlier ones with its id no transaction is open any more, and none can write."""
        from confluent_kafka import KafkaException, Producer

        try:
            producer = Producer({**self._settings, "transactional.id": self._id})
            producer.init_transactions(TRANSACTION_S_MAX)
        except KafkaException as error:
            raise Away(told_kafka(error)) from error
        return producer

    def _write(self, producer: Producer, rows: Batch, offsets: Mapping[int, int]) -> Offsets:
        """Write rows in one transaction; the offsets after it. Away if it is not certain that it is committed."""
        from confluent_kafka import KafkaException

        after, faults = dict(offsets), list[str]()

        def delivered(error: KafkaError | None, message: KafkaMessage) -> None:
            if error is not None:
                faults.append(error.str())
            else:
                partition = message.partition() or 0
                after[partition] = max(after.get(partition, 0), (message.offset() or 0) + 1)

        try:
            producer.begin_transaction()
            for n, line in rows:
                headers: list[tuple[str, str | bytes | None]] = [(_SINK, self._id.encode()), (_ROW, b"%d" % n)]
                producer.produce(self._topic, line, self._key, headers=headers, on_delivery=delivered)
                producer.poll(0)
            if producer.flush(TRANSACTION_S_MAX) or faults:
                raise Away(faults[0] if faults else "the brokers do not take the rows")
            producer.commit_transaction(TRANSACTION_S_MAX)
        except (KafkaException, BufferError, Away) as error:
            producer.purge()  # it would go on sending for minutes
            raise Away(told_kafka(error)) from error
        return after

    def _committed(self, known: Mapping[int, int], n: int) -> tuple[int, Offsets]:
        """The last row of this sink behind the known offsets, `n` if there is none, and the offsets behind all."""
        from confluent_kafka import KafkaException, TopicPartition

        try:
            with closing(self._consumer("read_uncommitted")) as consumer:
                places = [TopicPartition(self._topic, p) for p in partitions_of(consumer, self._topic)]
                bounds = {each.partition: consumer.get_watermark_offsets(each, timeout=ANSWER_S_MAX) for each in places}
            ends = {partition: high for partition, (_, high) in bounds.items()}
            begins = {p: max(low, min(known.get(p, 0), high)) for p, (low, high) in bounds.items()}
            if not known or begins == ends:
                return n, ends
            with closing(self._consumer("read_committed")) as consumer:
                consumer.assign([TopicPartition(self._topic, p, begin) for p, begin in begins.items()])
                return max(n, *self._rows_until(consumer, ends)), ends
        except KafkaException as error:
            raise Away(told_kafka(error)) from error

    def _consumer(self, isolation: str) -> Consumer:
        from confluent_kafka import Consumer

        more = {"group.id": "spaseq", "enable.partition.eof": True, "enable.auto.commit": False}
        return Consumer({**self._settings, **more, "auto.offset.reset": "earliest", "isolation.level": isolation})

    def _rows_until(self, consumer: Consumer, ends: Mapping[int, int]) -> list[int]:
        """The numbers of this sink's rows up to the end of each partition, and a 0.

        A transaction of others that is open hides what was committed after it began: it is waited for.
        """
        from confluent_kafka import KafkaError

        found, left, until = [0], set(ends), time.monotonic() + READ_S_MAX
        while left:
            if time.monotonic() > until:
                raise Away("what was committed cannot be read: a transaction of others may be open")
            for message in consumer.consume(_MESSAGES_MAX, timeout=_POLL_S):
                failure, partition, offset = message.error(), message.partition(), message.offset()
                assert partition is not None and offset is not None
                if failure is None:
                    headers = dict(message.headers() or ())
                    if headers.get(_SINK) == self._id.encode():
                        found.append(int(headers.get(_ROW) or 0))
                elif failure.code() != KafkaError._PARTITION_EOF:
                    raise Away(failure.str())
                elif offset >= ends[partition]:
                    left.discard(partition)
        return found


def _offsets(note: bytes) -> Offsets:
    return msgspec.json.decode(note, type=dict[str, Offsets])["offsets"] if note else {}


def _note(offsets: Offsets) -> bytes:
    return msgspec.json.encode({"offsets": {str(partition): offset for partition, offset in offsets.items()}})
