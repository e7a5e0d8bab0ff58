"""Topics of an MQTT broker as sources, against Debian's mosquitto."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion

from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sources.mqtt import UNACKNOWLEDGED_MAX, MqttSource, Recent
from tests.service.connectors.ends import Taken, quads, running
from tests.service.connectors.mosquitto import Mosquitto
from tests.waiting import until


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    found = Mosquitto(tmp_path)
    found.start()
    yield found
    found.stop()


def publish(broker: Mosquitto, values: list[bytes], retain: bool = False) -> None:
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
    client.max_inflight_messages_set(1000)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    try:
        for sent in [client.publish(f"houses/{n % 3}/power", value, 1, retain) for n, value in enumerate(values)]:
            sent.wait_for_publish(10)
            assert sent.is_published()
    finally:
        client.disconnect()
        client.loop_stop()


def source(broker: Mosquitto) -> MqttSource:
    return MqttSource("power", SourceSettings(mqtt=f"mqtt://127.0.0.1:{broker.port}", topic="houses/+/power"))


async def published(broker: Mosquitto, values: list[bytes], retain: bool = False) -> None:
    await asyncio.to_thread(publish, broker, values, retain)


def test_each_message_comes_once_over_a_kill_and_an_absence(broker: Mosquitto) -> None:
    taken = Taken()

    async def run() -> None:
        async with running(source(broker), taken):
            await until(lambda: taken.said("running"))
            await published(broker, quads(0, 150))
            await until(lambda: len(taken.lines) == 300)
            taken.kill = 0
            await published(broker, quads(150, 170))
            await until(lambda: taken.kill is None)
        await published(broker, quads(170, 200))
        async with running(source(broker), taken):
            await until(lambda: len(taken.lines) >= 400)
            await asyncio.sleep(0.2)

    asyncio.run(run())
    assert sorted(taken.lines) == sorted(b"".join(quads(0, 200)).splitlines())


def test_messages_that_come_again_are_known_also_where_a_broker_sends_more_than_it_may() -> None:
    """A connection that is closed with messages unread takes acknowledgements with it that the broker has not read."""
    sent = [(n % 1000 + 1, b"%d" % n) for n in range(1500)]
    taken = Recent("broker", None)
    assert not any(taken.is_repeated(identifier, False, content) for identifier, content in sent)
    again = Recent("broker", taken.position)
    repeated = sent[-UNACKNOWLEDGED_MAX - 20 :]
    assert all(again.is_repeated(identifier, True, content) for identifier, content in repeated)
    assert not again.is_repeated(sent[-1][0], True, b"another")
    assert not Recent("another broker", taken.position).any


def test_a_broker_that_is_started_again_goes_on_with_the_session(broker: Mosquitto) -> None:
    taken = Taken()

    async def run() -> None:
        async with running(source(broker), taken):
            await until(lambda: taken.said("running"))
            await published(broker, quads(0, 5))
            await until(lambda: len(taken.lines) == 10)
            await asyncio.to_thread(broker.stop)
            await until(lambda: taken.said("waiting"))
            await asyncio.to_thread(broker.start)
            await published(broker, quads(5, 9))
            await until(lambda: len(taken.lines) == 18)

    asyncio.run(run())
    assert sorted(taken.lines) == sorted(b"".join(quads(0, 9)).splitlines())


def test_a_message_that_is_not_taken_is_not_acknowledged(broker: Mosquitto) -> None:
    taken = Taken(full=True)

    async def run() -> None:
        async with running(source(broker), taken):
            await until(lambda: taken.said("running"))
            await published(broker, quads(0, 300))
            await until(lambda: taken.said("waiting", "the queue is full"))
        taken.full = False
        async with running(source(broker), taken):
            await until(lambda: len(taken.lines) == 600)

    asyncio.run(run())
    assert sorted(taken.lines) == sorted(b"".join(quads(0, 300)).splitlines())


def test_a_retained_message_comes_once_for_a_session(broker: Mosquitto) -> None:
    taken = Taken()

    async def run() -> None:
        await published(broker, quads(0, 1), retain=True)
        for count in (2, 4):
            async with running(source(broker), taken):
                await until(lambda: taken.said("running"))
                await published(broker, quads(count, count + 1))
                await until(lambda: len(taken.lines) >= 2 + count)  # noqa: B023 -- awaited at once

    asyncio.run(run())
    assert sorted(taken.lines) == sorted(b"".join([*quads(0, 1), *quads(2, 3), *quads(4, 5)]).splitlines())
