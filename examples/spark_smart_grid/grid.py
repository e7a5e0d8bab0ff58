"""What the jobs of this folder share: the query, a session, and the streams of the smart grid in segments."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above examples/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pyspark.sql import DataFrame, SparkSession

import spaseq.spark
from examples.event_files import as_nquads, timestamps
from examples.smart_grid.generate import EXAMPLE
from spaseq.runtime.spark.progress import observed
from spaseq.runtime.spark.session import SETTINGS
from spaseq.runtime.spark.sinks import BatchFiles

KB_IRI = "http://smartgrid.org/db"
STREAMS = {"S1": "power", "S2": "weather", "S3": "storage"}
QUERY = Path(__file__).resolve().parents[1] / "smart_grid" / "query_partitioned.rq"


def query() -> spaseq.Query:
    """Expensive power from fuel, then good weather, then cheaper solar power, at one location."""
    return spaseq.read_query(QUERY)


def session(name: str) -> SparkSession:
    """A session on two threads; a cluster would be given by spark-submit."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name).config("spark.sql.shuffle.partitions", "2")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    if "spark.master" not in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
        builder = builder.master("local[2]")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def answer(spark: SparkSession, streams: dict[str, DataFrame], folder: Path) -> None:
    """Run the query over what there is in the streams; matches go to `folder`/matches, a file a micro-batch."""
    known = {KB_IRI: str(folder / "kb.ttl")}
    # Compiling kernels would take longer than so few events.
    matches = spaseq.spark.outcomes(spark, query(), streams, known, rows="documents", compiled=False)
    spaseq.spark.prepare_checkpoint(spark, str(folder / "checkpoint"))
    job = (
        observed(matches)
        .writeStream.foreachBatch(BatchFiles(str(folder / "matches"), [query()]))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    job.awaitTermination()


def events(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """(stream, its N-Quads) of each event, in the order of time."""
    timestamp = timestamps()
    for event in islice(EXAMPLE.events(random.Random(seed)), count):
        yield event.stream, as_nquads(event, timestamp(event.time_ms))


def write_knowledge(folder: Path) -> Path:
    """The knowledge base as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "kb.ttl"
    path.write_text(EXAMPLE.knowledge["kb.ttl"], encoding="utf-8")
    return path


def write_segments(folder: Path, count: int, seed: int, segment_events: int) -> None:
    """A folder for each stream, of files that appear complete and sort in the order of time, as a log's segments do."""
    waiting: dict[str, list[str]] = {stream: [] for stream in STREAMS.values()}
    for stream in waiting:
        (folder / stream).mkdir(parents=True, exist_ok=True)
    for number, (stream, text) in enumerate(events(count, seed), start=1):
        waiting[stream].append(text)
        if number % segment_events == 0 or number == count:
            for name, texts in waiting.items():
                _appear(folder / name / f"{number:010d}.nq", "".join(texts))
                texts.clear()


def _appear(path: Path, text: str) -> None:
    hidden = path.with_name(f".{path.name}")  # names with a dot are not read
    hidden.write_text(text, encoding="utf-8")
    hidden.replace(path)
