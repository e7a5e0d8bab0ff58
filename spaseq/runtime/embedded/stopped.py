"""Queries of a network that were stopped, each for a reason."""

from __future__ import annotations

from spaseq.errors import RunError
from spaseq.runtime.embedded.audience import Reader


class Stopped(dict[str, Exception]):
    """The reasons of the queries that have been stopped since these were taken, by name."""

    def stop(self, reader: Reader, reason: Exception) -> None:
        """Stops a query."""
        reader.stop(reason)
        self[reader.query.name] = reason

    def take(self) -> dict[str, Exception]:
        """The reasons, which are not told again."""
        taken = dict(self)
        self.clear()
        return taken

    def raise_any(self) -> None:
        """Raises RunError with the first reason, if there is one."""
        if self:
            stopped = self.take()
            names, reason = ", ".join(f"'{name}'" for name in stopped), next(iter(stopped.values()))
            who = f"query {names} was" if len(stopped) == 1 else f"queries {names} were"
            raise RunError(f"{who} stopped: {reason}", hint=getattr(reason, "hint", ""))
