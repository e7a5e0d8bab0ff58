"""A Spark job over folders that grow: three streams of a smart grid, a file of matches for each micro-batch.

python examples/spark_smart_grid/directory_stream.py --events 5000 --out out/spark_grid
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above examples/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pyspark.sql import SparkSession

import spaseq.spark
from examples.spark_smart_grid.grid import STREAMS, answer, session, write_knowledge, write_segments
from spaseq.runtime.spark.progress import ProgressListener


def run(spark: SparkSession, folder: Path) -> None:
    """Read what there is in `folder`, a stream in each of its folders; matches go to `folder`/matches."""
    streams = {
        name: spark.readStream.format("spaseq")
        .option("maxBytesPerTrigger", 400_000)  # small, to show several micro-batches
        .option("end", "true")  # this replay is finite: without it the last events wait for later ones
        .load(str(folder / stream))
        for name, stream in STREAMS.items()
    }
    answer(spark, streams, folder)


def main() -> None:
    """Generate, run, say where the matches are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5000, metavar="N", help="how many, over all streams [5000]")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the same seed gives the same events [1]")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for streams and matches")
    arguments = parser.parse_args()
    write_knowledge(arguments.out)
    write_segments(arguments.out, arguments.events, arguments.seed, segment_events=1000)
    spark = session("smart grid, folders")
    spark.streams.addListener(ProgressListener(print))
    spaseq.spark.register(spark)
    run(spark, arguments.out)
    spark.stop()
    print(f"matches: {arguments.out / 'matches'}")


if __name__ == "__main__":
    main()
