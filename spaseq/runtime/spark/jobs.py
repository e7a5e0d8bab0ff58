"""A streaming job over `format("spaseq")`: from the options of its sources to a function that takes its output."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spaseq.runtime.spark.progress import BatchMetrics, ProgressListener, observed
from spaseq.runtime.spark.session import as_spaseq_error
from spaseq.runtime.spark.sinks import BatchOutput
from spaseq.runtime.spark.sources import register

Take = Callable[[BatchOutput, int], None]
"""Takes the output of a micro-batch and its number."""


class RunningJob:
    """A streaming query that ends by itself."""

    def __init__(self, spark: SparkSession, query: StreamingQuery, listener: ProgressListener) -> None:
        self._spark, self._query, self._listener = spark, query, listener

    def wait(self, seconds: int) -> bool:
        """True if it ended within so many seconds; raises its failure as an SPAseqError."""
        return ended(self._query, seconds)

    def stop(self) -> None:
        """End it, and the listening."""
        self._query.stop()
        self._spark.streams.removeListener(self._listener)


def ended(query: StreamingQuery, seconds: int | None = None) -> bool:
    """True once a streaming query has ended, False after so many seconds; raises its failure as an SPAseqError."""
    try:
        return query.awaitTermination(seconds) is not False
    except PySparkException as error:
        raise as_spaseq_error(error) from error


def streams_of(spark: SparkSession, sources: Mapping[str, Mapping[str, str]], *, end: bool) -> dict[str, DataFrame]:
    """A streaming DataFrame for each stream, from the options of its source; `end`: its end is signalled."""
    register(spark)
    more = {"end": "true"} if end else {}
    return {
        iri: spark.readStream.format("spaseq").options(**options, **more).load() for iri, options in sources.items()
    }


def start(outcomes: DataFrame, checkpoint: str, take: Take, on_batch: Callable[[BatchMetrics], None]) -> RunningJob:
    """Starts to read all existing input; `take` is called with the output and the number of each micro-batch."""
    spark = outcomes.sparkSession
    listener = ProgressListener(on_batch)
    spark.streams.addListener(listener)
    query = (
        observed(outcomes)
        .writeStream.queryName("spaseq")
        .foreachBatch(lambda batch, number: take(BatchOutput.of(batch), number))
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    return RunningJob(spark, query, listener)
