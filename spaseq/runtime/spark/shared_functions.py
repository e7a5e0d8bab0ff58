"""Python functions that several streaming queries may run at once.

Two queries over one plan, or one source, share its functions, and Spark writes into a function's environment as it
starts a query. The map that pyspark gives it is a HashMap: written while another query's tasks are being sent, it
reaches them broken (java.io.OptionalDataException).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def shared_functions(spark: SparkSession) -> Iterator[None]:
    """A context in which the functions made for Spark have an environment that any thread may read and write."""
    context = spark.sparkContext
    own = context.environment
    assert context._jvm is not None
    shared = context._jvm.java.util.concurrent.ConcurrentHashMap()
    for name, value in own.items():
        shared.put(name, value)
    context.environment = shared
    try:
        yield
    finally:
        context.environment = own
