"""The head of an answer and its body leave with one call."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from spaseq.service.http.protocol import JoinedWrites


class _Transport:
    """A transport that remembers the calls."""

    def __init__(self) -> None:
        self.calls: list[bytes | None] = []

    def write(self, data: bytes) -> None:
        """Remember what is sent."""
        self.calls.append(data)

    def close(self) -> None:
        """Remember the end."""
        self.calls.append(None)

    def is_closing(self) -> bool:
        """True after the end."""
        return None in self.calls


async def _written(*turns: tuple[bytes | None, ...]) -> list[bytes | None]:
    """The calls of a transport to which this is written, and None closes it, in so many turns of the loop."""
    transport = _Transport()
    joined = JoinedWrites(cast(Any, transport), asyncio.get_running_loop())
    for turn in turns:
        for data in turn:
            if data is None:
                joined.close()
            else:
                joined.write(data)
        await asyncio.sleep(0)
    assert joined.is_closing() == transport.is_closing()
    return transport.calls


def test_two_parts_of_one_turn_are_one_call() -> None:
    assert asyncio.run(_written((b"head", b"body"), (b"head 2", b"body 2"))) == [b"headbody", b"head 2body 2"]


def test_a_part_alone_is_sent_at_the_end_of_its_turn() -> None:
    assert asyncio.run(_written((b"head",), (b"one", b"two", b"three"))) == [b"head", b"onetwo", b"three"]


def test_what_waits_is_sent_before_the_end() -> None:
    assert asyncio.run(_written((b"head", None))) == [b"head", None]
