"""`spaseq run --runtime spark`, and its part that `spaseq submit` shares."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kb.source import Source
from spaseq.algebra.nodes import TemporalQuery
from spaseq.cli.knowledge import sources_of
from spaseq.cli.reporting import say
from spaseq.cli.run import RunArguments, bound, funnel_file, report_dead_letters, report_funnels, say_why_nothing
from spaseq.engine.options import RunOptions
from spaseq.engine.stream_formats import known_by
from spaseq.errors import InputError, check_all
from spaseq.inputs.formats import TABLES
from spaseq.inputs.paths import STANDARD_INPUT, absolute, input_bytes, input_files, is_elsewhere, plain
from spaseq.inputs.reading import without_template
from spaseq.outputs import open_sink
from spaseq.outputs.dead_letters import DeadLetters
from spaseq.outputs.destination import OutputClosed
from spaseq.outputs.sink import Sink

if TYPE_CHECKING:
    from spaseq.explain.funnel import Funnel
    from spaseq.runtime.spark.progress import BatchMetrics
    from spaseq.runtime.spark.sinks import BatchOutput

_DEFAULTS = RunOptions()
_PATHS = ("template", "contexts")
_COMPILED_BYTES_MIN = 256 << 20
"""Input from this size on is worth compiling the reader's kernels for, in each installation once."""


@dataclass(frozen=True, slots=True)
class SparkRun:
    """A checked run: the options of each stream's source, by IRI, and the arguments of `spaseq.spark.outcomes`."""

    queries: tuple[TemporalQuery, ...]
    sources: Mapping[str, Mapping[str, str]]
    knowledge: Mapping[str, Source]
    options: Mapping[str, Any]


def checked(arguments: RunArguments) -> SparkRun:
    """The run of these arguments; raises InputError for arguments that cannot be used."""
    queries, paths, locations = bound(arguments)
    if arguments.options.arrival_time:
        reason = "a micro-batch that is read again after a failure would have other times"
        hint = "state times where events are written, and name the property with --time-predicate; or, in Python, give "
        hint += "quads as columns with Kafka's own timestamp as `time`; or leave out --runtime spark"
        raise InputError(f"--arrival-time does not go with --runtime spark: {reason}", hint=hint)
    if arguments.options.follow:
        hint = "spaseq submit --follow makes a job that goes on"
        raise InputError("--follow does not go with --runtime spark", hint=hint)
    if arguments.options.unordered:
        hint = "sort the files first: spaseq sort INPUT… -o sorted.nq"
        raise InputError("--unordered does not go with --runtime spark: its inputs go on", hint=hint)
    compiled = input_bytes(paths.values()) >= _COMPILED_BYTES_MIN
    options = {"rows": "documents", "compiled": compiled} | _given(arguments.options)
    names = {iri: name for query in queries for name, iri in query.streams}
    sources = {
        iri: source_options(path, arguments.options.max_line, *known_by(arguments.options, (names[iri], iri)))
        for iri, path in paths.items()
    }
    return SparkRun(tuple(queries), sources, sources_of(locations, arguments.kb), options)


def _given(options: RunOptions) -> dict[str, Any]:
    """The options that are not the defaults, and that `spaseq.spark.outcomes` has."""
    given = {each.name: getattr(options, each.name) for each in fields(options)}
    elsewhere = {"runtime", "dead_letter"}
    return {
        name: _placed(value) if name in _PATHS else value
        for name, value in given.items()
        if name not in elsewhere and value != getattr(_DEFAULTS, name)
    }


def _placed(paths: Any) -> Any:
    """A path or several by name, absolute."""
    if isinstance(paths, Mapping):
        return {name: _placed(path) for name, path in paths.items()}
    return absolute(os.fspath(paths))


def source_options(
    path: str, max_line: int = _DEFAULTS.max_line, given: str | None = None, tables: bool = False
) -> dict[str, str]:
    """The options of `format("spaseq")` for PATH, `kafka://BROKERS/TOPIC` or `tcp://HOST:PORT`.

    given   the format of its events; None: files say it, and messages are N-Quads
    tables  there is a template for files of tables
    """
    parts = urlsplit(path)
    if parts.scheme == "kafka":
        topic = parts.path.strip("/")
        if not (parts.netloc and topic):
            raise InputError(f"'{path}' names no topic", hint="kafka://HOST:PORT/TOPIC, several brokers with commas")
        return {"kafka.bootstrap.servers": parts.netloc, "subscribe": topic} | ({"rdfFormat": given} if given else {})
    if parts.scheme == "tcp":
        return {"host": parts.hostname or "", "port": str(parts.port or "")}
    if path == STANDARD_INPUT:
        raise InputError(
            "Spark cannot read standard input: after a failure it could not read it again",
            hint="give a file, a folder, a glob or kafka://HOST:PORT/TOPIC, or leave out --runtime spark",
        )
    path = plain(path)
    if not is_elsewhere(path):
        for file in input_files(path, given, tables):
            if file.format in TABLES and not tables:
                raise without_template(file.path)
    more = {} if max_line == _DEFAULTS.max_line else {"maxLine": str(max_line)}
    more |= {"inputFormat": given} if given else {}
    return {"path": path} | more | ({"tables": "true"} if tables else {})


def execute_on_spark(arguments: RunArguments) -> None:
    """Run to the end of the existing input, on the threads of this machine or on SPARK_MASTER."""
    run = checked(arguments)
    import spaseq.spark

    spaseq.spark.require()
    with ExitStack() as stack:
        path = arguments.options.dead_letter
        letters = DeadLetters(path)
        stack.callback(letters.close)
        if not arguments.options.strict:
            stack.callback(lambda: report_dead_letters(letters.counts, path))
        sink = open_sink(arguments.format, arguments.file, run.queries, arguments.provenance)
        stack.callback(sink.close)
        output = funnel_file(arguments, stack)
        writer = _Writer(sink, letters)
        funnels: list[Funnel] = []
        check_all(partial(_to_the_end, run, writer, funnels), letters.check_whole)
        report_funnels(funnels, output, table=arguments.funnel_table)


@dataclass(slots=True)
class _Writer:
    """Writes the outcomes of micro-batches, each once; `closed` when the reader of the output has gone."""

    sink: Sink
    letters: DeadLetters
    closed: bool = False
    written: int = -1

    def __call__(self, outcomes: BatchOutput, number: int) -> None:
        if self.closed or number <= self.written:
            return
        for letter in outcomes.letters:
            self.letters.add(letter)
        try:
            self.sink.write(outcomes.matches)
        except OutputClosed:
            self.closed = True
        self.written = number
        self.letters.check_written()


def _to_the_end(run: SparkRun, write: _Writer, funnels: list[Funnel]) -> None:
    """Run to the end of the input; the funnels of the queries, where they are counted, go into a list."""
    import spaseq.spark
    from spaseq.runtime.spark.jobs import start, streams_of
    from spaseq.runtime.spark.session import local_session

    with local_session("spaseq run") as session, tempfile.TemporaryDirectory(prefix="spaseq-checkpoint-") as checkpoint:
        streams = streams_of(session, run.sources, end=True)
        watch = spaseq.spark.Watch(session)
        outcomes = spaseq.spark.outcomes(session, run.queries, streams, run.knowledge, watch=watch, **run.options)
        job = start(outcomes, checkpoint, write, _show_progress)
        try:
            while not job.wait(1) and not write.closed:
                pass
        finally:
            job.stop()
        if not write.closed:
            say_why_nothing(watch.zero_rows())
        funnels += watch.funnels()


def _show_progress(metrics: BatchMetrics) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        say(str(metrics))
