"""A fixed sample of the conformance cases on real Spark, with every one that has an upstream query.

`python -m tests.spark.spark_cases` has all of them, each in every way to run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.cases import OWN, case_folders, every_case
from tests.spark.spark_cases import SHARDS, construct, differing, jobs, sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOBS = jobs(sample())
WAYS = [(number, SHARDS[number % 2], bool(number)) for number in range(len(JOBS))]
"""Of each run the job's number, the shards, and whether its input is static: the first is streaming."""


@pytest.mark.parametrize(("job", "shards", "static"), WAYS)
def test_cases_give_their_rows(spark: SparkSession, job: int, shards: int, static: bool) -> None:
    rows, other = differing(spark, JOBS[job], shards, static)
    assert rows and not other


def test_the_sample_has_every_upstream_query_and_every_construct() -> None:
    chosen = [case for job in JOBS for case in job]
    assert {case for case in every_case() if len(case.queries) > 1} <= set(chosen)
    assert {construct(case) for case in case_folders(OWN)} == {construct(c) for c in chosen if c.folder.parent == OWN}
