"""Folders of Hadoop's file systems, here a view file system over a folder of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import spaseq.spark
from spaseq.errors import InputError, RunError
from spaseq.lang.parse import parse
from spaseq.runtime.spark.sinks import BatchFiles
from tests.spark.test_job_record import TEXT
from tests.spark.test_job_record import _event as event

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def view(spark: SparkSession, tmp_path: Path) -> str:
    """The URL of a view of `tmp_path / "far"`."""
    (tmp_path / "far").mkdir()
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.impl.disable.cache", "true")
    settings.set("fs.viewfs.mounttable.cluster.link./far", (tmp_path / "far").as_uri())
    return "viewfs://cluster/far"


def static(spark: SparkSession, folder: Path) -> DataFrame:
    """The outcomes of a job with one match."""
    spaseq.spark.register(spark)
    (folder / "static.nq").write_text(event(0, "on") + event(2, "off"), encoding="utf-8")
    frame = spark.read.format("spaseq").load(str(folder / "static.nq"))
    return spaseq.spark.outcomes(spark, parse(TEXT, "q0"), {"S1": frame}, shards=1)


def test_matches_dead_letters_and_state_may_be_in_another_file_system(
    spark: SparkSession, tmp_path: Path, view: str
) -> None:
    spaseq.spark.register(spark)
    (tmp_path / "in").mkdir()
    files = BatchFiles(f"{view}/out", [parse(TEXT, "q0")], dead_letters=f"{view}/late")
    for shards, events in ((2, event(0, "on") + "no quad\n"), (4, event(2, "off"))):
        (tmp_path / "in" / f"{shards}.nq").write_text(events, encoding="utf-8")
        frame = spark.readStream.format("spaseq").load(str(tmp_path / "in"))
        outcomes = spaseq.spark.outcomes(spark, parse(TEXT, "q0"), {"S1": frame}, shards=shards)
        writer = outcomes.writeStream.foreachBatch(files).option("checkpointLocation", f"{view}/state")
        writer.trigger(availableNow=True).start().awaitTermination()
        if shards == 2:
            assert spaseq.spark.rescale(spark, f"{view}/state", 4).kept == f"{view}/state.2-shards"
    (found,) = (tmp_path / "far" / "out").glob("*.ndjson")
    assert json.loads(found.read_text(encoding="utf-8"))["bindings"]["n"]["value"] == "0"
    assert [path.name for path in (tmp_path / "far" / "late").glob("*.ndjson")] == ["batch-00000000.ndjson"]


def test_a_file_that_is_written_again_replaces_the_first(spark: SparkSession, tmp_path: Path, view: str) -> None:
    files, outcomes = BatchFiles(f"{view}/out", [parse(TEXT, "q0")]), static(spark, tmp_path)
    for _ in range(2):
        files(outcomes, 7)
    (line,) = (tmp_path / "far" / "out" / "batch-00000007.ndjson").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["bindings"]["n"]["value"] == "0"
    (tmp_path / "far" / "out" / "._query.crc").unlink()
    (tmp_path / "far" / "out" / "_query").write_text("another", encoding="utf-8")
    with pytest.raises(InputError, match=r"viewfs://cluster/far/out has the files of another query \(another\)"):
        files(outcomes, 8)


def test_a_file_system_that_is_not_there_is_told_in_hadoops_words(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"s3a://bucket/out: .*S3AFileSystem not found"):
        BatchFiles("s3a://bucket/out", [parse(TEXT, "q0")])(static(spark, tmp_path), 0)
