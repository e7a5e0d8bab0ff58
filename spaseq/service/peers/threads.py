"""Calls that wait for the disk, on threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

_Result = TypeVar("_Result")


async def in_thread(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """The result of a function, called on a thread; cancelled, it ends when the function has ended."""
    calling = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(calling)
    except asyncio.CancelledError:
        await asyncio.wait([calling])
        if not calling.cancelled():
            calling.exception()  # nobody else asks for it
        raise
