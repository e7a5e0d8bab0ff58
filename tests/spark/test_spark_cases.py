"""Real Spark in local mode gives the rows of every case of the conformance suite, static and streaming.

The cases of a group are one job: a micro-batch then costs some seconds for all of them. Small groups cost as many
micro-batches more, large ones are slow in themselves: each task of a job knows all of its inputs.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import spaseq.spark
from tests.conformance.cases import OWN, Case, case_folders, read_stream
from tests.reference.stream import Arrivals
from tests.spark.merged_cases import MergedCases, merged
from tests.strategies import to_nquads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECOND = 1_000_000_000
DELAY_NS = 5 * SECOND
DOCUMENT = "value binary, source string, line bigint, format string"
CASES = case_folders(OWN)
GROUPS = 4
CHOSEN = [CASES[number::GROUPS] for number in range(GROUPS)]


def _run(
    spark: SparkSession, whole: MergedCases, frames: Mapping[str, DataFrame], shards: int, delay_ns: int = 0
) -> DataFrame:
    kbs = {iri: str(path) for iri, path in whole.kbs.items()}
    return spaseq.spark.run(spark, whole.queries, frames, kbs, shards=shards, max_delay_ns=delay_ns)


def _static(spark: SparkSession, path: Path) -> DataFrame:
    rdf_format = "trig" if path.suffix == ".trig" else "nquads"
    return spark.createDataFrame([(path.read_bytes(), path.name, 0, rdf_format)], DOCUMENT)


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("cases", CHOSEN, ids=range(len(CHOSEN)))
def test_cases_give_their_rows_over_static_dataframes(spark: SparkSession, cases: Sequence[Case], shards: int) -> None:
    whole = merged(cases)
    frames = {iri: _static(spark, path) for iri, path in whole.streams.items()}
    rows = _run(spark, whole, frames, shards).collect()
    expected, found = whole.expected_and_found(map(spaseq.spark.row_of, rows))
    assert found == expected


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("cases", CHOSEN, ids=range(len(CHOSEN)))
def test_cases_give_their_rows_in_micro_batches_cut_and_disordered_at_random(
    spark: SparkSession, tmp_path: Path, cases: Sequence[Case], shards: int
) -> None:
    whole = merged(cases)
    dice = random.Random(f"{shards} {cases[0].folder.name}")
    _micro_batches(tmp_path / "in", whole, dice, 2)
    source = spark.readStream.schema("stream string, value string").option("maxFilesPerTrigger", 1)
    rows = source.json(str(tmp_path / "in"))
    frames = {iri: rows.where(rows.stream == iri).select("value") for iri in whole.streams}
    found = _streamed(_run(spark, whole, frames, shards, DELAY_NS), tmp_path / "checkpoint")
    expected, actual = whole.expected_and_found(map(spaseq.spark.row_of, found))
    assert actual == expected


def _micro_batches(folder: Path, whole: MergedCases, dice: random.Random, count: int) -> None:
    """Files that Spark reads one after the other: of each stream a document, and in the last its end."""
    files: list[list[dict[str, str]]] = [[] for _ in range(count)]
    for iri, path in whole.streams.items():
        arrivals = _disordered(read_stream(path), dice)
        cuts = sorted(dice.randrange(len(arrivals) + 1) for _ in range(count - 1))
        for rows, begin, end in zip(files, [0, *cuts], [*cuts, len(arrivals)], strict=True):
            rows.append({"stream": iri, "value": to_nquads(arrivals[begin:end]) + "\n"})
        files[-1].append({"stream": iri, "value": "#!spaseq end"})
    folder.mkdir()
    for number, rows in enumerate(files):
        path = folder / f"{number}.json"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def _disordered(arrivals: Arrivals, dice: random.Random) -> Arrivals:
    """In an order of arrival in which none is late; events of equal time keep theirs, which has a meaning."""
    lag = {time: dice.randrange(DELAY_NS) for time in sorted({time for time, _, _ in arrivals})}
    return tuple(sorted(arrivals, key=lambda event: event[0] + lag[event[0]]))


def _streamed(frame: DataFrame, checkpoint: Path) -> list[Any]:
    """What a streaming DataFrame gives until its input is used up."""
    found: list[Any] = []
    writer = frame.writeStream.foreachBatch(lambda batch, number: found.extend(batch.collect()))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return found
