"""Topics of an MQTT 5 broker, in a session that the broker keeps."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from zlib import crc32

from spaseq.service.peers.extras import require, secret
from spaseq.service.peers.pauses import keep_up
from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sources.bodies import Message, bodies_of
from spaseq.service.sources.handing import Handing
from spaseq.service.sources.inbox import Inbox
from spaseq.service.sources.intake import Intake
from spaseq.service.sources.positions import position_in, position_text

if TYPE_CHECKING:
    from spaseq.service.sources.mqtt_client import Broker, MqttClient

UNACKNOWLEDGED_MAX = 50
"""Messages that the broker sends before it waits for acknowledgements."""
REMEMBERED_MAX = 4 * UNACKNOWLEDGED_MAX
"""Messages that are known when they come again. Brokers do not keep to the bound above: mosquitto sends more."""
_PORTS = {"mqtt": 1883, "mqtts": 8883}
_log = logging.getLogger(__name__)


class MqttSource:
    """The messages of a topic, with quality of service 1, acknowledged when they are on disk.

    Between two connections the broker keeps them. One whose acknowledgement did not arrive is sent again, marked as a
    duplicate, under the identifier that it had. So the position has the identifiers and checksums of the messages
    that were taken last, and such a message has no effect.
    """

    def __init__(self, stream: str, settings: SourceSettings) -> None:
        assert settings.topic is not None
        require("paho", "mqtt", "MQTT")
        url = urlsplit(settings.mqtt_url)
        self._host, self._port, self._tls = url.hostname or "", url.port or _PORTS[url.scheme], url.scheme == "mqtts"
        self._topic, self._format = settings.topic, settings.body_format
        self._client_id = settings.client_id or f"spaseq-{stream}"
        self._user, self._password = settings.user, secret(settings.password)
        self._what = f"stream {stream}, topic {settings.topic} at {self._host}:{self._port}"

    async def run(self, intake: Intake) -> None:
        """Read messages, from connection to connection."""
        away = (OSError, TimeoutError)
        await keep_up(self._what, lambda done: self._session(intake, done), intake.report, away)

    async def _session(self, intake: Intake, succeeded: Callable[[], None]) -> None:
        from spaseq.service.sources.mqtt_client import MqttClient

        source = f"mqtt {self._client_id} at {self._host}:{self._port}"
        taken, handing = Recent(source, intake.position()), Handing(intake, succeeded)
        async with MqttClient(self._broker(), UNACKNOWLEDGED_MAX) as client:
            if taken.any and not client.session_present:
                _log.warning("%s: the broker no longer has the session: what was sent meanwhile is lost", self._what)
            await client.subscribe(self._topic)
            intake.report("running", None)
            async with Inbox(_new_messages(client, taken)) as inbox:
                while batch := await inbox.batch():
                    for body in bodies_of(batch, self._format):
                        await handing.hand(body.value, body.body_format, body.position)
                        for message in body.messages:
                            client.acknowledge(message.tag)

    def _broker(self) -> Broker:
        from spaseq.service.sources.mqtt_client import Broker

        return Broker(self._host, self._port, self._tls, self._client_id, self._user, self._password)


class Recent:
    """The messages that were taken last: identifier → checksum of topic and content."""

    def __init__(self, source: str, position: bytes | None) -> None:
        self._source = source
        self._sums = dict(position_in(position, source, list[tuple[int, int]]) or ())

    @property
    def any(self) -> bool:
        """True if a message was taken before."""
        return bool(self._sums)

    def is_repeated(self, identifier: int, duplicate: bool, content: bytes) -> bool:
        """True for a message that was taken and comes again; any other is one of the last ones from here on."""
        found = crc32(content)
        if duplicate and self._sums.get(identifier) == found:
            return True
        self._sums.pop(identifier, None)
        self._sums[identifier] = found
        if len(self._sums) > REMEMBERED_MAX:
            del self._sums[next(iter(self._sums))]
        return False

    @property
    def position(self) -> bytes:
        """The position after the last message."""
        return position_text(self._source, list(self._sums.items()))


async def _new_messages(client: MqttClient, taken: Recent) -> AsyncIterator[Message]:
    """The messages that were not taken before; the others are acknowledged again."""
    async for message in client.messages():
        if not message.identifier:
            yield Message(message.value, taken.position)
        elif taken.is_repeated(message.identifier, message.duplicate, message.topic + b"\0" + message.value):
            client.acknowledge(message.identifier)
        else:
            yield Message(message.value, taken.position, message.identifier)
