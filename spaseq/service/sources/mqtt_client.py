"""A connection to an MQTT 5 broker, with acknowledgements when we say so; paho-mqtt's thread does the rest."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from spaseq.service.peers.pauses import Away, Failed

CONNECT_S_MAX = 10.0
KEEP_ALIVE_S = 15
"""After one and a half times as long without an answer the broker is taken for away."""
SESSION_S = 7 * 86_400
"""For which the broker keeps the session, and what comes for it, while we are away."""
UNSURE_MAX = 10_000
"""Messages of quality of service 0 that may wait; more are dropped, as that quality allows."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MqttMessage:
    """A message; `identifier` is 0 for quality of service 0, `duplicate` if the broker may have sent it before."""

    topic: bytes
    value: bytes
    identifier: int
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker, and who we are to it."""

    host: str
    port: int
    tls: bool
    client_id: str
    user: str | None = None
    password: str | None = None


class MqttClient:
    """A connection, from `async with` to its end; Away or Failed where it cannot be made.

    unacknowledged  messages that the broker sends before it waits for acknowledgements
    session_present     the broker still has the session of the last connection
    """

    def __init__(self, broker: Broker, unacknowledged: int) -> None:
        self.session_present = False
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._connected: asyncio.Future[bool] = self._loop.create_future()
        self._subscribed: asyncio.Future[ReasonCode] = self._loop.create_future()
        self._messages: asyncio.Queue[MqttMessage | Exception] = asyncio.Queue()
        self._dropped = 0
        self._properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        self._properties.SessionExpiryInterval = SESSION_S
        self._properties.ReceiveMaximum = unacknowledged
        client = Client(
            CallbackAPIVersion.VERSION2, broker.client_id, protocol=MQTTv5, reconnect_on_failure=False, manual_ack=True
        )
        client.connect_timeout = CONNECT_S_MAX
        if broker.user is not None:
            client.username_pw_set(broker.user, broker.password)
        if broker.tls:
            client.tls_set_context(ssl.create_default_context())
        client.on_connect, client.on_disconnect = self._on_connect, self._on_disconnect
        client.on_subscribe, client.on_message = self._on_subscribe, self._on_message
        self._client = client

    async def __aenter__(self) -> MqttClient:
        await asyncio.to_thread(self._connect)
        try:
            async with asyncio.timeout(CONNECT_S_MAX):
                self.session_present = await self._connected
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.disconnect()
        await asyncio.to_thread(self._client.loop_stop)

    async def subscribe(self, topic: str) -> None:
        """Have the messages of a topic with quality of service 1; retained ones once for a session."""
        once = SubscribeOptions.RETAIN_SEND_IF_NEW_SUB
        self._client.subscribe(topic, options=SubscribeOptions(qos=1, retainHandling=once))
        async with asyncio.timeout(CONNECT_S_MAX):
            reason = await self._subscribed
        if reason.is_failure:
            raise Failed(f"the broker refuses the topic {topic}: {reason}")

    async def messages(self) -> AsyncIterator[MqttMessage]:
        """The messages as they come; raises Away when the connection ends."""
        while True:
            found = await self._messages.get()
            if isinstance(found, Exception):
                raise found
            yield found

    def acknowledge(self, identifier: int) -> None:
        """Let the broker forget a message; nothing happens where the connection is no longer there."""
        if identifier:
            self._client.ack(identifier, 1)

    # --- paho-mqtt's thread -----------------------------------------------------------------------

    def _connect(self) -> None:
        broker = self._broker
        self._client.connect(broker.host, broker.port, KEEP_ALIVE_S, clean_start=False, properties=self._properties)
        self._client.loop_start()

    def _on_connect(
        self, client: Client, data: Any, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        error = Away(f"the broker refuses the connection: {reason}") if reason.is_failure else None
        self._tell(self._settle, self._connected, flags.session_present, error)

    def _on_disconnect(
        self, client: Client, data: Any, flags: DisconnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        error = Away(f"the connection ended: {reason}")
        self._tell(self._messages.put_nowait, error)
        self._tell(self._settle, self._connected, False, error)
        self._tell(self._settle, self._subscribed, None, error)

    def _on_subscribe(
        self, client: Client, data: Any, identifier: int, reasons: list[ReasonCode], properties: Properties | None
    ) -> None:
        self._tell(self._settle, self._subscribed, reasons[0], None)

    def _on_message(self, client: Client, data: Any, message: MQTTMessage) -> None:
        identifier = message.mid if message.qos else 0
        value = MqttMessage(message.topic.encode(), bytes(message.payload), identifier, message.dup)
        self._tell(self._take, value)

    def _tell(self, function: Any, *arguments: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    # --- the loop's thread ------------------------------------------------------------------------

    def _take(self, message: MqttMessage) -> None:
        if message.identifier or self._messages.qsize() < UNSURE_MAX:
            self._messages.put_nowait(message)
            return
        self._dropped += 1
        if self._dropped.bit_count() == 1:
            _log.warning("%s: %d messages of quality of service 0 dropped", self._broker.host, self._dropped)

    @staticmethod
    def _settle(future: asyncio.Future[Any], value: Any, error: Exception | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
            future.exception()  # nobody may be waiting for it
