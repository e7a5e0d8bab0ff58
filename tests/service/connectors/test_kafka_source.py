"""Topics as sources, against brokers of librdkafka: every message once, whatever is away meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sources import kafka
from spaseq.service.sources.kafka import KafkaSource
from tests.service.connectors.ends import Taken, quads, running
from tests.service.connectors.kafka_cluster import Cluster, cluster
from tests.waiting import until


@pytest.fixture(scope="module")
def brokers() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


def source(brokers: Cluster, topic: str, **more: Any) -> KafkaSource:
    return KafkaSource("power", SourceSettings(kafka=brokers.servers, topic=topic, **more))


def test_each_message_comes_once_over_kills_and_restarts(brokers: Cluster) -> None:
    brokers.create("once", 2)
    for partition in range(2):
        brokers.produce("once", quads(partition * 100, partition * 100 + 40), partition)
    taken = Taken(kill=0)

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await source(brokers, "once").run(taken)
        assert len(taken.lines) > 0
        async with running(source(brokers, "once"), taken):
            await until(lambda: len(taken.lines) == 160)
            brokers.produce("once", quads(300, 310))
            await until(lambda: len(taken.lines) == 180)

    asyncio.run(run())
    assert sorted(taken.lines) == sorted(b"".join([*quads(0, 40), *quads(100, 140), *quads(300, 310)]).splitlines())
    assert {body_format for _, body_format in taken.bodies} == {"nquads"}


def test_partitions_that_are_added_are_read_from_their_beginning(
    brokers: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers.create("wide", 2)
    for partition in range(2):
        brokers.produce("wide", quads(partition * 100, partition * 100 + 5), partition)
    taken, known = Taken(), [0]
    monkeypatch.setattr(kafka, "PARTITIONS_S", 0.1)
    monkeypatch.setattr(kafka, "partitions_of", lambda client, topic: list(known))

    async def run() -> None:
        async with running(source(brokers, "wide", start="latest"), taken):
            await until(lambda: taken.said("running"))
            brokers.produce("wide", quads(5, 7))
            await until(lambda: len(taken.lines) == 4)
            known.append(1)
            await until(lambda: len(taken.lines) == 14)

    asyncio.run(run())
    assert taken.lines == b"".join([*quads(5, 7), *quads(100, 105)]).splitlines()


def test_nothing_is_read_while_there_is_no_room(brokers: Cluster) -> None:
    brokers.create("full")
    brokers.produce("full", quads(0, 5))
    taken = Taken(full=True)

    async def run() -> None:
        async with running(source(brokers, "full"), taken):
            await until(lambda: taken.said("waiting", "the queue is full"))
            assert taken.bodies == [] and taken.stored is None
            taken.full = False
            await until(lambda: len(taken.lines) == 10)

    asyncio.run(run())
    assert taken.states[-1] == ("running", None)


def test_a_broker_that_is_away_is_waited_for(brokers: Cluster) -> None:
    with cluster() as own:
        own.create("away")
        own.produce("away", quads(0, 5))
        taken = Taken()

        async def run() -> None:
            async with running(source(own, "away"), taken):
                await until(lambda: len(taken.lines) == 10)
                own.stop()
                await until(lambda: taken.said("waiting"))
                own.start()
                own.produce("away", quads(5, 8))
                await until(lambda: len(taken.lines) == 16)

        asyncio.run(run())
    assert taken.text == b"".join(quads(0, 8))


@pytest.mark.parametrize(("messages", "said"), [(3, "ends before message 10"), (30, "message 9 of lost[0] is another")])
def test_a_topic_that_was_made_anew_is_told(brokers: Cluster, messages: int, said: str) -> None:
    brokers.create("lost")
    brokers.produce("lost", quads(0, 10))
    taken = Taken()

    async def run() -> None:
        async with running(source(brokers, "lost"), taken):
            await until(lambda: len(taken.lines) == 20)
        brokers.delete("lost")
        brokers.create("lost")
        brokers.produce("lost", quads(100, 100 + messages))
        async with running(source(brokers, "lost"), taken):
            await until(lambda: taken.said("failed", said))
        assert len(taken.lines) == 20
        async with running(source(brokers, "lost", on_loss="skip"), taken):
            await until(lambda: len(taken.lines) == 20 + 2 * messages)

    asyncio.run(run())
    brokers.delete("lost")
    assert taken.lines[20:] == b"".join(quads(100, 100 + messages)).splitlines()


def test_a_first_start_at_the_latest_message_leaves_out_what_was_there(brokers: Cluster) -> None:
    brokers.create("latest")
    brokers.produce("latest", quads(0, 5))
    taken = Taken()

    async def run() -> None:
        async with running(source(brokers, "latest", start="latest"), taken):
            await until(lambda: taken.said("running"))
            brokers.produce("latest", quads(5, 7))
            await until(lambda: len(taken.lines) == 4)

    asyncio.run(run())
    assert taken.text == b"".join(quads(5, 7))
