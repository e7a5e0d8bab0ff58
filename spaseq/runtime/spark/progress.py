"""Progress of a Spark job: metrics observed in its data, reported by Spark after each micro-batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import listener

from sparql_gpm.reading.event_builder import TRUNCATED
from spaseq.outputs.dead_letters import LATE, MALFORMED

METRICS = "spaseq"
"""The name under which the metrics of `observed` are found in `StreamingQueryProgress.observedMetrics`."""


@dataclass(frozen=True, slots=True)
class BatchMetrics:
    """One micro-batch; its input rows are documents, not events; `newest`: the event time of its last match, if any."""

    batch: int
    input_rows: int
    matches: int
    late: int
    malformed: int
    newest: datetime | None
    seconds: float

    def __str__(self) -> str:
        counts = f"{self.input_rows} rows · {self.matches} matches · {self.late} late · {self.malformed} malformed"
        newest = f" · newest {self.newest.isoformat()}" if self.newest else ""
        return f"micro-batch {self.batch}: {counts} · {self.seconds:.1f} s{newest}"


def observed(outcomes: DataFrame) -> DataFrame:
    """The same outcomes, counted by kind by Spark (`observe`)."""

    def count(name: str, *kinds: str) -> Any:
        return F.count(F.when(F.col("kind").isin(*kinds), 1)).alias(name)

    counts = count("matches", "match"), count("late", LATE), count("malformed", MALFORMED, TRUNCATED)
    newest = F.max(F.when(F.col("kind") == "match", F.col("time_ns"))).alias("newest_ns")
    return outcomes.observe(METRICS, *counts, newest)


class ProgressListener(listener.StreamingQueryListener):
    """Reports the metrics of each micro-batch of `observed` outcomes: `spark.streams.addListener(…)`."""

    def __init__(self, on_batch: Callable[[BatchMetrics], None]) -> None:
        self._on_batch = on_batch

    def onQueryStarted(self, event: listener.QueryStartedEvent) -> None:
        """Nothing to report yet."""

    def onQueryProgress(self, event: listener.QueryProgressEvent) -> None:
        """A micro-batch is done."""
        progress = event.progress
        metrics = progress.observedMetrics.get(METRICS)
        if metrics is None:
            return
        newest = metrics["newest_ns"]
        self._on_batch(
            BatchMetrics(
                progress.batchId,
                progress.numInputRows,
                metrics["matches"],
                metrics["late"],
                metrics["malformed"],
                None if newest is None else datetime.fromtimestamp(newest / 1e9, UTC),
                progress.batchDuration / 1000,
            )
        )

    def onQueryIdle(self, event: listener.QueryIdleEvent) -> None:
        """No input has arrived."""

    def onQueryTerminated(self, event: listener.QueryTerminatedEvent) -> None:
        """Reported by the caller that started the query."""
