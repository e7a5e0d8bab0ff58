"""Random pairs of a query and its streams on real Spark, many as one job: each has streams and a name of its own.

    python -m tests.spark.spark_pairs                         300 pairs, 20 a job
    python -m tests.spark.spark_pairs --pairs 40 --seed 7     other pairs
    python -m tests.spark.spark_pairs --seed 7 --from 4711 --pairs 1     one pair again

The pairs are those of `tests.pairs`, and so of every kind of query that is drawn there. Every third job is static; the
others are streaming, in two micro-batches that are cut at random. Rows are compared with the reference's, without their
order, for shards have none. The first difference ends it: exit code 1, and the pair is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import spaseq.spark
from spaseq.lang.ast import Query
from spaseq.outputs.rows import Row
from tests.driving import Comparable, comparable
from tests.random_pairs import Pair, drawn, expected_rows, shown
from tests.strategies.stream import to_nquads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB_PAIRS = 20
SHARDS = 3
_STATIC_EVERY = 3
_END = "#!spaseq end"


@dataclass(frozen=True, slots=True)
class Numbered:
    """A pair whose query has its number as its name, and streams that no other pair has."""

    number: int
    pair: Pair

    @property
    def query(self) -> Query:
        """The query."""
        return self.pair.query

    def documents(self, dice: Random) -> dict[str, tuple[str, str]]:
        """For each stream, by IRI, its events in two documents, cut at random."""
        arrived = self.pair.arrived
        cut, found = dice.randrange(len(arrived) + 1), {}
        for stream in self.query.streams:
            parts = [[e[1:] for e in some if e[0] == stream.name] for some in (arrived[:cut], arrived[cut:])]
            first, second = (f"{to_nquads(events)}\n" for events in parts)
            found[stream.iri] = first, second
        return found


def numbered(seed: int, first: int) -> Iterator[Numbered]:
    """The pairs of a seed from a number on."""
    for number in count(first):
        pair = drawn(seed, number)
        if pair is not None and pair.reader is None:
            streams = tuple(replace(s, iri=f"urn:pair:{number}:{s.name}") for s in pair.query.streams)
            yield Numbered(number, replace(pair, query=replace(pair.query, name=f"q{number}", streams=streams)))


def rows_of(spark: SparkSession, pairs: Sequence[Numbered], dice: Random, static: bool) -> list[Row]:
    """The rows that Spark finds, of all pairs."""
    documents = {iri: parts for each in pairs for iri, parts in each.documents(dice).items()}
    queries = [each.query for each in pairs]
    options = {"shards": SHARDS, "compiled": False}
    if static:
        frames = {iri: spark.createDataFrame([("".join(parts),)], "value string") for iri, parts in documents.items()}
        return [spaseq.spark.row_of(row) for row in spaseq.spark.run(spark, queries, frames, **options).collect()]
    with tempfile.TemporaryDirectory(prefix="spaseq-pairs-") as folder:
        source = _source(spark, Path(folder), documents)
        frames = {iri: source.where(source.stream == iri).select("value") for iri in documents}
        return _streamed(spaseq.spark.run(spark, queries, frames, **options), Path(folder) / "state")


def _source(spark: SparkSession, folder: Path, documents: Mapping[str, tuple[str, str]]) -> DataFrame:
    """The documents as two micro-batches, at the end of the second of which every stream ends."""
    (folder / "in").mkdir()
    for number in range(2):
        rows = [{"stream": iri, "value": parts[number]} for iri, parts in documents.items()]
        rows += [{"stream": iri, "value": _END} for iri in documents] if number else []
        lines = [json.dumps(row) for row in rows]
        path = folder / "in" / f"{number}.json"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.utime(path, (number + 1, number + 1))
    source = spark.readStream.schema("stream string, value string").option("maxFilesPerTrigger", 1)
    return source.json(str(folder / "in"))


def _streamed(outcomes: DataFrame, checkpoint: Path) -> list[Row]:
    found: list[Row] = []

    def take(frame: DataFrame, number: int) -> None:
        found.extend(spaseq.spark.row_of(row) for row in frame.collect())

    writer = outcomes.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    return found


def difference(pairs: Sequence[Numbered], rows: Sequence[Row]) -> str | None:
    """The first pair whose rows are not the reference's, in words; None: there is none."""
    by_name: dict[str, list[Comparable]] = {each.query.name: [] for each in pairs}
    for row in rows:
        by_name[row.query].append(comparable(row))
    for each in pairs:
        expected, found = Counter(expected_rows(each.pair)), Counter(by_name[each.query.name])
        if expected != found:
            signs = ("-", expected - found), ("+", found - expected)
            told = "".join(f"{sign} {row}\n" for sign, some in signs for row in some.elements())
            return f"pair {each.number}:\n{shown(each.pair)}\n# - the reference alone, + Spark alone\n{told}"
    return None


def compare(spark: SparkSession, pairs: int, seed: int, first: int) -> tuple[int, str | None]:
    """The number of rows of so many pairs, and the first difference in words, or None."""
    source, dice, rows = islice(numbered(seed, first), pairs), Random(seed), 0
    for job in count():
        own = list(islice(source, JOB_PAIRS))
        if not own:
            return rows, None
        found = rows_of(spark, own, dice, static=job % _STATIC_EVERY == 0)
        rows += len(found)
        if told := difference(own, found):
            return rows, told
    raise AssertionError("jobs do not end")


def main() -> None:
    """Compare and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=300, metavar="N", help="[300]")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="[1]")
    parser.add_argument("--from", type=int, default=0, metavar="K", dest="first", help="the first pair's number [0]")
    options = parser.parse_args()
    from spaseq.runtime.spark.session import local_session

    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    with local_session("pairs", SHARDS) as spark:
        rows, told = compare(spark, options.pairs, options.seed, options.first)
    print(f"seed {options.seed}, {options.pairs:,} pairs on Spark, {rows:,} rows\n{told or 'no difference'}")
    sys.exit(1 if told else 0)


if __name__ == "__main__":
    main()
