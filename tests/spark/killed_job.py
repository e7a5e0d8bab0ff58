"""A Spark job for kills.py to kill: streams in, matches into BatchFiles and into a file sink of Spark's own.

python tests/spark/killed_job.py FOLDER EVALUATOR MASTER
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

import spaseq
import spaseq.spark
from spaseq.runtime.spark.session import LOCAL_SETTINGS, SETTINGS
from spaseq.runtime.spark.sinks import BatchFiles

MAX_DELAY_NS = 9_000_000_000
_QUERY = """SELECT ?s ?a ?b WITHIN 60 SECONDS SLIDING PARTITION BY ?s
{streams} WHERE {{
  SEQ({sequence})
  DEFINE GPM A ON S1 {{ ?s <urn:a> ?a }}
  DEFINE GPM B ON S{second} {{ ?s <urn:b> ?b }}
}}
"""
_ONE = "FROM STREAM S1 <urn:one>"
_TWO = f"{_ONE} FROM STREAM S2 <urn:two>"


@dataclass(frozen=True, slots=True)
class Killed:
    """What one evaluator is to run.

    option, compiled    of `spaseq.spark.outcomes`
    streams             names; events of one stream alone are of both sorts
    """

    text: str
    option: str
    compiled: bool = False
    streams: tuple[str, ...] = ("S1", "S2")


JOBS = {
    "runs": Killed(_QUERY.format(sequence="A; B+", streams=_TWO, second=2), "nfa"),
    "registers": Killed(_QUERY.format(sequence="A; B+", streams=_TWO, second=2), "nfa", True),
    "cea": Killed(_QUERY.format(sequence="A; B+", streams=_ONE, second=1), "cea", True, ("S1",)),
    "lazy": Killed(_QUERY.format(sequence="A : B:{1,2}", streams=_TWO, second=2), "lazy"),
    "tree": Killed(_QUERY.format(sequence="A : B:{1,2}", streams=_TWO, second=2), "tree"),
    "adaptive": Killed(_QUERY.format(sequence="A : B:{1,2}", streams=_TWO, second=2), "adaptive"),
}


def main(folder: Path, killed: Killed, master: str) -> None:
    """Go on from wherever the last one was killed, to the end."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).config("spark.sql.shuffle.partitions", "2")
    own = {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # a short life does not pay for more compiling
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.executor.cores": "1",
        "spark.executor.memory": "768m",
    }
    for key, value in {**SETTINGS, **LOCAL_SETTINGS, **own}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spaseq.spark.register(spark)
    query = spaseq.parse(killed.text, "killed")
    source = spark.readStream.format("spaseq").option("maxBytesPerTrigger", 12_000).option("end", "true")
    streams = {name: source.load(str(folder / name)) for name in killed.streams}
    outcomes = spaseq.spark.outcomes(
        spark, query, streams, rows="documents", max_delay_ns=MAX_DELAY_NS, evaluator=killed.option,
        compiled=killed.compiled,
    )  # fmt: skip
    for name in ("files", "table"):
        spaseq.spark.prepare_checkpoint(spark, str(folder / f"checkpoint-{name}"))
    files = BatchFiles(str(folder / "files"), [query], dead_letters=str(folder / "letters"))
    matches = outcomes.where("kind = 'match'").select("id", "time_ns", "start_ns", "events")
    jobs = [
        outcomes.writeStream.foreachBatch(files)
        .option("checkpointLocation", str(folder / "checkpoint-files"))
        .trigger(availableNow=True)
        .start(),
        matches.writeStream.format("json")
        .option("checkpointLocation", str(folder / "checkpoint-table"))
        .trigger(availableNow=True)
        .start(str(folder / "table")),
    ]
    for job in jobs:
        job.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), JOBS[sys.argv[2]], sys.argv[3])
