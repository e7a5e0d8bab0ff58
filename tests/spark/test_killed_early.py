"""A job that was killed before its first micro-batch began is started again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import spaseq.spark
from tests.spark.test_rescaling import SIX, Job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANAGERS = ["FileSystemBasedCheckpointFileManager", "FileContextBasedCheckpointFileManager"]
"""Those of a session of ours on one machine, and of any other."""


def _unfinished(spark: SparkSession, path: Path, manager: str) -> None:
    """The rest of a checkpoint's file when Spark is killed while it writes it, by one of these managers."""
    assert spark._jvm is not None
    managers = spark._jvm.org.apache.spark.sql.execution.streaming.checkpointing
    where = spark._jvm.org.apache.hadoop.fs.Path(path.as_uri())
    writer = getattr(managers, manager)(where, spark._jsparkSession.sessionState().newHadoopConf())
    writer.mkdirs(where.getParent())
    stream = writer.createAtomic(where, False)
    stream.write(b"v1\n{")
    stream.flush()


def test_a_job_killed_while_it_writes_its_first_offsets_is_started_again(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(spark, tmp_path)
    offsets = Path(job.checkpoint, "offsets")
    for manager in MANAGERS:
        _unfinished(spark, offsets / "0", manager)
    assert len(list(offsets.glob(".0.*.tmp"))) == 2
    assert job.run(2, "on") == []
    assert job.run(2, "off") == SIX


@pytest.mark.parametrize("manager", MANAGERS)
def test_a_checkpoint_with_a_micro_batch_is_left_as_it_is(spark: SparkSession, tmp_path: Path, manager: str) -> None:
    spaseq.spark.prepare_checkpoint(spark, str(tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []
    offsets = tmp_path / "state" / "offsets"
    _unfinished(spark, offsets / "1", manager)
    (offsets / "0").write_text("v1\n{}\n{}", encoding="utf-8")
    before = sorted(offsets.iterdir())
    spaseq.spark.prepare_checkpoint(spark, str(tmp_path / "state"))
    assert sorted(offsets.iterdir()) == before
