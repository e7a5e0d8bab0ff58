"""The bound on what waits for a paused query."""

from __future__ import annotations

from spaseq.runtime.embedded.audience import Audience
from spaseq.runtime.embedded.stopped import Stopped

PAUSED_EVENTS_MAX = 1_000_000
"""Events that wait for a paused query; with more it is stopped."""


class TooManyWaiting(Exception):
    """More events wait for a paused query than it may have."""

    hint = "resume it sooner, or replace it with keep='window' once it is to go on"


def waits_too_long(audience: Audience, stopped: Stopped) -> bool:
    """True if too many events wait for a paused query, which is stopped, with the reason, and paused no more."""
    if audience.input.waiting <= PAUSED_EVENTS_MAX:
        return False
    audience.paused = False
    for reader in audience.readers:
        stopped.stop(reader, TooManyWaiting(f"more than {PAUSED_EVENTS_MAX:,} events wait for it"))
    return True
