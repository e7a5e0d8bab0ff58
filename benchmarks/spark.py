"""Spark on this machine's cores: events per second, packed against unpacked, by shards, and beside the embedded engine.

All run the same query, partitioned by company, over the same file of trades, with what a user gets by default. "Packed"
hands thousands of events from stage 1 to stage 2 in one row; with 1 event a blob a row is one event. Wall-clock seconds
are those of a warm session. A job over a quarter of the events tells its fixed cost from what each further event takes;
what a session's first job takes comes on top, once. Processor seconds of each part are measured in one process without
Spark, and say where the rest goes.

    python benchmarks/spark.py --events 2000000 --shards 1 2 4
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

import spaseq
import spaseq.spark
from examples.event_files import write_example
from examples.stock.generate import EXAMPLE
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import EventReader, ReadOptions
from spaseq.engine import staged
from spaseq.engine.options import RunOptions
from spaseq.inputs.texts import InputText
from spaseq.lang.ast import Query
from spaseq.runtime.spark.jobs import streams_of
from spaseq.runtime.spark.output import OutputTable, column_names
from spaseq.runtime.spark.session import local_session
from spaseq.runtime.spark.sources.directory import Directory, FilePosition
from spaseq.runtime.spark.tasks import Task

ROOT = Path(__file__).resolve().parents[1]
PACKED = 10_000
"""Events in a blob, as `spaseq.spark` has them by default."""
_ONE_BY_ONE_MAX = 10_000
"""Unpacked runs get so many events: they are that slow."""
_QUARTER = 4
"""What is slow, and what tells the fixed cost, gets one in so many events."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One way to run it, or one part of it."""

    what: str
    shards: int
    packed: int
    events: int
    matches: int
    seconds: float

    @property
    def rate(self) -> float:
        """Events per second."""
        return self.events / self.seconds

    def parted(self, few: Figure) -> list[Figure]:
        """What a job over fewer events says of this one: its fixed cost, and what it takes beyond that."""
        further = replace(
            self, what=f"{self.what}: beyond that", events=self.events - few.events,
            matches=self.matches - few.matches, seconds=self.seconds - few.seconds,
        )  # fmt: skip
        fixed = self.seconds - self.events / further.rate
        return [replace(self, what=f"{self.what}: fixed cost", events=0, matches=0, seconds=fixed), further]


def partitioned_query(name: str = "v_shape") -> Query:
    """A query of examples/stock, looked for in each company by itself."""
    text = whole_query(name).text
    return spaseq.parse(text.replace("WITHIN 60 MINUTES", "WITHIN 60 MINUTES PARTITION BY ?company", 1), name)


def whole_query(name: str) -> Query:
    """The same, looked for in all companies together: it has one shard."""
    return spaseq.parse((ROOT / "examples" / "stock" / f"{name}.rq").read_text(encoding="utf-8"), name)


def embedded(query: Query, path: Path, events: int, compiled: bool) -> Figure:
    """The embedded engine, in this process; its compiled kernels are warm."""
    started = time.perf_counter()
    matches = sum(1 for _ in spaseq.run(query, {"S1": path}, compiled=compiled))
    what = "embedded, compiled" if compiled else "embedded"
    return Figure(what, 0, 0, events, matches, time.perf_counter() - started)


def on_spark(spark: Any, query: Query, path: Path, events: int, shards: int, packed: int, streaming: bool) -> Figure:
    """The same on Spark; only matches are counted, as a sink would take them."""
    options: dict[str, Any] = {"shards": shards, "batch_events": packed}
    spark.conf.set("spark.sql.shuffle.partitions", str(shards))
    started = time.perf_counter()
    if not streaming:
        frame = spark.read.format("spaseq").load(str(path))
        matches = spaseq.spark.run(spark, query, {"S1": frame}, **options).count()
        return Figure("Spark, static", shards, packed, events, matches, time.perf_counter() - started)
    found: list[int] = []
    frame = streams_of(spark, {"S1": {"path": str(path)}}, end=True)["S1"]
    with tempfile.TemporaryDirectory() as checkpoint:
        job = (
            spaseq.spark.run(spark, query, {"S1": frame}, **options)
            .writeStream.foreachBatch(lambda batch, _: found.append(batch.count()))
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        job.awaitTermination()
        seconds = time.perf_counter() - started
    return Figure("Spark, streaming", shards, packed, events, sum(found), seconds)


def read_only(spark: Any, path: Path, events: int) -> Figure:
    """What it costs Spark to bring the text to stage 1: read, to the JVM, to a Python worker, and no further."""

    def swallowed(batches: Any) -> Any:
        for batch in batches:
            yield batch.slice(0, 0)

    frame = spark.read.format("spaseq").option("text", "true").load(str(path))
    started = time.perf_counter()
    frame.mapInArrow(swallowed, frame.schema).count()
    return Figure("Spark, text only", 0, 0, events, 0, time.perf_counter() - started)


def parts(query: Query, path: Path, events: int, shards: int, packed: int) -> list[Figure]:
    """Processor seconds of each part, in this process, one after the other; both cores share them on Spark."""
    ranges = list(Directory(str(path)).ranges(FilePosition(), 8 << 20))
    tasks: list[list[InputText]] = []
    read_s = _processor(lambda: tasks.extend([InputText(d.text, line=d.line) for d in s.texts()] for s in ranges))
    parsed_s = _processor(lambda: [_parsed(row) for task in tasks for row in task])
    plans = staged.planned([query], shards, compiled=True)
    job = staged.StagedJob(plans, {}, _options(packed), {query.streams[0].iri: "S1"}, shards, True)
    blocks: list[Any] = []
    first_s = _processor(lambda: blocks.extend(p for n, task in enumerate(tasks) for p in _stage_one(job, n, task)))
    found: list[int] = []
    table = OutputTable(column_names(staged.variables(job)))

    def second() -> None:
        for shard in range(shards):
            own = [block for block in blocks if block.shard == shard]
            found.append(
                sum(
                    batch.num_rows
                    for batch in table.batches(shard, staged.Shards(job).shard(shard).process(own, last=True))
                )
            )

    second_s = _processor(second)
    seconds = {"cut into documents": read_s, "parse": parsed_s, "stage 1, parse included": first_s, "stage 2": second_s}
    return [Figure(f"part: {what}", shards, packed, events, sum(found), s) for what, s in seconds.items()]


def _options(packed: int) -> RunOptions:
    return RunOptions(compiled=True, optimise=False, batch_events=packed)


def _parsed(row: InputText) -> int:
    reader = EventReader(Dictionary(), ReadOptions(compiled=True), lambda letter: None)
    return sum(len(located.events) for located in reader.read(io.BytesIO(row.text), "nquads"))


def _stage_one(job: staged.StagedJob, number: int, rows: Sequence[InputText]) -> list[Any]:
    (iri,) = job.names
    partitioner, dictionary, bases = staged.shard_partitioner(job, iri)
    source = staged.stream_input(job, 0, iri, "nquads", "documents")
    try:
        return list(Task(source, partitioner, dictionary, bases, number, str(number)).blocks(rows))
    finally:
        bases.close()


def _processor(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def measure(options: argparse.Namespace, folder: Path) -> list[Figure]:
    """Every figure; of Spark's, the median of the runs."""
    query = partitioned_query(options.query)
    least, quarter = min(options.events, _ONE_BY_ONE_MAX), options.events // _QUARTER
    few, some, path = (_trades(folder, events, options.seed) for events in (least, quarter, options.events))
    figures = []
    for compiled, events, trades in ((False, quarter, some), (True, options.events, path)):
        embedded(query, few, least, compiled)  # compiles
        figures.append(_median([embedded(query, trades, events, compiled) for _ in range(options.runs)]))
    with local_session("benchmark") as spark:
        spaseq.spark.register(spark)
        for streaming in (False, True):  # starts the workers
            first = on_spark(spark, query, few, least, 2, PACKED, streaming)
            figures.append(replace(first, what=f"{first.what}: first job of a session"))
        figures.append(_median([read_only(spark, some, quarter) for _ in range(options.runs)]))
        figures += _by_shards(spark, query, path, some, options)
        for packed in (1, PACKED):
            figures.append(on_spark(spark, query, few, least, max(options.shards), packed, False))
    figures += parts(query, some, quarter, 2, PACKED) + parts(query, few, least, 2, 1)
    return figures + parts(whole_query(options.query), some, quarter, 1, PACKED)


def _by_shards(spark: Any, query: Query, path: Path, some: Path, options: argparse.Namespace) -> list[Figure]:
    """Static and streaming jobs for each number of shards; with two, also what of them is fixed cost."""
    figures = []
    whole, quarter = (path, options.events), (some, options.events // _QUARTER)
    for shards in options.shards:
        for streaming in (False, True):
            found, *few = (
                _median([on_spark(spark, query, *trades, shards, PACKED, streaming) for _ in range(options.runs)])
                for trades in ((whole, quarter) if shards == 2 else (whole,))
            )
            figures += [found, *(part for one in few for part in found.parted(one))]
    return figures


def _trades(folder: Path, events: int, seed: int) -> Path:
    """A file of so many trades."""
    write_example(EXAMPLE, events, seed, folder / str(events))
    return folder / str(events) / "trades.nq"


def _median(runs: Sequence[Figure]) -> Figure:
    middle = statistics.median_low(run.seconds for run in runs)
    return next(run for run in runs if run.seconds == middle)


def table(figures: Sequence[Figure]) -> Table:
    """The figures as they are shown on a terminal."""
    shown = Table(title="stock, partitioned by company")
    for heading in ("what", "shards", "events a blob", "events", "matches", "seconds", "events/s"):
        shown.add_column(heading, justify="left" if heading == "what" else "right")
    for figure in figures:
        counts = (str(figure.shards or ""), f"{figure.packed or '':,}" if figure.packed else "", f"{figure.events:,}")
        rate = f"{figure.rate:,.0f}" if figure.events else ""
        shown.add_row(figure.what, *counts, f"{figure.matches:,}", f"{figure.seconds:.2f}", rate)
    return shown


def main() -> None:
    """Generate, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000_000, metavar="N")
    parser.add_argument("--runs", type=int, default=3, metavar="K", help="of each kind; their median counts [3]")
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2, 4], metavar="N")
    parser.add_argument("--query", choices=["v_shape", "head_and_shoulders"], default="v_shape")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the generator [1]")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        figures = measure(options, Path(temporary))
    Console(width=120).print(table(figures))
    if options.json:
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
