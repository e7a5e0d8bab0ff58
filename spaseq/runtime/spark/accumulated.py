"""The tally of a job as an accumulator of Spark: tasks add to it, and the driver reads it when the job has ended.

A task that fails adds nothing. A stage that Spark runs again, since what it wrote is lost, is counted again.
"""

from __future__ import annotations

from typing import Protocol

from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from spaseq.runtime.zero_rows.tally import Tally


class Adds(Protocol):
    """An accumulator to which tallies are added."""

    def add(self, term: Tally) -> None:
        """Count one more."""


class _Added(AccumulatorParam[Tally]):
    """The addition of tallies."""

    def zero(self, value: Tally) -> Tally:
        """A tally of nothing."""
        return Tally()

    def addInPlace(self, value1: Tally, value2: Tally) -> Tally:
        """Both as one, the first."""
        value1.add(value2)
        return value1


def accumulator(context: SparkContext) -> Accumulator[Tally]:
    """A tally of nothing so far, to which the tasks of a context add."""
    return context.accumulator(Tally(), _Added())
