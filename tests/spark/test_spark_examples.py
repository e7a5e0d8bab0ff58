"""The Spark examples find what the embedded engine finds in the same events."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import spaseq
import spaseq.spark
from examples.event_files import write_example
from examples.smart_grid.generate import EXAMPLE
from examples.spark_smart_grid import directory_stream, kafka_stream, notebook
from examples.spark_smart_grid.grid import KB_IRI, STREAMS, query, write_knowledge, write_segments

ROOT = Path(__file__).resolve().parents[2]
EVENTS, SEED = 900, 1


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    folder = tmp_path_factory.mktemp("grid")
    write_example(EXAMPLE, EVENTS, SEED, folder)
    streams = {name: folder / f"{stream}.nq" for name, stream in STREAMS.items()}
    found = Counter(str(row) for row in spaseq.run(query(), streams, {KB_IRI: folder / "kb.ttl"}))
    assert found.total() > 20
    return found


def written(folder: Path) -> Counter[str]:
    return Counter(
        line for path in (folder / "matches").glob("*.ndjson") for line in path.read_text(encoding="utf-8").splitlines()
    )


def test_folders_that_grow(spark: Any, tmp_path: Path, expected: Counter[str]) -> None:
    spaseq.spark.register(spark)
    write_knowledge(tmp_path)
    write_segments(tmp_path, EVENTS, SEED, segment_events=500)
    directory_stream.run(spark, tmp_path)
    assert written(tmp_path) == expected


@pytest.mark.thorough
def test_topics_of_kafka(spark: Any, tmp_path: Path, expected: Counter[str]) -> None:
    spaseq.spark.register(spark)
    write_knowledge(tmp_path)
    with kafka_stream.mock_brokers() as brokers:
        kafka_stream.produce(brokers, EVENTS, SEED)
        kafka_stream.run(spark, brokers, tmp_path)
    assert written(tmp_path) == expected


def test_the_notebook(spark: Any, tmp_path: Path, expected: Counter[str]) -> None:
    found = notebook.matches(spark, notebook.files(tmp_path, EVENTS, SEED)).cache()
    assert found.count() == expected.total()
    assert dict(found.dtypes)["fr1"] == "int"
    rows = [json.loads(line)["bindings"] for line in expected]
    saved = {(row["city"]["value"], int(row["fr1"]["value"]) - int(row["fr2"]["value"])) for row in rows}
    best = {row["city"]: row["saved_at_most"] for row in notebook.savings(found).collect()}
    assert best == {city.rpartition("#")[2]: max(s for c, s in saved if c == city) for city, _ in saved}
    found.unpersist()


@pytest.mark.parametrize("script", ["directory_stream", "kafka_stream"])
def test_the_scripts_have_help(script: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / "spark_smart_grid" / f"{script}.py"), "--help"]
    assert "--out" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
