"""Shards are spread evenly over tasks: Spark's own hash is the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spaseq.runtime.spark.placement import key_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_hash_of_the_key_of_a_shard_is_its_number(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    shards = [*range(300), 2**31 - 1]
    keys = spark.createDataFrame([(shard, key_of(shard)) for shard in shards], "shard int, key bigint")
    assert [tuple(row) for row in keys.select("shard", F.hash("key")).collect()] == [(n, n) for n in shards]


@pytest.mark.parametrize("partitions", [2, 3, 8])
def test_shards_are_spread_over_the_partitions(spark: SparkSession, partitions: int) -> None:
    from pyspark.sql import functions as F

    keys = spark.createDataFrame([(shard, key_of(shard)) for shard in range(24)], "shard int, key bigint")
    found = keys.repartition(partitions, "key").select("shard", F.spark_partition_id()).collect()
    assert {tuple(row) for row in found} == {(shard, shard % partitions) for shard in range(24)}
