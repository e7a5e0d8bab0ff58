"""The progress of long work, counted by the work and read by the one who began it with `counted`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Progress:
    """The number of parts (events, records, attempts) of some work that are done, and the number of all known parts.

    The work finds more parts as it goes on, so `of` grows.
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
