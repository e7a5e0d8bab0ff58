"""Attempts that go on for ever, with pauses that grow while they fail."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from spaseq.errors import SPAseqError

PAUSE_S_MIN, PAUSE_S_MAX = 0.1, 30.0
"""Before the n-th attempt without success a random time up to MIN * 2**n, at most MAX, and at least half of that."""
ASKED_S_MAX = 300.0
"""The longest pause that the other side may ask for."""
_MESSAGE_MAX = 500
State = Literal["connecting", "running", "waiting", "failed"]
"""Waiting: for the other side, or for room, which passes. Failed: the user has to do something; attempts go on."""
Report = Callable[[State, str | None], None]
_log = logging.getLogger(__name__)


class Failed(Exception):
    """A failure that passes only if the user does something: the text says what."""


class Away(Exception):
    """The other side is not there, or asks for a pause of `after_s` seconds."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = min(after_s, ASKED_S_MAX)


class Pauses:
    """The pauses between attempts; they begin anew after a success."""

    def __init__(self) -> None:
        self.failures = 0

    def succeeded(self) -> None:
        """The next pause is a short one."""
        self.failures = 0

    def next_s(self, least: float = 0.0) -> float:
        """The seconds until the next attempt."""
        self.failures += 1
        longest = min(PAUSE_S_MAX, PAUSE_S_MIN * 2 ** min(self.failures, 20))
        return max(least, random.uniform(longest / 2, longest))

    async def pause(self, least: float = 0.0) -> None:
        """Wait until the next attempt."""
        await asyncio.sleep(self.next_s(least))


class Session(Protocol):
    """One connection from its beginning to its end; it says when it has got anywhere."""

    def __call__(self, succeeded: Callable[[], None], /) -> Awaitable[None]:
        """Go on until another one is needed at once, or raise for the reason that none goes on."""


async def keep_up(what: str, session: Session, report: Report, away: tuple[type[Exception], ...]) -> None:
    """Run sessions one after the other, for ever.

    what    for messages: "stream power, kafka localhost:9092"
    away    the errors by which the libraries say that the other side is not there
    """
    pauses = Pauses()
    while True:
        report("connecting", None)
        least = 0.0
        state: State = "waiting"
        try:
            await session(pauses.succeeded)
            continue
        except (Failed, SPAseqError) as failure:
            state, error = "failed", told(failure)
        except Away as absence:
            error, least = str(absence), absence.after_s
        except away as absence:
            error = told(absence)
        except Exception as bug:  # whatever it is, the next attempt may do without it, and the service goes on
            state, error = "failed", f"{type(bug).__name__}: {told(bug)}"
            _log.exception("%s: an unexpected error; it is tried again", what)
        if pauses.failures == 0:
            _log.warning("%s: %s; it is tried again", what, error)
        report(state, error)
        await pauses.pause(least)


def told(error: BaseException) -> str:
    """The text of an error, or its kind where it has none."""
    return (str(error) or type(error).__name__)[:_MESSAGE_MAX]
