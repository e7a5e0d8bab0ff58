"""Rows in a topic of librdkafka's brokers: each once, whatever is killed or away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.sinks.kafka import KafkaSink
from tests.service.connectors.ends import Rows, running
from tests.service.connectors.kafka_cluster import Cluster, cluster
from tests.waiting import until


@pytest.fixture(scope="module")
def brokers() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


def sink(brokers: Cluster, topic: str) -> KafkaSink:
    return KafkaSink("cheap", SinkSettings(kafka=brokers.servers, topic=topic))


def test_each_row_is_written_once_over_a_kill_between_commit_and_position(brokers: Cluster) -> None:
    brokers.create("once")
    brokers.produce("once", [b"of others"])
    rows = Rows(kill=1)
    rows.find(2300)

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await sink(brokers, "once").run(rows)
        assert rows.stored.n == 1000
        brokers.produce("once", [b"of others"])
        async with running(sink(brokers, "once"), rows):
            await until(lambda: rows.stored.n == 2300)
            rows.find(2)
            await until(lambda: rows.stored.n == 2302)

    asyncio.run(run())
    found = brokers.messages("once", 3000)
    assert [value for key, value in found if key == "cheap"] == rows.lines
    assert len(found) == 2304


def test_a_kill_after_the_first_transaction_repeats_nothing(brokers: Cluster) -> None:
    brokers.create("first")
    rows = Rows(kill=0)
    rows.find(5)

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await sink(brokers, "first").run(rows)
        assert rows.stored.n == 0 and rows.stored.note
        async with running(sink(brokers, "first"), rows):
            await until(lambda: rows.stored.n == 5)

    asyncio.run(run())
    assert [value for _, value in brokers.messages("first", 100)] == rows.lines


def test_brokers_that_are_away_are_waited_for(brokers: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaseq.service.sinks.kafka.TRANSACTION_S_MAX", 1.0)
    with cluster() as own:
        own.create("away")
        rows = Rows()
        rows.find(5)

        async def run() -> None:
            async with running(sink(own, "away"), rows):
                await until(lambda: rows.stored.n == 5)
                own.stop()
                rows.find(5)
                await until(lambda: rows.said("waiting"))
                own.start()
                await until(lambda: rows.stored.n == 10)

        asyncio.run(run())
        assert [value for _, value in own.messages("away", 100)] == rows.lines
