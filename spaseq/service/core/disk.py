"""The part of the service that waits for the disk now."""

from __future__ import annotations

import time

from spaseq.service.core.copies import KnowledgeSources
from spaseq.service.core.matcher import Matcher
from spaseq.service.core.storing import Storing
from spaseq.service.errors import Refused
from spaseq.service.log.segmented import SegmentedLog
from spaseq.service.store.faults import AGAIN_S, in_words

SLOW_S = 1.0
"""Seconds of one write after which the disk is said to be slow."""
LOG, ROWS, SNAPSHOT, KNOWLEDGE = "log", "rows", "snapshot", "knowledge base"
"""Names of what may wait, beside queries: what is accepted, rows and dead letters, the state, a copy to be used."""

ALWAYS = (LOG, ROWS, SNAPSHOT)
"""Names of what every service has."""


class Disk:
    """All that waits for the disk, by name, each with the reason; any thread asks."""

    def __init__(self, log: SegmentedLog, storing: Storing, matcher: Matcher, sources: KnowledgeSources) -> None:
        self._log, self._storing, self._matcher, self._sources = log, storing, matcher, sources

    def waiting(self) -> dict[str, str]:
        """All that waits, and why: the log, rows, a snapshot, queries that catch up."""
        found = {what: f"the disk is slow: a write has gone on for {seconds:.0f} s" for what, seconds in self._slow()}
        found |= self._hindrances()
        if self._matcher.save_fault:
            found[SNAPSHOT] = self._matcher.save_fault
        if self._sources.fault:
            found[KNOWLEDGE] = self._sources.fault
        for group in list(self._matcher.queries.aside):
            if group.fault and not group.pausing:
                names = [name for name, running in list(group.members.items()) if not running.shadow]
                found |= {f"query {name}": group.fault for name in names}
        return found

    def shown(self) -> list[dict[str, str]]:
        """`waiting` as JSON."""
        return [{"what": what, "reason": reason} for what, reason in self.waiting().items()]

    def check(self) -> None:
        """Refused (503) while nothing can be accepted, or no row can be stored."""
        if hindrances := self._hindrances():
            headers = {"Retry-After": str(AGAIN_S)}
            detail = "; ".join(f"{what} cannot be written: {reason}" for what, reason in hindrances.items())
            raise Refused(503, "The disk fails", detail, members={"waiting": self.shown()}, headers=headers)

    def _hindrances(self) -> dict[str, str]:
        found = {} if (fault := self._log.fault) is None else {LOG: in_words(fault)}
        return found | ({ROWS: self._storing.fault} if self._storing.fault else {})

    def _slow(self) -> list[tuple[str, float]]:
        begun = {LOG: self._log.writing_since, ROWS: self._storing.writing_since}
        now = time.monotonic()
        return [(what, now - since) for what, since in begun.items() if since is not None and now - since > SLOW_S]
