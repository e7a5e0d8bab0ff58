"""Brokers of Kafka's protocol: those that librdkafka has for tests, which can be stopped and lose topics."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import confluent_kafka

_FOLDER = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
_BROKER = 1


class Cluster:
    """One broker, on a port that stays the same."""

    def __init__(self, library: Any, cluster: ctypes.c_void_p) -> None:
        self._library, self._cluster = library, cluster
        self.servers = library.rd_kafka_mock_cluster_bootstraps(cluster).decode()

    def create(self, topic: str, partitions: int = 1) -> None:
        assert self._library.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1) == 0

    def delete(self, topic: str) -> None:
        assert self._library.rd_kafka_mock_topic_delete(self._cluster, topic.encode()) == 0

    def stop(self) -> None:
        assert self._library.rd_kafka_mock_broker_set_down(self._cluster, _BROKER) == 0

    def start(self) -> None:
        assert self._library.rd_kafka_mock_broker_set_up(self._cluster, _BROKER) == 0

    def produce(self, topic: str, values: list[bytes], partition: int = 0) -> None:
        producer = confluent_kafka.Producer({"bootstrap.servers": self.servers})
        for value in values:
            producer.produce(topic, value, partition=partition)
        assert producer.flush(10) == 0

    def messages(self, topic: str, count: int) -> list[tuple[str, bytes]]:
        """Key and value of as many messages of the first partition; None after the last."""
        settings = {"bootstrap.servers": self.servers, "group.id": "tests", "enable.partition.eof": True}
        consumer = confluent_kafka.Consumer(settings)
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        found: list[tuple[str, bytes]] = []
        try:
            while len(found) < count:
                message = consumer.poll(10)
                assert message is not None
                if message.error():
                    return found
                found.append(((message.key() or b"").decode(), message.value() or b""))
            return found
        finally:
            consumer.close()


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A running cluster."""
    library = _library()
    client = library.rd_kafka_new(0, None, ctypes.create_string_buffer(512), 512)
    assert client
    made = library.rd_kafka_mock_cluster_new(client, 1)
    assert made
    try:
        yield Cluster(library, made)
    finally:
        library.rd_kafka_mock_cluster_destroy(made)
        library.rd_kafka_destroy(client)


def _library() -> Any:
    (path,) = _FOLDER.glob("librdkafka*.so*")
    library = ctypes.CDLL(str(path))
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    for name, result, arguments in (
        ("rd_kafka_new", pointer, [number, pointer, text, ctypes.c_size_t]),
        ("rd_kafka_destroy", None, [pointer]),
        ("rd_kafka_mock_cluster_new", pointer, [pointer, number]),
        ("rd_kafka_mock_cluster_destroy", None, [pointer]),
        ("rd_kafka_mock_cluster_bootstraps", text, [pointer]),
        ("rd_kafka_mock_topic_create", number, [pointer, text, number, number]),
        ("rd_kafka_mock_topic_delete", number, [pointer, text]),
        ("rd_kafka_mock_broker_set_down", number, [pointer, ctypes.c_int32]),
        ("rd_kafka_mock_broker_set_up", number, [pointer, ctypes.c_int32]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
