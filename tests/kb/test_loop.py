"""Requests to endpoints that are not wanted any more."""

from __future__ import annotations

import asyncio
import threading

import pytest

from arrays.wanted import NotWanted, while_wanted
from kb.loop import LoopThread
from tests.waiting import PATIENCE_S


def test_a_request_that_is_not_wanted_any_more_is_cancelled_and_the_next_one_is_answered() -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def answered_never() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def answered() -> int:
        return 7

    def ask() -> None:
        if begun.is_set():
            raise NotWanted

    loop = LoopThread()
    with pytest.raises(NotWanted), while_wanted(ask):
        loop.run(answered_never())
    assert cancelled.wait(PATIENCE_S)
    assert loop.run(answered()) == 7
    loop.close()
