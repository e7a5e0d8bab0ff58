"""Bodies on their way into a stream, one after the other."""

from __future__ import annotations

from collections.abc import Callable

from spaseq.service.peers.pauses import Pauses
from spaseq.service.sources.intake import Full, Intake


class Handing:
    """Hands over bodies; while there is no room it waits, and nothing is read meanwhile.

    succeeded   is called for each body that is on disk
    """

    def __init__(self, intake: Intake, succeeded: Callable[[], None]) -> None:
        self._intake, self._succeeded = intake, succeeded

    async def hand(self, body: bytes, body_format: str, position: bytes) -> None:
        """Return when the body is on disk."""
        pauses = Pauses()
        while True:
            try:
                await self._intake.accept(body, body_format, position)
            except Full as full:
                self._intake.report("waiting", str(full))
                await pauses.pause()
                continue
            if pauses.failures:
                self._intake.report("running", None)
            self._succeeded()
            return
