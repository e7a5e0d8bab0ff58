"""Folders of Hadoop's file systems, here a view file system over a folder of this machine."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.streaming.datasource import ReadAllAvailable

import spaseq.spark
from kb.prepared_build import build
from kb.source import Source
from spaseq.errors import InputError, RunError
from spaseq.inputs.paths import files_of
from spaseq.inputs.storage import local_copy, storage_of
from spaseq.lang.parse import parse
from spaseq.runtime.spark import elsewhere
from spaseq.runtime.spark.session import as_spaseq_error
from spaseq.runtime.spark.sinks import BatchFiles
from spaseq.runtime.spark.sources.files import FilesStreamReader
from spaseq.runtime.spark.sources.options import read_options
from tests.spark.test_job_record import TEXT
from tests.spark.test_job_record import _event as event

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def view(spark: SparkSession, tmp_path: Path) -> str:
    """The URL of a view of `tmp_path / "far"`; settings are the same for all tests, so that they share workers."""
    (tmp_path / "far").mkdir()
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.impl.disable.cache", "true")
    settings.set("fs.viewfs.mounttable.cluster.link./tests", tmp_path.parent.as_uri())
    return f"viewfs://cluster/tests/{tmp_path.name}/far"


KNOWN = """PREFIX : <http://ex.org/> SELECT ?x ?n ?k WITHIN 60 SECONDS SLIDING PARTITION BY ?x FROM STREAM S1 <http://ex.org/s1>
    FROM NAMED <urn:kb> WHERE { SEQ(A : B) DEFINE GPM A ON S1 { ?x :on ?n . GRAPH <urn:kb> { ?x :kind ?k } }
    DEFINE GPM B ON S1 { ?x :off ?m } }"""
FACT = "<http://ex.org/x> <http://ex.org/kind> <http://ex.org/good> .\n"


@pytest.mark.thorough
def test_streams_and_knowledge_bases_may_be_in_another_file_system(
    spark: SparkSession, tmp_path: Path, view: str
) -> None:
    far = tmp_path / "far"
    (far / "in" / "sub").mkdir(parents=True)
    (far / "kb.nt").write_text(FACT, encoding="utf-8")
    build([str(far / "kb.nt")], far / "kb.kb")
    (far / "in" / "e2.nq").write_text(event(2, "on"), encoding="utf-8")
    (far / "in" / "e10.nq.gz").write_bytes(gzip.compress(event(4, "off").encode()))
    (far / "in" / ".hidden.nq").write_text("no quad\n", encoding="utf-8")
    (far / "in" / "sub" / "f1.nq").write_text(event(6, "on") + event(8, "off"), encoding="utf-8")
    spaseq.spark.register(spark)
    frame = spark.read.format("spaseq").load(f"{view}/in")
    found = spaseq.spark.outcomes(
        spark, parse(KNOWN, "q"), {"S1": frame}, {"urn:kb": f"{view}/kb.kb"}, shards=1, compiled=False
    )
    rows = found.collect()
    assert Counter((row.kind, row.n, row.k) for row in rows) == {
        ("match", f'"{n}"', "<http://ex.org/good>"): count for n, count in (("2", 2), ("6", 1))
    }


def test_a_folder_elsewhere_is_read_in_natural_order_and_what_is_lost_is_told_or_skipped(
    spark: SparkSession, tmp_path: Path, view: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "far" / "in").mkdir()
    for number in (2, 10, 1):
        (tmp_path / "far" / "in" / f"f{number}.nq").write_text(event(number, "on"), encoding="utf-8")
    reader = FilesStreamReader(read_options({"path": f"{view}/in"}))
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    parts = [part for each in reader.partitions(start, end) for part in each.ranges]
    assert [part.file for part in parts] == [f"{view}/in/f{number}.nq" for number in (1, 2, 10)]
    texts = b"".join(text.text for part in parts for text in part.texts()).decode()
    assert texts == "".join(event(number, "on") for number in (1, 2, 10))
    (tmp_path / "far" / "in" / "f2.nq").unlink()
    said = r"of the 3 files that were read, up to .*f10\.nq, 1 are gone"
    with pytest.raises(RunError, match=said):
        FilesStreamReader(read_options({"path": f"{view}/in"})).latestOffset(end, ReadAllAvailable())
    (tmp_path / "far" / "in" / "f11.nq").write_text(event(11, "on"), encoding="utf-8")
    skipping = FilesStreamReader(read_options({"path": f"{view}/in", "onDataLoss": "skip"}))
    there = skipping.latestOffset(end, ReadAllAvailable())
    assert re.search(said, caplog.text)
    parts = [part for each in skipping.partitions(end, there) for part in each.ranges]
    assert [part.file for part in parts] == [f"{view}/in/f11.nq"]
    assert FilesStreamReader(read_options({"path": f"{view}/in"})).latestOffset(there, ReadAllAvailable()) == there


@pytest.mark.parametrize("form", ["kb.nt", "kbs/*.nt", "kbs"])
def test_a_knowledge_base_elsewhere_is_copied(spark: SparkSession, tmp_path: Path, view: str, form: str) -> None:
    (tmp_path / "far" / "kbs").mkdir()
    for name in ("kb.nt", "kbs/one.nt", "kbs/two.nt"):
        (tmp_path / "far" / name).write_text(FACT, encoding="utf-8")
    copied = files_of(local_copy(f"{view}/{form}"))
    assert [Path(name).read_text(encoding="utf-8") for name in copied] == [FACT] * (1 if form == "kb.nt" else 2)
    with pytest.raises(InputError, match="do not know"):
        storage_of(view).files(f"{view}/**/kb.nt")


def test_settings_that_are_the_same_keep_the_workers(spark: SparkSession, view: str) -> None:
    elsewhere.share_settings(spark)
    shared = spark.sparkContext.environment[elsewhere._SETTINGS]
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    elsewhere.share_settings(spark)
    assert spark.sparkContext.environment[elsewhere._SETTINGS] is shared


def test_a_process_without_spark_reads_them_with_the_settings_of_the_driver(
    spark: SparkSession, tmp_path: Path, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far" / "long.nq").write_bytes(bytes(range(256)) * 40_000)
    elsewhere.share_settings(spark)
    monkeypatch.setenv(elsewhere._SETTINGS, spark.sparkContext.environment[elsewhere._SETTINGS])
    program = "from spaseq.runtime.spark import elsewhere; from spaseq.inputs.storage import storage_of; import sys\n"
    program += "far = storage_of(sys.argv[1]); print(far.files(sys.argv[1]), far.size(sys.argv[1]))\n"
    program += "print(sum(far.open(sys.argv[1], 256 * 39_990 + 1).read()))"
    done = subprocess.run(
        [sys.executable, "-c", program, f"{view}/long.nq"], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [f"['{view}/long.nq'] 10240000", str(10 * sum(range(256)))], done.stderr


def test_a_knowledge_base_elsewhere_is_not_looked_at_again(spark: SparkSession, tmp_path: Path, view: str) -> None:
    frame = spark.createDataFrame([], "value string")
    known = {"urn:kb": Source(f"{view}/kb.nt", refresh_s=5)}
    with pytest.raises(InputError, match=r"kb.nt, the knowledge base <urn:kb>, is copied when a job starts"):
        spaseq.spark.outcomes(spark, parse(KNOWN, "q"), {"S1": frame}, known, shards=1)
    with pytest.raises(InputError, match=rf"there is no file {view}/none\.nt"):
        spaseq.spark.outcomes(spark, parse(KNOWN, "q"), {"S1": frame}, {"urn:kb": f"{view}/none.nt"}, shards=1)


def static(spark: SparkSession, folder: Path) -> DataFrame:
    """The outcomes of a job with one match."""
    spaseq.spark.register(spark)
    (folder / "static.nq").write_text(event(0, "on") + event(2, "off"), encoding="utf-8")
    frame = spark.read.format("spaseq").load(str(folder / "static.nq"))
    return spaseq.spark.outcomes(spark, parse(TEXT, "q0"), {"S1": frame}, shards=1, compiled=False)


def test_all_that_a_streaming_job_reads_and_writes_may_be_in_another_file_system(
    spark: SparkSession, tmp_path: Path, view: str
) -> None:
    spaseq.spark.register(spark)
    (tmp_path / "far" / "in").mkdir()
    files = BatchFiles(f"{view}/out", [parse(TEXT, "q0")], dead_letters=f"{view}/late")
    for shards, events in ((1, event(0, "on") + "no quad\n"), (2, event(2, "off"))):
        (tmp_path / "far" / "in" / f"{shards}.nq").write_text(events, encoding="utf-8")
        frame = spark.readStream.format("spaseq").load(f"{view}/in")
        outcomes = spaseq.spark.outcomes(spark, parse(TEXT, "q0"), {"S1": frame}, shards=shards, compiled=False)
        writer = outcomes.writeStream.foreachBatch(files).option("checkpointLocation", f"{view}/state")
        writer.trigger(availableNow=True).start().awaitTermination()
        if shards == 1:
            assert spaseq.spark.rescale(spark, f"{view}/state", 2).kept == f"{view}/state.1-shards"
    (found,) = (tmp_path / "far" / "out").glob("*.ndjson")
    assert json.loads(found.read_text(encoding="utf-8"))["bindings"]["n"]["value"] == "0"
    assert [path.name for path in (tmp_path / "far" / "late").glob("*.ndjson")] == ["batch-00000000.ndjson"]


def test_a_file_that_is_written_again_replaces_the_first(spark: SparkSession, tmp_path: Path, view: str) -> None:
    files, outcomes = BatchFiles(f"{view}/out", [parse(TEXT, "q0")]), static(spark, tmp_path).cache()
    for _ in range(2):
        files(outcomes, 7)
    (line,) = (tmp_path / "far" / "out" / "batch-00000007.ndjson").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["bindings"]["n"]["value"] == "0"
    (tmp_path / "far" / "out" / "._query.crc").unlink()
    (tmp_path / "far" / "out" / "_query").write_text("another", encoding="utf-8")
    with pytest.raises(InputError, match=rf"{view}/out has the files of another query \(another\)"):
        files(outcomes, 8)


def test_a_file_system_that_is_not_there_is_told_in_hadoops_words(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"s3a://bucket/out: .*S3AFileSystem not found"):
        BatchFiles("s3a://bucket/out", [parse(TEXT, "q0")])(static(spark, tmp_path), 0)
    with pytest.raises(PySparkException) as caught:
        spark.read.format("spaseq").load("s3a://bucket/in").count()
    assert "S3AFileSystem not found" in as_spaseq_error(caught.value).message
