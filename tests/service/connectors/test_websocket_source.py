"""The messages of a WebSocket as a source, from a real server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from websockets.asyncio.server import Server, ServerConnection, serve

from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sources.websocket import WebSocketSource
from tests.service.connectors.ends import Taken, quads, running
from tests.waiting import until


@dataclass
class Speaker:
    """Sends to each connection what is in its queue, texts and bytes in turn."""

    queue: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    port: int = 0

    async def speak(self, connection: ServerConnection) -> None:
        number = 0
        while (value := await self.queue.get()) is not None:
            await connection.send(value.decode() if number % 2 else value)
            number += 1

    async def start(self) -> Server:
        server = await serve(self.speak, "127.0.0.1", self.port)
        self.port = next(iter(server.sockets)).getsockname()[1]
        return server


def test_messages_come_in_order_over_connections_and_absences() -> None:
    taken = Taken()

    async def run() -> None:
        speaker = Speaker()
        server = await speaker.start()
        settings = SourceSettings(websocket=f"ws://127.0.0.1:{speaker.port}/events")
        async with running(WebSocketSource("power", settings), taken):
            for value in quads(0, 300):
                speaker.queue.put_nowait(value)
            speaker.queue.put_nowait(None)
            for value in quads(300, 310):
                speaker.queue.put_nowait(value)
            await until(lambda: len(taken.lines) == 620)
            server.close()
            speaker.queue.put_nowait(None)
            await server.wait_closed()
            await until(lambda: taken.said("waiting", "Connect call failed") or taken.said("waiting", "refused"))
            server = await speaker.start()
            for value in quads(310, 320):
                speaker.queue.put_nowait(value)
            await until(lambda: len(taken.lines) == 640)
        speaker.queue.put_nowait(None)
        server.close()
        await server.wait_closed()

    asyncio.run(run())
    assert taken.text == b"".join(quads(0, 320))


def test_the_server_is_held_up_while_there_is_no_room() -> None:
    taken, sent, count = Taken(full=True), 0, 200

    async def flood(connection: ServerConnection) -> None:
        nonlocal sent
        for number in range(count):
            await connection.send(b'<urn:s> <urn:p> "%d%s" <urn:e%d> .\n' % (number, b"x" * 100_000, number))
            sent += 1
        await connection.wait_closed()

    async def run() -> None:
        async with serve(flood, "127.0.0.1", 0, compression=None) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            async with running(WebSocketSource("p", SourceSettings(websocket=f"ws://127.0.0.1:{port}")), taken):
                await until(lambda: taken.said("waiting", "the queue is full"))
                before = -1
                while before != sent:
                    before = sent
                    await asyncio.sleep(0.2)
                assert sent < count
                taken.full = False
                await until(lambda: taken.bodies and b"<urn:e199>" in taken.bodies[-1][0])

    asyncio.run(run())
    assert len(taken.lines) == count
