"""`spaseq run`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spaseq.algebra.build import build
from spaseq.algebra.nodes import TemporalQuery
from spaseq.cli.bindings import bind_knowledge, bind_streams
from spaseq.cli.knowledge import KnowledgeArguments, loading, sources_of
from spaseq.cli.queries import read_queries
from spaseq.cli.reporting import say, say_warning, terminal
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.errors import InputError, visible
from spaseq.inputs.paths import files_of, hidden_names, is_elsewhere
from spaseq.outputs import GRAPH_FORMATS, open_sink
from spaseq.outputs.destination import Output, OutputClosed
from spaseq.outputs.sink import Sink

if TYPE_CHECKING:
    from rich.console import Console

    from spaseq.cli.progress import Progress
    from spaseq.explain.funnel import Funnel

_HIDDEN_SHOWN_MAX = 5


@dataclass(frozen=True, slots=True)
class RunArguments:
    """The arguments of `spaseq run`, not yet checked; streams are NAME=PATH, knowledge bases IRI=PATH_OR_URL.

    output      None: standard output; of a Spark job a folder, a text if it is of another file system
    warnings    of `-W`: "error" makes errors of the warnings of a query
    funnel_table    print the funnel of each query on stderr
    funnel_output   write it to this file; None: to none
    provenance      write PROV-O beside the graphs of CONSTRUCT queries
    """

    queries: tuple[Path, ...]
    streams: tuple[str, ...]
    knowledge: tuple[str, ...]
    format: str
    output: Path | str | None
    warnings: str | None
    kb: KnowledgeArguments
    options: RunOptions
    funnel_table: bool = False
    funnel_output: Path | None = None
    provenance: bool = False

    @property
    def file(self) -> Path | None:
        """The file of rows of a run; None: standard output."""
        return None if self.output is None else Path(self.output)


def execute(arguments: RunArguments) -> None:
    """Run to the end of the input; all arguments are checked before the output is opened."""
    queries, streams, knowledge = bound(arguments)
    with ExitStack() as stack:
        with loading() as progress_of_loading:
            options = replace(arguments.options, loading=progress_of_loading)
            job = Job(queries, streams, sources_of(knowledge, arguments.kb), options)
        stack.callback(job.close)
        if options.analyze:
            output = funnel_file(arguments, stack)
            stack.callback(lambda: report_funnels(job.funnels(), output, table=arguments.funnel_table))
        stack.callback(lambda: report_skipped(job.statistics.skipped_rows))
        if not options.strict:  # there the first one is the error itself
            stack.callback(lambda: report_dead_letters(job.statistics.dead_letters, options.dead_letter))
        stack.callback(lambda: say_why_nothing(job.zero_rows()))
        sink = open_sink(arguments.format, arguments.file, queries, arguments.provenance)
        progress = _progress(job, stack)
        stack.callback(sink.close)
        _pump(job, sink, progress, rows_on_terminal=arguments.output is None and sys.stdout.isatty())


def funnel_file(arguments: RunArguments, stack: ExitStack) -> Output | None:
    """The file of `--analyze-output`, opened now; None: there is none."""
    if arguments.funnel_output is None:
        return None
    output = Output.open(arguments.funnel_output)
    stack.callback(output.close)
    return output


def report_funnels(funnels: Sequence[Funnel], output: Output | None, *, table: bool) -> None:
    """Write the funnels to their file, and print them as a table."""
    from spaseq.explain.funnel import to_json, to_table

    if output is not None:
        output.write("".join(map(to_json, funnels)))
    if table and funnels:
        say(to_table(funnels))


def bound(arguments: RunArguments) -> tuple[list[TemporalQuery], dict[str, str], dict[str, str]]:
    """The queries, the path of each stream and the source of each knowledge base, by IRI, with warnings about both."""
    queries = [build(query) for query in read_queries(arguments.queries, arguments.warnings)]
    streams = bind_streams(queries, arguments.streams)
    knowledge, unused = bind_knowledge(queries, arguments.knowledge)
    for iri in unused:
        say_warning(f"no query uses the knowledge base <{iri}>", f"a query uses it with GRAPH <{iri}> {{ … }}")
    for path in streams.values():
        _report_hidden_names(path)
    inputs = [Path(name) for path in (*streams.values(), *knowledge.values()) for name in files_of(path)]
    _check_outputs(arguments, [*arguments.queries, *inputs])
    if arguments.provenance:
        _check_provenance(arguments.format, queries)
    return queries, streams, knowledge


def _check_provenance(format: str, queries: Sequence[TemporalQuery]) -> None:
    """Raises InputError where no row of the output can have provenance beside it, or one has a group of matches."""
    if format not in GRAPH_FORMATS:
        hint = f"use --format {GRAPH_FORMATS[0]}, {GRAPH_FORMATS[1]} or {GRAPH_FORMATS[2]}"
        raise InputError(f"--provenance is RDF, which cannot be written as {format}", hint=hint)
    constructs = [query for query in queries if query.template is not None]
    if not constructs:
        hint = f"a row of SELECT has its events with --format {format} alone; 'spaseq why' explains it"
        raise InputError("--provenance is about graphs of CONSTRUCT, and no query has one", hint=hint)
    for query in constructs:
        if query.over is not None:
            hint = "'spaseq why' explains it by its matches"
            raise InputError(f"a row of query '{query.name}' is a group of matches, not written as PROV-O", hint=hint)


def _report_hidden_names(path: str) -> None:
    if skipped := hidden_names(path):
        shown = ", ".join(os.path.relpath(name, path) for name in skipped[:_HIDDEN_SHOWN_MAX])
        more = f" and {len(skipped) - _HIDDEN_SHOWN_MAX} more" if len(skipped) > _HIDDEN_SHOWN_MAX else ""
        say_warning(f"skipped in {path}: {shown}{more}", "hidden names are not read; rename what belongs to the stream")


def _progress(job: Job, stack: ExitStack) -> Progress | None:
    """The progress line, which prints a summary when the stack is closed; None without a terminal."""
    console = terminal()
    if console is None:
        return None
    from spaseq.cli.progress import Progress

    progress = Progress(console)
    stack.callback(lambda: _report_replanned(job.statistics.replanned, console))
    stack.callback(lambda: progress.finish(job.statistics))
    return progress


def run_options(options: dict[str, Any]) -> RunOptions:
    """The fields of RunOptions, removed from the options of a command; those that were not given have its defaults."""
    taken = {each.name: options.pop(each.name) for each in fields(RunOptions) if each.name in options}
    given = {name: value for name, value in taken.items() if value not in (None, ())}
    if given.get("arrival_time") and "time_predicates" in given:
        raise InputError("--time-predicate and --arrival-time exclude each other", hint="leave one of them out")
    if given.get("arrival_time") and given.get("unordered"):
        raise InputError("--unordered and --arrival-time exclude each other", hint="leave one of them out")
    if given.get("follow") and given.get("unordered"):
        raise InputError("--unordered and --follow exclude each other", hint="an input that never ends is not sorted")
    return RunOptions(**given)


def _pump(job: Job, sink: Sink, progress: Progress | None, rows_on_terminal: bool) -> None:
    """Write rows until the input ends or the reader of the output has gone."""
    try:
        for rows in job.rows():
            if rows and rows_on_terminal and progress is not None:
                progress.clear()
            if rows:
                sink.write(rows)
            if progress is not None:
                progress.update(job.statistics)
    except OutputClosed:
        return


def report_dead_letters(counts: Mapping[str, int], path: Path | None) -> None:
    """Print the number of dead letters by kind, if there are any."""
    total = sum(counts.values())
    if not total:
        return
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()) if count)
    letters = "dead letter" if total == 1 else "dead letters"
    hint = f"they are in {path}" if path is not None else "--dead-letter PATH keeps them"
    say_warning(f"{total} {letters}: {reasons}", hint)


def say_why_nothing(lines: Sequence[str]) -> None:
    """Print the reasons for zero rows, if there are any."""
    if lines:
        say("\n".join(lines))


def report_skipped(rows: Mapping[str, int]) -> None:
    """Print how many rows were joined with nothing, for each knowledge base that failed."""
    for iri, count in rows.items():
        counted = "row was" if count == 1 else "rows were"
        say_warning(f"{count:,} {counted} joined with nothing: <{iri}> failed", "--kb-failure wait loses nothing")


def _report_replanned(replanned: Mapping[str, Sequence[str]], console: Console) -> None:
    for query, switches in replanned.items():
        text = visible("\n".join([f"evaluator of {query}:", *switches]))
        console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)


def _check_outputs(arguments: RunArguments, inputs: list[Path]) -> None:
    """Raises InputError for an output that is an input, or that is given twice."""
    outputs = [
        ("--output", arguments.output),
        ("--dead-letter", arguments.options.dead_letter),
        ("--analyze-output", arguments.funnel_output),
    ]
    given = [(option, Path(path)) for option, path in outputs if path is not None and not is_elsewhere(os.fspath(path))]
    for option, path in given:
        if path.is_file() and any(source.exists() and os.path.samefile(path, source) for source in inputs):
            raise InputError(f"{option} {path} is an input of this run", hint="write to another file")
    for (first, path), (second, other) in combinations(given, 2):
        if path.absolute() == other.absolute():
            raise InputError(f"{first} and {second} are both {path}", hint="give two files")
