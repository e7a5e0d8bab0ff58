"""Numbers of the core for metrics."""

from __future__ import annotations

from collections.abc import Mapping

from spaseq.service.core.admission import Admission
from spaseq.service.core.matcher import Matcher
from spaseq.service.log.segmented import SegmentedLog
from spaseq.service.store.database import Database


class Counters:
    """Any thread asks."""

    def __init__(self, matcher: Matcher, log: SegmentedLog, admission: Admission, database: Database) -> None:
        self._matcher, self._log, self._admission, self._database = matcher, log, admission, database

    def now(self) -> Mapping[str, float]:
        """The numbers by name."""
        return {
            "waiting_events": self._matcher.waiting,
            "log_bytes": self._log.size,
            "log_records": self._log.next - 1,
            "dead_letters": self._database.newest_letter(),
            "queries_behind": len(self._matcher.queries.aside),
            "lost_records": self._admission.durable.lost_records,
            "lost_rows": self._admission.durable.lost_rows,
        }
