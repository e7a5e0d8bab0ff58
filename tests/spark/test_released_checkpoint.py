"""A job goes on from the checkpoint that release 0.1.0 wrote."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.states.release import EVENTS, HALF, PLACE, SPARK, job, moved, on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITTEN = Path(__file__).parents[1] / "states" / "0.1.0"


def test_a_job_goes_on_from_a_checkpoint_of_the_release_whatever_the_planner_chooses_now(
    spark: SparkSession, tmp_path: Path
) -> None:
    with tarfile.open(WRITTEN / "spark.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    moved(tmp_path / "checkpoint", PLACE, str(tmp_path))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.nq").write_text(on_spark(EVENTS[:HALF]))
    found = job(spark, tmp_path, on_spark(EVENTS[HALF:]), compiled=True)
    assert found == (WRITTEN / "spark.rows").read_text().splitlines()
    assert all(any(f"query='{name}'" in row for row in found) for name in SPARK)
