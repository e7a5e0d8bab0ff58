"""The end of work whose result nobody wants any more: a client has gone, a limit is reached, the process ends.

Whoever begins such work gives `while_wanted` a function that raises NotWanted. Code that may take long calls
`check_wanted` now and then, which calls that function. A context variable holds it, so that it is no parameter. Where
there is none, `check_wanted` only looks at the variable.
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
"""Seconds between two questions of a thread that waits for another one."""
_T = TypeVar("_T")
_current: ContextVar[Callable[[], None] | None] = ContextVar("wanted", default=None)


class NotWanted(BaseException):
    """The result is not wanted any more, or costs more than it may. Handlers of Exception let it pass."""


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
