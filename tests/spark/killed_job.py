"""A Spark job for test_kill.py to kill: two streams in, matches into BatchFiles and into a file sink of Spark's own.

python tests/spark/killed_job.py FOLDER
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import spaseq
import spaseq.spark
from spaseq.runtime.spark.session import LOCAL_SETTINGS, SETTINGS
from spaseq.runtime.spark.sinks import BatchFiles

QUERY = """SELECT ?s ?a ?b WITHIN 60 SECONDS SLIDING PARTITION BY ?s
FROM STREAM S1 <urn:one> FROM STREAM S2 <urn:two> WHERE {
  SEQ(A; B+)
  DEFINE GPM A ON S1 { ?s <urn:a> ?a }
  DEFINE GPM B ON S2 { ?s <urn:b> ?b }
}
"""
MAX_DELAY_NS = 9_000_000_000


def main(folder: Path) -> None:
    """Go on from wherever the last one was killed, to the end."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
    own = {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # a short life does not pay for more compiling
    }
    for key, value in {**SETTINGS, **LOCAL_SETTINGS, **own}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spaseq.spark.register(spark)
    query = spaseq.parse(QUERY, "killed")
    source = spark.readStream.format("spaseq").option("maxBytesPerTrigger", 12_000).option("end", "true")
    streams = {name: source.load(str(folder / name)) for name in ("S1", "S2")}
    outcomes = spaseq.spark.outcomes(spark, query, streams, rows="documents", max_delay_ns=MAX_DELAY_NS)
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
    main(Path(sys.argv[1]))
