"""A fixed sample of random pairs on real Spark, streaming; `python -m tests.spark.spark_pairs` has more."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from tests.spark.spark_pairs import difference, numbered, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIRS = 23
"""One of each kind."""


def test_random_pairs_give_the_rows_of_the_reference(spark: SparkSession) -> None:
    pairs = list(islice(numbered(1, 1000), PAIRS))
    rows = rows_of(spark, pairs, Random(1), static=False)
    assert rows and difference(pairs, rows) is None, difference(pairs, rows)


def test_a_row_that_is_missing_is_a_difference() -> None:
    pairs = list(islice(numbered(1, 0), PAIRS))
    assert "the reference alone" in (difference(pairs, []) or "")
