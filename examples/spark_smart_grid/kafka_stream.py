"""A Spark job over Kafka's protocol: a topic a stream, read without a connector jar.

python examples/spark_smart_grid/kafka_stream.py --events 2000 --out out/spark_kafka

Without --brokers the topics are served by librdkafka's mock cluster, inside this process.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above examples/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from confluent_kafka import Producer
from pyspark.sql import SparkSession

import spaseq.spark
from examples.spark_smart_grid.grid import STREAMS, answer, events, session, write_knowledge
from spaseq.runtime.spark.progress import ProgressListener


@contextmanager
def mock_brokers() -> Iterator[str]:
    """The address of a broker that lives as long as this block."""
    cluster = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1})
    (broker,) = cluster.list_topics(timeout=10).brokers.values()
    yield f"{broker.host}:{broker.port}"


def produce(brokers: str, count: int, seed: int) -> None:
    """A message an event. Every topic has one partition in use, so its messages come in the order of time."""
    producer = Producer({"bootstrap.servers": brokers})
    for stream, text in events(count, seed):
        producer.produce(stream, text, partition=0)
        producer.poll(0)
    producer.flush(30)


def run(spark: SparkSession, brokers: str, folder: Path) -> None:
    """Read what there is in the topics; matches go to `folder`/matches."""
    streams = {
        name: spark.readStream.format("spaseq")
        .option("kafka.bootstrap.servers", brokers)
        .option("subscribe", topic)
        .option("maxOffsetsPerTrigger", 400)
        .option("end", "true")
        .load()
        for name, topic in STREAMS.items()
    }
    answer(spark, streams, folder)


def main() -> None:
    """Produce, run, say where the matches are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2000, metavar="N", help="how many, over all topics [2000]")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the same seed gives the same events [1]")
    parser.add_argument("--brokers", metavar="HOST:PORT", help="brokers of yours, with topics power, weather, storage")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the matches")
    arguments = parser.parse_args()
    write_knowledge(arguments.out)
    spark = session("smart grid, Kafka")
    spark.streams.addListener(ProgressListener(print))
    spaseq.spark.register(spark)
    with mock_brokers() as own:
        brokers = arguments.brokers or own
        produce(brokers, arguments.events, arguments.seed)
        run(spark, brokers, arguments.out)
    spark.stop()
    print(f"matches: {arguments.out / 'matches'}")


if __name__ == "__main__":
    main()
