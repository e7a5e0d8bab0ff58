"""Static DataFrames: temporal patterns over events that lie in files, and SQL over what comes out. Cell by cell."""

# %% Some files: one run of the generator, which a real notebook would have in place already.
from __future__ import annotations

import sys
import tempfile
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above examples/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import spaseq.spark
from examples.event_files import write_example
from examples.smart_grid.generate import EXAMPLE
from examples.spark_smart_grid.grid import KB_IRI, STREAMS, query, session


def files(folder: Path, events: int = 3000, seed: int = 1) -> Path:
    """Three N-Quads files and a knowledge base."""
    write_example(EXAMPLE, events, seed, folder)
    return folder


# %% Each stream is a DataFrame; the matches are one, too. Nothing runs yet.
NUMBERS = {"fr1": "int", "fr2": "int"}


def matches(spark: SparkSession, folder: Path) -> DataFrame:
    """The matches of the query, with numbers where the data has numbers."""
    spaseq.spark.register(spark)
    streams = {name: spark.read.format("spaseq").load(str(folder / f"{stream}.nq")) for name, stream in STREAMS.items()}
    known = {KB_IRI: str(folder / "kb.ttl")}
    # Compiling kernels would take longer than so few events.
    return spaseq.spark.run(spark, query(), streams, known, rows="documents", types=NUMBERS, compiled=False)


# %% From here on it is Spark: what a change to solar power would save, by city.
def savings(found: DataFrame) -> DataFrame:
    """For each city, houses that could change, and the largest difference of fares."""
    return (
        found.groupBy(F.regexp_extract("city", "#(.*)>$", 1).alias("city"))
        .agg(F.count_distinct("house").alias("houses"), F.max(F.col("fr1") - F.col("fr2")).alias("saved_at_most"))
        .orderBy("city")
    )


# %%
def main() -> None:
    """All cells."""
    spark = session("smart grid, notebook")
    with tempfile.TemporaryDirectory() as temporary:
        found = matches(spark, files(Path(temporary))).cache()
        found.select("time", "house", "fr1", "fr2", "events").show(5, truncate=40)
        savings(found).show()
    spark.stop()


if __name__ == "__main__":
    main()
