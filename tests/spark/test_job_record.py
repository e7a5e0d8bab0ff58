"""A checkpoint names its job: another job is refused by what differs, with the way out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from pyspark.errors import PySparkException

import spaseq.spark
from sparql_gpm.dictionary import Dictionary
from spaseq.engine import staged
from spaseq.errors import RunError
from spaseq.lang.parse import parse
from spaseq.runtime.spark.job_record import JobRecord
from spaseq.runtime.spark.session import as_spaseq_error
from spaseq.runtime.spark.shard import SavedShard
from spaseq.runtime.state.saved_states import NetworkState
from spaseq.runtime.state.snapshot import VERSION, dumps, loads
from tests.spark.pipeline import job_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = """PREFIX : <http://ex.org/> SELECT ?x ?n WITHIN 60 SECONDS SLIDING PARTITION BY ?x FROM STREAM S1 <http://ex.org/s1>
    WHERE { SEQ(A : B) DEFINE GPM A ON S1 { ?x :on ?n } DEFINE GPM B ON S1 { ?x :off ?m } }"""
TWO = TEXT.replace("WHERE", "FROM STREAM S2 <http://ex.org/s2> WHERE")
SAME = "# a comment\n" + TEXT.replace("PREFIX : ", "PREFIX p: ").replace(":on", "p:on").replace(":off", "p:off")


def job(*texts: str, shards: int = 2, evaluator: str = "auto", compiled: bool = False) -> staged.StagedJob:
    queries = [parse(text, f"q{number}") for number, text in enumerate(texts)]
    streams = sorted({stream.name for query in queries for stream in query.streams})
    return job_of(queries, streams, shards, 0, False, evaluator=evaluator, compiled=compiled)


SAVED = job(TEXT)
OTHERS = [
    (job(TEXT, shards=8), "its state is in 2 shards, that of this job would be in 8", "give --shards 2 (shards=2"),
    (job(TEXT, TEXT), "its queries are 'q0', those of this job 'q0', 'q1'", "the same queries in the same order"),
    (
        job(TEXT.replace("60 SECONDS", "90 SECONDS")),
        "query 'q0' has `WITHIN 60 SECONDS SLIDING` there and `WITHIN 90 SECONDS SLIDING` in this job",
        "restore query 'q0'",
    ),
    (job(TWO), "it reads the streams 'http://ex.org/s1', this job 'http://ex.org/s1', 'http://ex.org/s2'", "streams"),
]


@pytest.mark.parametrize(("other", "reason", "way"), OTHERS)
def test_a_state_is_refused_by_a_job_that_differs(other: staged.StagedJob, reason: str, way: str) -> None:
    blob = staged.Shards(SAVED).shard(1).snapshot()
    with pytest.raises(RunError) as caught:
        staged.Shards(other).shard(1).restore(blob)
    assert caught.value.message.startswith("the checkpoint belongs to another job: ") and reason in caught.value.message
    assert way in caught.value.hint and "or begin with a new checkpoint and output folder" in caught.value.hint
    staged.Shards(SAVED).shard(1).restore(blob)


def test_every_difference_is_named_at_once() -> None:
    other = job(TEXT.replace("?n }", "?k }"), shards=8)
    with pytest.raises(RunError, match=r"query 'q0' has `.*; its state is in 2 shards"):
        staged.Shards(other).shard(0).restore(staged.Shards(SAVED).shard(0).snapshot())


def test_the_evaluator_that_wrote_a_state_goes_on_unless_another_is_asked_for() -> None:
    blob = staged.Shards(SAVED).shard(1).snapshot()
    with pytest.raises(RunError, match="evaluator 'adaptive' wrote it, and 'lazy' is asked for: ask for none"):
        staged.Shards(job(TEXT, evaluator="lazy")).shard(1).restore(blob)
    for compiled in (job(TEXT, compiled=True), job(TEXT, evaluator="cea", compiled=True)):
        other = staged.Shards(compiled).shard(1)
        assert other.snapshot() != blob
        blob_of_kernels = other.snapshot()
        staged.Shards(SAVED).shard(1).restore(blob_of_kernels)
    again = staged.Shards(job(TEXT, compiled=True)).shard(1)
    again.restore(blob)
    staged.Shards(SAVED).shard(1).restore(again.snapshot())


def test_a_state_of_a_query_that_cannot_be_read_names_the_query() -> None:
    shards = staged.Shards(SAVED)
    dictionary = Dictionary()
    saved = SavedShard.of(shards.shard(1).snapshot(), dictionary, lambda record: ["q0"])
    (state,) = saved.network.queries
    for wrong in (state.blob[:-1], b"random bytes", state.blob[::-1]):
        network = NetworkState(saved.network.inputs, [msgspec.structs.replace(state, blob=wrong)])
        blob = replace(saved, network=network).blob(dictionary)
        with pytest.raises(RunError, match="the saved state of query 'q0' cannot be read") as caught:
            staged.Shards(SAVED).shard(1).restore(blob)
        assert "begin with a new checkpoint" in caught.value.hint


def test_a_query_written_otherwise_and_another_delay_are_the_same_job() -> None:
    again = replace(job(SAME), options=replace(SAVED.options, max_delay_ns=5))
    staged.Shards(again).shard(0).restore(staged.Shards(SAVED).shard(0).snapshot())


def test_the_record_is_read_as_it_was_written() -> None:
    record, dictionary = staged.record(job(TWO, TEXT)), Dictionary()
    assert JobRecord.of(loads(dumps(record.tree(), dictionary), dictionary)) == record


def test_a_state_of_a_later_version_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaseq.runtime.state.snapshot.VERSION", VERSION + 1)
    blob = staged.Shards(SAVED).shard(0).snapshot()
    monkeypatch.undo()
    with pytest.raises(RunError, match=f"the saved state is version {VERSION + 1}") as caught:
        staged.Shards(SAVED).shard(0).restore(blob)
    assert "go on with the SPAseq that wrote it, or begin anew with a new checkpoint folder" in caught.value.hint


def _event(second: int, verb: str) -> str:
    name, time = f"urn:e{second}", f"2026-01-01T00:00:{second:02d}Z"
    kind = "http://www.w3.org/2001/XMLSchema#dateTime"
    stamp = f'<{name}> <http://www.w3.org/ns/prov#generatedAtTime> "{time}"^^<{kind}> .'
    return f'{stamp}\n<http://ex.org/x> <http://ex.org/{verb}> "{second}" <{name}> .\n'


def test_on_spark_another_number_of_shards_ends_the_job(spark: SparkSession, tmp_path: Path) -> None:
    spaseq.spark.register(spark)
    (tmp_path / "in").mkdir()

    def started(shards: int, number: int, verb: str) -> list[Any]:
        (tmp_path / "in" / f"{number}.nq").write_text(_event(2 * number, verb), encoding="utf-8")
        frame = spark.readStream.format("spaseq").load(str(tmp_path / "in"))
        found: list[Any] = []
        outcomes = spaseq.spark.run(spark, parse(TEXT, "q0"), {"S1": frame}, shards=shards, compiled=False)
        writer = outcomes.writeStream.foreachBatch(lambda batch, _: found.extend(batch.collect()))
        query = writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start()
        query.awaitTermination()
        return found

    assert started(2, 0, "on") == []
    with pytest.raises(PySparkException) as caught:
        started(8, 1, "off")
    error = as_spaseq_error(caught.value)
    assert "its state is in 2 shards, that of this job would be in 8" in error.message
    assert "give --shards 2 (shards=2 in Python)" in error.hint
    assert "spaseq spark rescale CHECKPOINT --shards 8" in error.hint
