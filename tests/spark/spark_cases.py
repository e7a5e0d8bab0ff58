"""The cases of the conformance suite on real Spark, some of them as one job; by hand, every one in each way to run.

    python -m tests.spark.spark_cases                 every case: static and streaming, in one shard and in four
    python -m tests.spark.spark_cases --named neg_    those whose name begins so

Further cases are those of SPASEQ_CASES, SPASEQ_CASES2 and SPASEQ_CASES3. The cases of a job are divided into two
micro-batches at random, and their events arrive in disorder. Small jobs cost as many micro-batches more; in large ones
each task knows all of their inputs. It reports each case whose rows are other ones, and ends with exit code 1 if there
are any.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import spaseq.spark
from tests.conformance.cases import OWN, Case, case_folders, every_case, read_stream
from tests.reference.stream import Arrivals
from tests.spark.merged_cases import MergedCases, merged
from tests.strategies.stream import to_nquads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB_CASES = 13
SHARDS = (1, 4)
_BATCHES = 2
_DELAY_NS = 5_000_000_000
_DOCUMENT = "value binary, source string, line bigint, format string"


def sample() -> list[Case]:
    """Every case with a query that another one reads, and of the own cases one of each construct."""
    chosen = [case for case in every_case() if len(case.queries) > 1]
    known = {construct(case) for case in chosen if case.folder.parent == OWN}
    for case in case_folders(OWN):
        if construct(case) not in known:
            chosen.append(case)
            known.add(construct(case))
    return chosen


def construct(case: Case) -> str:
    """The construct that the name of a case begins with."""
    return case.folder.name.partition("_")[0]


def jobs(cases: Sequence[Case]) -> list[Sequence[Case]]:
    """The cases, so many together; those of one name are not in one job."""
    found: list[list[Case]] = []
    for case in cases:
        for job in found:
            if len(job) < JOB_CASES and case.folder.name not in [each.folder.name for each in job]:
                job.append(case)
                break
        else:
            found.append([case])
    return list(found)


def differing(spark: SparkSession, cases: Sequence[Case], shards: int, static: bool) -> tuple[int, list[str]]:
    """The number of rows that the cases give as one job, and the names of those that give other rows than they must."""
    whole = merged(cases)
    if static:
        frames = {iri: _static(spark, path) for iri, path in whole.streams.items()}
        rows = _run(spark, whole, frames, shards, 0).collect()
    else:
        rows = _streaming(spark, whole, shards)
    expected, found = whole.expected_and_found(map(spaseq.spark.row_of, rows))
    return len(rows), [name for name in expected if expected[name] != found[name]]


def _run(
    spark: SparkSession, whole: MergedCases, frames: Mapping[str, DataFrame], shards: int, delay_ns: int
) -> DataFrame:
    kbs = {iri: str(path) for iri, path in whole.kbs.items()}
    return spaseq.spark.run(spark, whole.queries, frames, kbs, shards=shards, max_delay_ns=delay_ns, compiled=False)


def _static(spark: SparkSession, path: Path) -> DataFrame:
    rdf_format = "trig" if path.suffix == ".trig" else "nquads"
    return spark.createDataFrame([(path.read_bytes(), path.name, 0, rdf_format)], _DOCUMENT).coalesce(1)


def _streaming(spark: SparkSession, whole: MergedCases, shards: int) -> list[Any]:
    dice = random.Random(f"{shards} {whole.cases[0].folder.name}")
    with tempfile.TemporaryDirectory(prefix="spaseq-cases-") as folder:
        _write_micro_batches(Path(folder, "in"), whole, dice)
        source = spark.readStream.schema("stream string, value string").option("maxFilesPerTrigger", 1)
        rows = source.json(str(Path(folder, "in")))
        frames = {iri: rows.where(rows.stream == iri).select("value") for iri in whole.streams}
        return _streamed(_run(spark, whole, frames, shards, _DELAY_NS), Path(folder, "checkpoint"))


def _write_micro_batches(folder: Path, whole: MergedCases, dice: random.Random) -> None:
    """Files that Spark reads one after the other: of each stream a document, and in the last its end."""
    files: list[list[dict[str, str]]] = [[] for _ in range(_BATCHES)]
    for iri, path in whole.streams.items():
        arrivals = _disordered(read_stream(path), dice)
        cuts = sorted(dice.randrange(len(arrivals) + 1) for _ in range(_BATCHES - 1))
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
    lag = {time: dice.randrange(_DELAY_NS) for time in sorted({time for time, _, _ in arrivals})}
    return tuple(sorted(arrivals, key=lambda event: event[0] + lag[event[0]]))


def _streamed(frame: DataFrame, checkpoint: Path) -> list[Any]:
    """What a streaming DataFrame gives until its input is used up."""
    found: list[Any] = []
    writer = frame.writeStream.foreachBatch(lambda batch, number: found.extend(batch.collect()))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return found


def _every_way(spark: SparkSession, cases: Sequence[Case]) -> Iterator[tuple[str, int, list[str]]]:
    """For each way to run, in words, the rows of all cases and the cases that differ."""
    for static in (True, False):
        for shards in SHARDS:
            way, rows, other = f"{'static' if static else 'streaming'}, shards: {shards}", 0, []
            for job in jobs(cases):
                count, differ = differing(spark, job, shards, static)
                rows, other = rows + count, [*other, *differ]
            yield way, rows, other


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--named", default="", metavar="BEGIN", help="only cases whose name begins so")
    named = parser.parse_args().named
    from spaseq.runtime.spark.session import local_session

    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    cases, failed = [case for case in every_case() if case.folder.name.startswith(named)], False
    with local_session("cases", 2) as spark:
        for way, rows, other in _every_way(spark, cases):
            print(f"{way}: {len(cases)} cases, {rows:,} rows; other rows: {', '.join(other) or 'none'}", flush=True)
            failed = failed or bool(other)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
