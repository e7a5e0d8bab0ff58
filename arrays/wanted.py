"""An end for work that nobody wants any more: what may take long asks now and then.

The one who began the work says with `while_wanted` how that is known. It is a context variable: no function has to
pass it on. Work that nobody limits pays one look at it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

LOOK_S = 0.05
"""Seconds for which who waits for another thread does not ask."""
_T = TypeVar("_T")
_current: ContextVar[Callable[[], None] | None] = ContextVar("wanted", default=None)


class NotWanted(BaseException):
    """Nobody wants the result any more, or it costs more than it may; no handler of errors takes it for one."""


def check_wanted() -> None:
    """Raises NotWanted, or a kind of it, if the work that goes on here is not wanted any more."""
    ask = _current.get()
    if ask is not None:
        ask()


@contextmanager
def while_wanted(ask: Callable[[], None]) -> Iterator[None]:
    """Inside, `check_wanted` calls `ask`, which raises NotWanted to end the work; what is asked outside counts too."""
    outer = _current.get()

    def both() -> None:
        if outer is not None:
            outer()
        ask()

    token = _current.set(ask if outer is None else both)
    try:
        yield
    finally:
        _current.reset(token)


def awaited(future: Future[_T], seconds: float = math.inf) -> _T:
    """The result of another thread's work; raises TimeoutError if it is not there in so many seconds, NotWanted."""
    until = time.monotonic() + seconds
    while not future.done() and (left := until - time.monotonic()) > 0:
        check_wanted()
        wait((future,), LOOK_S if left > LOOK_S else left)
    return future.result(0)
