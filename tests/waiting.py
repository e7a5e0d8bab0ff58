"""Waiting in tests: for an event, never for a time that a busy machine may exceed."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable

PATIENCE_S = 600.0
"""What no wait exceeds on a machine however busy: only a test that hangs ends by it."""


def waited(condition: Callable[[], object], pause_s: float = 0.005) -> None:
    """Wait until a condition holds; a condition that cannot hold any more may fail by itself."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"it did not come within {PATIENCE_S:.0f} s"
        time.sleep(pause_s)


def listens(port: int) -> bool:
    """True if something accepts connections at a port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S).close()
    except OSError:
        return False
    return True


async def until(condition: Callable[[], object]) -> None:
    """`waited`, in a coroutine."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)
