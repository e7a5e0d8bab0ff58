"""The same queries on Spark: DataFrames of events in, a DataFrame of matches out.

    matches = spaseq.spark.run(spark, query, {"S1": spark.readStream.format("spaseq").option("path", "in").load()})

See spaseq/runtime/spark/README.md for what goes in and comes out. pyspark is imported when a function is called.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automata.plan.program import RUNS_MAX
from sparql_gpm.rdf_io import BATCH_EVENTS, PROV_TIME
from spaseq.algebra.distribution import sharding_in_words
from spaseq.algebra.nodes import AnyQuery
from spaseq.engine import staged
from spaseq.engine.arguments import meanings_of
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Knowledge
from spaseq.engine.streams import resolve_streams
from spaseq.errors import InputError
from spaseq.inputs.arrow import BESIDE, QUADS
from spaseq.inputs.formats import check_format, is_of_lines
from spaseq.physical.planner import TITLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spaseq.explain.funnel import Funnel
    from spaseq.outputs.rows import Row
    from spaseq.runtime.spark.accumulated import Adds
    from spaseq.runtime.spark.output import OutputTable
    from spaseq.runtime.spark.packed_output import MergeStage

DOCUMENT_COLUMNS = ("value", "text", "content")
"""The column of a DataFrame that holds RDF text, if nothing else is said: Kafka's and text files', binary files'."""
_FURTHER = (
    "time_choice", "time_unit", "time_origin", "max_line", "max_solutions", "max_event_seconds", "template",
    "input_format", "contexts", "delimiter", "analyze",
)  # fmt: skip
_PACKAGES = ("pyspark", "pandas", "pyarrow")
_STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_LEXICAL = r'^"((?:[^"\\]|\\.)*)"'


@dataclass(frozen=True, slots=True)
class Rescaling:
    """The number of shards of a checkpoint before and after, and the folder in which that of before is kept."""

    before: int
    after: int
    kept: str


class Watch:
    """Counts what the tasks of a job read, for the reason if it gives no row: give it to `outcomes` of one job."""

    def __init__(self, spark: SparkSession) -> None:
        from spaseq.runtime.spark.accumulated import accumulator

        self._counted = accumulator(spark.sparkContext)
        self._job: staged.StagedJob | None = None

    def over(self, job: staged.StagedJob) -> Adds:
        """The accumulator to which the tasks of the job add."""
        self._job = job
        return self._counted

    def funnels(self) -> list[Funnel]:
        """The funnel of each query so far, if the job has the option `analyze`; else none."""
        from spaseq.engine.staged_funnels import staged_funnels

        return [] if self._job is None else staged_funnels(self._job, self._counted.value.tally)

    def zero_rows(self) -> list[str]:
        """Once the job has ended without a row: at most five lines that say why."""
        from spaseq.engine.staged_zero_rows import staged_zero_rows

        return [] if self._job is None else staged_zero_rows(self._job, self._counted.value.tally)


def require() -> None:
    """Raises InputError, which says what to install, where pyspark or Java is missing."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        reason = f"the Spark runtime needs the Python packages {', '.join(missing)}"
        raise InputError(reason, hint='install what is missing: pip install "spaseq[spark]"')
    if java() is None:
        home = os.environ.get("JAVA_HOME")
        where = f"JAVA_HOME is {home}, where there is no bin/java" if home else "there is no java on the PATH"
        raise InputError(
            f"the Spark runtime needs Java 17 or newer, and {where}",
            hint="install it, on Debian and Ubuntu: apt-get install openjdk-17-jre-headless",
        )
    _check_python(os.environ.get("PYSPARK_PYTHON", ""))


def java() -> str | None:
    """The program that runs Java: that of JAVA_HOME, else the one on the path; None if it is not there."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin") if home else None)


def _check_python(asked: str) -> None:
    """Raises InputError if a relative PYSPARK_PYTHON, which an archive brings to executors, is not here as well."""
    path = Path(asked)
    if len(path.parts) > 1 and not path.is_absolute() and not path.exists():
        reason = f"PYSPARK_PYTHON is {asked}, which the driver has not: there it runs the sources of streams"
        name = path.parts[0]
        way = f"mkdir {name} && tar -xzf {name}.tar.gz -C {name}"
        raise InputError(reason, hint=f"unpack the archive where you submit from: {way}")


def run(
    spark: SparkSession,
    query: AnyQuery | Sequence[AnyQuery],
    streams: Mapping[str, DataFrame],
    kb: Knowledge | None = None,
    **options: Any,
) -> DataFrame:
    """The matches of one or several queries; arguments as those of `outcomes`."""
    found = outcomes(spark, query, streams, kb, **options)
    return found.where("kind = 'match'").drop("kind", "letter")


def outcomes(
    spark: SparkSession,
    query: AnyQuery | Sequence[AnyQuery],
    streams: Mapping[str, DataFrame],
    kb: Knowledge | None = None,
    *,
    shards: int | None = None,
    max_delay_ns: int = 0,
    columns: Mapping[str, str] | str | tuple[str, ...] | None = None,
    format: str = "nquads",
    rows: str = "auto",
    types: Mapping[str, str] | None = None,
    time_predicates: tuple[str, ...] = (PROV_TIME,),
    strict: bool = False,
    batch_events: int = BATCH_EVENTS,
    allow_hosts: tuple[str, ...] | None = None,
    evaluator: str = "auto",
    compiled: bool = True,
    max_runs: int = RUNS_MAX,
    watch: Watch | None = None,
    **further: Any,
) -> DataFrame:
    """Matches and dead letters of one or several queries; spaseq/runtime/spark/README.md has the columns.

    streams         a DataFrame for each stream, by name or IRI; all streaming, or all static
    kb              paths (which every worker can read) and URLs of knowledge bases, by IRI
    shards          of stage 2; None: as many as there are shuffle partitions. A checkpoint belongs to one number
    max_delay_ns    by how much events of streaming input may be late
    columns         the document column, of all streams or by stream; a tuple: those of CSV without a header
    format, rows    of document columns that do not say it themselves: any format; "auto", "lines", "documents"
    types           variable → Spark type of its column, for instance "double"; else terms are N-Triples strings
    strict          the first dead letter fails the job
    evaluator       of sequences, by name, or "auto"; a checkpoint belongs to one
    compiled        kernels may be used: the first job compiles them, half a minute; a checkpoint belongs to one choice
    watch           counts what is read, to say why if there is no row, and with analyze for the funnels
    further         of `RunOptions`, the fields named in _FURTHER
    max_runs        as in `RunOptions`; a query with more than max_runs partial matches in a shard ends the job

    Raises InputError for what cannot be run, before anything runs.
    """
    require()
    from spaseq.runtime.spark.output import OutputTable, column_names
    from spaseq.runtime.spark.stages import MatchStage, ShardFactory, two_stages

    queries = meanings_of(query)
    _check(format, rows, shards, further)
    keys = {iri: key for iri, (_, key) in resolve_streams(queries, {key: key for key in streams}).items()}
    names = {iri: name for each in queries for name, iri in each.streams if iri in keys}
    streaming = _streaming(streams)
    number = shards or int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    settings = RunOptions(
        evaluator=evaluator, max_delay_ns=max_delay_ns, strict=strict, time_predicates=time_predicates,
        batch_events=batch_events, compiled=compiled, allow_hosts=allow_hosts, optimise=False,
        columns=columns if isinstance(columns, tuple) else (), **further,
    )  # fmt: skip
    plans = staged.planned(queries, number, evaluator, compiled, max_runs)
    job = staged.StagedJob(plans, _located(kb or {}), settings, names, number, not streaming)
    staged.check(job)
    tally = None if watch is None else watch.over(job)
    label, inputs = uuid.uuid4().hex, []
    for place, (iri, key) in enumerate(sorted(keys.items())):
        source = staged.stream_input(job, place, iri, format, rows)
        chosen = _columns(streams[key], columns, key)
        make = partial(staged.shard_partitioner, staged.reading(job, iri))
        inputs.append((streams[key], MatchStage(label, make, source, chosen, tally)))
    _keep_state(spark, streaming)
    table = OutputTable(column_names(staged.variables(job)))
    build = ShardFactory(label, partial(staged.Shards, job))
    found = two_stages(inputs, build, table, number, streaming, _merge_stage(job, table, tally), tally)
    return _typed(found, {table.columns[name]: kind for name, kind in (types or {}).items() if name in table.columns})


def _located(kb: Knowledge) -> Knowledge:
    """The knowledge bases, those at existing paths by absolute ones."""
    return {iri: os.path.abspath(at) if isinstance(at, str) and os.path.exists(at) else at for iri, at in kb.items()}


def row_of(row: Any) -> Row:
    """A match, a Row of `run` or `outcomes`, as the engine's; for sinks. Not for columns that `types` has changed."""
    from spaseq.runtime.spark import output

    return output.row_of(row.asDict(recursive=True))


def register(spark: SparkSession) -> None:
    """Make `format("spaseq")` known to a session."""
    require()
    from spaseq.runtime.spark.sources import register as register_source

    register_source(spark)


def rescale(spark: SparkSession, checkpoint: str, shards: int) -> Rescaling:
    """Divide the state of a stopped job among more shards, a multiple of those it has, and keep the old checkpoint.

    The job goes on with the new number, and gives the rows of one that always had it. Raises InputError for what is no
    checkpoint, a job that runs, and a number that is no multiple; RunError for the state of another version.
    """
    require()
    from spaseq.engine.rescaling import rescaled
    from spaseq.runtime.spark.checkpoints import Checkpoint

    stopped = Checkpoint(spark, checkpoint)
    found = rescaled(stopped.states(), shards)
    kept = f"{checkpoint.rstrip('/')}.{found.before}-shards"
    stopped.replace(found.states, shards, kept)
    return Rescaling(found.before, shards, kept)


def prepare_checkpoint(spark: SparkSession, checkpoint: str) -> None:
    """Before each start of a job: take away what keeps Spark from starting it where it, or a rescaling, was killed.

    That is a rescaling killed in its last step, when the checkpoint had no folder, and the unfinished first file of
    offsets. Where there is neither, and where there is no checkpoint yet, it does nothing.
    """
    require()
    from spaseq.runtime.spark.checkpoints import prepare
    from spaseq.runtime.spark.hadoop import HadoopFiles

    prepare(HadoopFiles.of(spark), checkpoint)


def complete_rescaling(spark: SparkSession, checkpoint: str) -> None:
    """`prepare_checkpoint` under its earlier name, by which jobs that were submitted call it."""
    prepare_checkpoint(spark, checkpoint)


def explain(query: AnyQuery | Sequence[AnyQuery], evaluator: str = "auto", compiled: bool = True) -> str:
    """The sharding of each query with its reason, and the evaluator of its sequences, one line a query."""
    return "\n".join(
        f"{each.query.name}: {sharding_in_words(each.distribution)}; in each shard {TITLES[each.plan.evaluator]}"
        for each in staged.planned(meanings_of(query), 1, evaluator, compiled)
    )


def _merge_stage(job: staged.StagedJob, table: OutputTable, tally: Adds | None) -> MergeStage | None:
    """The last stage of a job, where it has one."""
    from spaseq.runtime.spark.packed_output import MergeStage

    merges = any(plan.distribution.merged for plan in job.plans)
    return MergeStage(partial(staged.Mergers, job), table, tally) if merges else None


def _keep_state(spark: SparkSession, streaming: bool) -> None:
    """The state store of stage 2 of a stream; a micro-batch writes what has changed, unless the session says otherwise.

    Static input has no state.
    """
    if not streaming:
        return
    from spaseq.runtime.spark.session import CHANGELOG

    spark.conf.set(_STATE_STORE, _ROCKSDB)
    if spark.conf.get(CHANGELOG, None) is None:
        spark.conf.set(CHANGELOG, "true")


def _check(rdf_format: str, rows: str, shards: int | None, further: Collection[str]) -> None:
    if unknown := next((name for name in further if name not in _FURTHER), None):
        raise InputError(
            f"there is no option {unknown}", hint=f"beside those of outcomes() there are {', '.join(_FURTHER)}"
        )
    check_format(rdf_format)
    if rows not in ("auto", "lines", "documents"):
        raise InputError(f"rows='{rows}' is not known", hint="auto, lines or documents")
    if rows == "lines" and not is_of_lines(rdf_format):
        raise InputError(
            f"'{rdf_format}' cannot be read line by line", hint="rows='documents', a whole document in each row"
        )
    if shards is not None and shards < 1:
        raise InputError(f"{shards} shards are too few", hint="at least 1")


def _streaming(streams: Mapping[str, DataFrame]) -> bool:
    kinds = {frame.isStreaming for frame in streams.values()}
    if len(kinds) > 1:
        raise InputError(
            "some streams are streaming DataFrames, others static ones",
            hint="give all as readStream, or all as read; what never changes is a knowledge base: kb={iri: path}",
        )
    return kinds == {True}


def _columns(frame: DataFrame, columns: Mapping[str, str] | str | tuple[str, ...] | None, key: str) -> tuple[str, ...]:
    """The columns of a DataFrame that are read: those of quads, or the document column and what is beside it."""
    asked = columns.get(key) if isinstance(columns, Mapping) else columns if isinstance(columns, str) else None
    if asked is None and set(QUADS) <= set(frame.columns):
        return QUADS
    document = asked or next((name for name in DOCUMENT_COLUMNS if name in frame.columns), None)
    if document is None or document not in frame.columns:
        found = ", ".join(frame.columns)
        raise InputError(
            f"stream {key} has no column '{asked}'"
            if asked
            else f"stream {key} has no column of RDF text: it has {found}",
            hint=f"one of {', '.join(DOCUMENT_COLUMNS)}, or name it with columns=, or have {', '.join(QUADS)}",
        )
    return (document, *(name for name in BESIDE if name in frame.columns and name != document))


def _typed(frame: DataFrame, types: Mapping[str, str]) -> DataFrame:
    """Columns of literals as values of Spark's types; null for what is no such value."""
    from pyspark.sql import functions as F

    for name, kind in types.items():
        lexical = F.regexp_extract(F.col(f"`{name}`"), _LEXICAL, 1)
        frame = frame.withColumn(name, F.when(lexical != "", lexical).try_cast(kind))
    return frame


__all__ = [
    "Rescaling",
    "Watch",
    "complete_rescaling",
    "explain",
    "outcomes",
    "prepare_checkpoint",
    "register",
    "require",
    "rescale",
    "row_of",
    "run",
]
