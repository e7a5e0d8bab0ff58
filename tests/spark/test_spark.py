"""Real Spark in local mode: what its user meets. test_spark_cases.py has the cases of the conformance suite."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import spaseq
import spaseq.spark
from spaseq.errors import InputError
from spaseq.explain.funnel import Funnel
from spaseq.lang.parse import parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERY = parse(
    """PREFIX : <http://ex.org/> SELECT ?x ?n WITHIN 60 SECONDS PARTITION BY ?x FROM STREAM S1 <http://ex.org/s1>
    WHERE { SEQ(A ; B) DEFINE GPM A ON S1 { ?x :on ?n } DEFINE GPM B ON S1 { ?x :off ?m } }""",
    "switch",
)

ABSENT = parse(
    """PREFIX : <http://ex.org/> SELECT ?x ?m WITHIN 60 SECONDS PARTITION BY ?x FROM STREAM S1 <http://ex.org/s1>
    WHERE { SEQ(B ; A!) DEFINE GPM A ON S1 { ?x :on ?n } DEFINE GPM B ON S1 { ?x :off ?m } }""",
    "off",
)


def _streamed(frame: DataFrame, folder: Path) -> list[Any]:
    """What a streaming DataFrame gives until its input is used up."""
    found: list[Any] = []
    writer = frame.writeStream.foreachBatch(lambda batch, number: found.extend(batch.collect()))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    return found


def _files(folder: Path, texts: list[str]) -> None:
    """Files that Spark reads in this order, one in each micro-batch."""
    folder.mkdir(parents=True)
    for number, text in enumerate(texts):
        path = folder / f"{number}.nq"
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def _line_stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder))


def _event(second: int, subject: str, verb: str, value: int) -> str:
    name, time = f"urn:e{second}", f"2026-01-01T00:00:{second:02d}Z"
    stamp = (
        f'<{name}> <http://www.w3.org/ns/prov#generatedAtTime> "{time}"^^<http://www.w3.org/2001/XMLSchema#dateTime> .'
    )
    return f'{stamp}\n<http://ex.org/{subject}> <http://ex.org/{verb}> "{value}" <{name}> .\n'


def _switches(seconds: range) -> list[str]:
    return [_event(s, f"x{s % 3}", "on" if s < seconds.stop // 2 else "off", s) for s in seconds]


def test_late_and_malformed_events_are_outcomes_and_ids_are_the_same_however_the_input_is_cut(
    spark: SparkSession, tmp_path: Path
) -> None:
    texts = _switches(range(20))
    late, malformed = _event(1, "x1", "off", 99).replace("urn:e1", "urn:late"), "this is no quad\n"
    _files(tmp_path / "one", ["".join(texts[:15]), late + malformed + "".join(texts[15:]), "#!spaseq end\n"])
    _files(tmp_path / "two", ["".join(texts), "#!spaseq end\n"])
    watches = {name: spaseq.spark.Watch(spark) for name in ("one", "two")}
    options: dict[str, Any] = {"shards": 2, "compiled": False, "analyze": True, "evaluator": "nfa"}
    first, second = (
        _streamed(spaseq.spark.outcomes(spark, QUERY, streams, watch=watch, **options), tmp_path / f"of-{name}")
        for name, watch in watches.items()
        for streams in [{"S1": _line_stream(spark, tmp_path / name)}]
    )
    letters = {(row.kind, row.letter.stream, row.letter.raw.split()[0]) for row in first if row.kind != "match"}
    assert letters == {("late", "S1", "<urn:late>"), ("malformed", "S1", "this")}
    matches = {row.id: row.events for row in first if row.kind == "match"}
    assert len(matches) == 10 and matches == {row.id: row.events for row in second}
    (tmp_path / "whole.nq").write_text("".join(texts), encoding="utf-8")
    embedded = spaseq.run(QUERY, {"S1": tmp_path / "whole.nq"}, analyze=True, evaluator="nfa", compiled=False)
    assert len(list(embedded)) == 10 and isinstance(embedded.funnel, Funnel)
    edges = tuple(replace(edge, lost=None) for edge in embedded.funnel.edges)  # states do not hold it
    for name, watch in watches.items():
        (funnel,) = watch.funnels()
        steps = funnel.steps if name == "one" else embedded.funnel.steps  # stage 1 knows no late event of another task
        assert replace(funnel, seconds={}) == replace(embedded.funnel, steps=steps, edges=edges, seconds={})


def test_a_job_goes_on_at_its_next_start_until_its_stream_is_said_to_end(spark: SparkSession, tmp_path: Path) -> None:
    texts, folder = _switches(range(12)), tmp_path / "grows"
    folder.mkdir()
    spaseq.spark.register(spark)

    def started(**options: str) -> list[Any]:
        frame = spark.readStream.format("spaseq").options(**options).load(str(folder))
        found = _streamed(spaseq.spark.run(spark, ABSENT, {"S1": frame}, shards=2, compiled=False), tmp_path / "state")
        return sorted((event.step, *event.graphs) for row in found for event in row.events)

    found: list[Any] = []
    for number, options in enumerate(({}, {"end": "true"})):
        before = len(found)
        (folder / f"{number}.nq").write_text("".join(texts[number * 6 : number * 6 + 6]), encoding="utf-8")
        found += started(**options)
    embedded = spaseq.run(ABSENT, {"S1": folder})
    assert len(found) > before
    assert sorted(found) == sorted((step, *graphs) for row in embedded for step, graphs in row.events)
    with pytest.raises(PySparkException, match="has ended for this checkpoint: begin with a new checkpoint"):
        started()


def test_quads_as_columns_and_typed_results(spark: SparkSession) -> None:
    rows = [
        (f"urn:e{s}", f"http://ex.org/x{s % 3}", "http://ex.org/on" if s < 3 else "http://ex.org/off", f'"{s}"', time)
        for s in range(6)
        for time in [f"2026-01-01T00:00:0{s}Z"]
    ]
    frame = spark.createDataFrame(rows, "graph string, subject string, predicate string, object string, time string")
    found = spaseq.spark.run(spark, QUERY, {"S1": frame.coalesce(1)}, types={"n": "int"}).orderBy("time").collect()
    assert [(row.n, row.x, row.partition) for row in found] == [
        (n, f"<http://ex.org/x{n}>", [f"<http://ex.org/x{n}>"]) for n in range(3)
    ]


def test_what_cannot_run_is_said_before_anything_runs(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "a")], "number int, letter string")
    with pytest.raises(InputError, match="has no column of RDF text: it has number, letter"):
        spaseq.spark.run(spark, QUERY, {"S1": frame})
    with pytest.raises(InputError, match="no query reads a stream 'S9'"):
        spaseq.spark.run(spark, QUERY, {"S9": frame})
