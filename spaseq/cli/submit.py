"""`spaseq submit`: a Spark job as a Python file, run by `spark-submit` if asked to."""

from __future__ import annotations

import os
import pprint
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kb.source import Source
from spaseq.cli.reporting import say
from spaseq.cli.run import RunArguments
from spaseq.cli.spark import SparkRun, checked
from spaseq.engine.staged import planned
from spaseq.errors import InputError, RunError
from spaseq.inputs.paths import absolute

_WIDTH = 110


@dataclass(frozen=True, slots=True)
class SubmitArguments:
    """The arguments of a job that `spaseq run` does not have.

    job         the file to write
    checkpoint  None: beside the output
    shards      of stage 2
    follow      run for ever; else read the existing input and stop; the next start goes on
    end_of_stream   signal the end after the existing input: nothing is read after it
    on_data_loss    "fail" or "skip"
    idle_timeout_ns     after which a silent partition of a topic leaves the watermark
    run         run it with spark-submit now
    master      as for spark-submit; None: as Spark is configured
    """

    job: Path
    checkpoint: str | None
    shards: int
    follow: bool
    end_of_stream: bool
    on_data_loss: str
    idle_timeout_ns: int | None
    run: bool
    master: str | None


def submit(arguments: RunArguments, job: SubmitArguments) -> None:
    """Write the job, and run it if asked to. Raises InputError for bad arguments, RunError if the job fails."""
    if arguments.output is None:
        raise InputError("a job needs a folder for its matches", hint="add --output FOLDER")
    if job.follow and job.end_of_stream:
        raise InputError("a job with --follow never comes to the end of its streams", hint="leave out --end-of-stream")
    if job.run:
        import spaseq.spark

        spaseq.spark.require()
    run = checked(arguments)
    text = job_text(run, arguments, job)
    try:
        job.job.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {job.job}: {error.strerror}", hint="name a file you can write to") from error
    say(f"{job.job}: {job.shards} {'shard' if job.shards == 1 else 'shards'}; run it with spark-submit {job.job}")
    for plan in planned(run.queries, job.shards):
        if job.shards > 1 and not plan.distribution.key:
            reason = f"query '{plan.query.name}' has one shard: {plan.distribution.reason}"
            say(f"{reason}; all cores match its patterns, one its sequences")
    if job.run:
        _run(job)


def job_text(run: SparkRun, arguments: RunArguments, job: SubmitArguments) -> str:
    """The job as Python, to be read and changed."""
    output = absolute(os.fspath(arguments.output or ""))
    letters = arguments.options.dead_letter
    more = {} if job.on_data_loss == "fail" else {"onDataLoss": job.on_data_loss}
    if job.idle_timeout_ns is not None:
        more["idleTimeout"] = f"{job.idle_timeout_ns / 1e9:f}s"
    return _TEMPLATE.format(
        name=job.job.name,
        titles=", ".join(query.name for query in run.queries),
        queries=_literal({query.name: query.parsed.text for query in run.queries}),
        streams=_literal({iri: _placed(options) | more for iri, options in run.sources.items()}),
        knowledge=_knowledge(run.knowledge),
        options=_literal({**run.options, "compiled": run.options["compiled"] or job.follow}),
        shards=job.shards,
        output=output,
        format=arguments.format,
        dead_letters=absolute(os.fspath(letters)) if letters else None,
        checkpoint=job.checkpoint or f"{output.rstrip('/')}.checkpoint",
        end=job.end_of_stream,
        imports="" if job.follow else "import sys\n\n",
        watch="" if job.follow else _WATCH,
        watched="" if job.follow else ", watch=watch",
        told="" if job.follow else _TOLD,
        trigger='processingTime="1 second"' if job.follow else "availableNow=True",
    )


def _placed(options: Mapping[str, str]) -> dict[str, str]:
    """The options with absolute paths."""
    return {key: absolute(value) if key == "path" else value for key, value in options.items()}


def _knowledge(sources: Mapping[str, Source]) -> str:
    """The knowledge bases as an expression; of each source only the fields that differ from their defaults."""
    lines = []
    for iri, source in sources.items():
        location = source.location if source.remote else absolute(source.location)
        given = {f.name: getattr(source, f.name) for f in fields(source)[1:]}
        more = "".join(f", {name}={value!r}" for name, value in given.items() if value != getattr(Source(""), name))
        lines.append(f"    {iri!r}: Source({location!r}{more}),\n")
    return "{\n" + "".join(lines) + "}" if lines else "{}"


def _literal(value: Mapping[str, Any]) -> str:
    return pprint.pformat(value, width=_WIDTH, sort_dicts=False)


def _run(job: SubmitArguments) -> None:
    command = [_spark_submit(), *(["--master", job.master] if job.master else []), os.fspath(job.job)]
    environment = {**os.environ, "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable)}
    code = subprocess.run(command, env=environment, check=False).returncode
    if code:
        raise RunError(f"spark-submit ended with exit code {code}", hint="Spark's own messages are above")


def _spark_submit() -> str:
    """The spark-submit of SPARK_HOME or the path, else the one of the pyspark package."""
    home = os.environ.get("SPARK_HOME")
    found = os.path.join(home, "bin", "spark-submit") if home else shutil.which("spark-submit")
    if found and os.path.exists(found):
        return found
    beside = Path(sys.executable).with_name("spark-submit")
    if beside.exists():
        return os.fspath(beside)
    raise InputError("there is no spark-submit", hint="install Spark, or pip install 'spaseq[spark]'")


_WATCH = """    watch = spaseq.spark.Watch(spark)  # counts what is read, to say why if there is no row
"""
_TOLD = """    for line in watch.zero_rows():
        print(line, file=sys.stderr)
"""
_TEMPLATE = '''"""Matches of {titles} on Spark, made by `spaseq submit`. It is yours now: change what you like.

    spark-submit {name}

Whatever happens to it, start it again: it goes on from its checkpoint, and every match is written once.
"""

from __future__ import annotations

{imports}from kb.source import Source
from pyspark.sql import SparkSession

import spaseq
import spaseq.spark
from spaseq.runtime.spark.jobs import ended, streams_of
from spaseq.runtime.spark.progress import ProgressListener, observed
from spaseq.runtime.spark.session import SETTINGS
from spaseq.runtime.spark.sinks import BatchFiles

# The text of each query.
QUERIES = {queries}

# For each stream, by IRI, the options of format("spaseq").
STREAMS = {streams}

# Knowledge bases, by IRI; every worker must be able to read them.
KNOWLEDGE: dict[str, Source] = {knowledge}

# Further arguments of spaseq.spark.outcomes.
OPTIONS = {options}

SHARDS = {shards}  # of the second stage; more for a checkpoint: spaseq spark rescale
OUTPUT = {output!r}  # a folder: a file for each micro-batch
DEAD_LETTERS = {dead_letters!r}
CHECKPOINT = {checkpoint!r}


def main() -> None:
    """Start the job and wait for its end."""
    builder = SparkSession.builder.appName("spaseq: {titles}").config("spark.sql.shuffle.partitions", str(SHARDS))
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.streams.addListener(ProgressListener(print))
    spaseq.spark.prepare_checkpoint(spark, CHECKPOINT)
    queries = [spaseq.parse(text, name) for name, text in QUERIES.items()]
    streams = streams_of(spark, STREAMS, end={end})
{watch}    outcomes = spaseq.spark.outcomes(spark, queries, streams, KNOWLEDGE, shards=SHARDS{watched}, **OPTIONS)
    job = (
        observed(outcomes)
        .writeStream.foreachBatch(BatchFiles(OUTPUT, queries, {format!r}, DEAD_LETTERS))
        .option("checkpointLocation", CHECKPOINT)
        .trigger({trigger})
        .start()
    )
    ended(job)
{told}    spark.stop()


if __name__ == "__main__":
    main()
'''
