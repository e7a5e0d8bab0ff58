"""The progress of long work: whoever began it with `counted` reads how far it came; it need not pass that on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Progress:
    """The parts of some work that are done, of those that are known: events, records of a log, attempts.

    Work learns of its parts as it goes on, so that `of` grows.
    """

    done: int = 0
    of: int = 0


_current: ContextVar[Progress | None] = ContextVar("progress", default=None)


def expect(parts: int) -> None:
    """More parts of the work that goes on here are known."""
    if (progress := _current.get()) is not None:
        progress.of += parts


def advance(parts: int = 1) -> None:
    """Parts that were expected are done."""
    if (progress := _current.get()) is not None:
        progress.done += parts


@contextmanager
def counted(progress: Progress) -> Iterator[None]:
    """Inside, the parts of the work are counted here."""
    token = _current.set(progress)
    try:
        yield
    finally:
        _current.reset(token)
