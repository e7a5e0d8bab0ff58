"""The tally of a job as an accumulator of Spark: tasks add to it, and the driver reads it when the job has ended.

A task that fails adds nothing. Counts of a micro-batch say of which tasks and shards they are, so what Spark runs
again, since a stage's output or an executor is lost, is not counted again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from pyspark import SparkContext, TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from spaseq.runtime.zero_rows.tally import Tally

Part = tuple[str, int]
"""A stage, for which the first has the IRI of the stream that it reads, and the number of a task or shard in it."""
SHARDS, MERGED = "shards", "merged"


@dataclass(slots=True)
class Counted:
    """The tally of some parts of a job; micro-batches follow each other.

    batch   the number of the newest micro-batch
    parts   of it that are counted already
    """

    tally: Tally = field(default_factory=Tally)
    batch: int | None = None
    parts: set[Part] = field(default_factory=set)

    @staticmethod
    def of(tally: Tally, batch: int, part: Part) -> Counted:
        """The tally of one part of a micro-batch."""
        return Counted(tally, batch, {part})

    def add(self, other: Counted) -> None:
        """Count other parts, too, unless they are counted already; a part is counted whole or not at all."""
        if not other.parts or (other.batch == self.batch and other.parts <= self.parts):
            return
        self.parts = other.parts | self.parts if other.batch == self.batch else set(other.parts)
        self.batch = other.batch
        self.tally.add(other.tally)


class Adds(Protocol):
    """An accumulator to which counts are added."""

    def add(self, term: Counted) -> None:
        """Count more."""


class _Added(AccumulatorParam[Counted]):
    """The addition of counts."""

    def zero(self, value: Counted) -> Counted:
        """Counts of nothing."""
        return Counted()

    def addInPlace(self, value1: Counted, value2: Counted) -> Counted:
        """Both as one, the first."""
        value1.add(value2)
        return value1


def task_place() -> tuple[int, int]:
    """The micro-batch of the task that runs, and its number in its stage; 0 of static input, and outside of Spark."""
    context = TaskContext.get()
    if context is None:
        return 0, 0
    return int(context.getLocalProperty("streaming.sql.batchId") or 0), context.partitionId()


def accumulator(context: SparkContext) -> Accumulator[Counted]:
    """Counts of nothing so far, to which the tasks of a context add."""
    return context.accumulator(Counted(), _Added())
