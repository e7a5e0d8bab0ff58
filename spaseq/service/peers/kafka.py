"""Kafka's clients, which wait in calls, on a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from spaseq.service.peers.pauses import Away, Failed, told

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer

ANSWER_S_MAX = 10.0
"""For a question about topics."""
CANCELLED_S_MAX = 5.0
_Result = TypeVar("_Result")


class Worker:
    """One thread, on which all calls of a client are made, one after the other."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def __aenter__(self) -> Worker:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=False)

    async def __call__(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """The result of a function, called on the thread; cancelled, it waits for its end for CANCELLED_S_MAX."""
        calling = asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)
        try:
            return await asyncio.shield(calling)
        except asyncio.CancelledError:
            await asyncio.wait([calling], timeout=CANCELLED_S_MAX)
            calling.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody else asks for it
            raise

    def later(self, function: Callable[[], object]) -> None:
        """Call a function after what is under way, and wait for neither."""
        self._thread.submit(function)


class Brokers:
    """The connections of librdkafka, of which it tells beside the calls; `check` raises Away if no broker is left."""

    def __init__(self) -> None:
        self._away = ""

    def on_error(self, error: KafkaError) -> None:
        """Remember it; librdkafka calls this inside calls of its client."""
        from confluent_kafka import KafkaError

        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._away = error.str()

    def check(self) -> None:
        """Raises Away if all brokers were lost since the client was made."""
        if self._away:
            raise Away(self._away)


def partitions_of(client: Consumer | Producer, topic: str) -> list[int]:
    """The partitions of a topic, in order; Failed if there is none, Away if brokers do not answer."""
    from confluent_kafka import KafkaException

    try:
        found = client.list_topics(topic, timeout=ANSWER_S_MAX).topics[topic]
    except KafkaException as error:
        raise Away(told_kafka(error)) from error
    if found.error is not None or not found.partitions:
        reason = "it has no partition" if found.error is None else found.error.str()
        raise Failed(f"the topic {topic} cannot be used: {reason}")
    return sorted(found.partitions)


def told_kafka(error: Exception) -> str:
    """The text of an error of Kafka's client."""
    from confluent_kafka import KafkaError

    cause = error.args[0] if error.args else None
    return str(cause.str()) if isinstance(cause, KafkaError) else told(error)
