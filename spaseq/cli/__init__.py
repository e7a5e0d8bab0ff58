"""The command line: `run`, `submit`, `explain`, `why`, `validate`, `sort`, `convert`, `template`, `peek`, `kb`, …

Only click is imported here; each command imports what it needs when it runs, so that `--help` is
quick. What a command raises is turned into lines on stderr and an exit code by `spaseq.cli.reporting`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from spaseq.cli import options as common
from spaseq.cli.editor_commands import EDITOR_COMMANDS
from spaseq.cli.event_commands import convert_command, peek_command, sort_command, template_command
from spaseq.cli.installation_commands import INSTALLATION_COMMANDS
from spaseq.cli.reporting import BAD_USAGE, ReportingGroup
from spaseq.cli.service_commands import serve_command, service_group, workbench_command
from spaseq.cli.test_command import test_command
from spaseq.outputs import FILE_FORMATS, FORMATS

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("spaseq", cls=ReportingGroup, context_settings=_SETTINGS, invoke_without_command=True)
@common.version_option
@common.debug_option
@click.pass_context
def main(context: click.Context) -> None:
    """Find temporal patterns in streams of RDF graphs."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(BAD_USAGE)


_EVENT_COMMANDS = (sort_command, convert_command, template_command, peek_command)
_SERVICE_COMMANDS = (serve_command, service_group, workbench_command)
for _command in (*_EVENT_COMMANDS, test_command, *_SERVICE_COMMANDS, *EDITOR_COMMANDS, *INSTALLATION_COMMANDS):
    main.add_command(_command)


@main.command("run", short_help="Run queries over streams.")
@common.queries_argument
@common.stream_option(
    help="A stream, by its name in the query or by its IRI. PATH is a file, a folder, a glob, or - for standard input."
)
@common.kb_option(
    help="A knowledge base: RDF files, a file made by 'spaseq kb build', or the URL of a SPARQL endpoint."
)
@click.option(
    "--format", type=click.Choice(list(FORMATS)), default="table", show_default=True, help="How rows are written."
)
@click.option(
    "--output", metavar="PATH", type=common.OutputFile(), help="Write rows to this file.  [default: standard output]"
)
@click.option(
    "--provenance",
    is_flag=True,
    help="Write PROV-O beside the graphs of CONSTRUCT queries: their events and times; with trig, nquads or jelly.",
)
@common.evaluator_option
@common.max_delay_option
@click.option(
    "--dead-letter",
    metavar="PATH",
    type=common.OutputFile(),
    help="Write late events and malformed input to this file, as NDJSON.",
)
@common.strict_option
@click.option(
    "--runtime", type=click.Choice(["embedded", "spark"]), default="embedded", show_default=True, help="Where it runs."
)
@common.time_options
@common.format_options
@click.option("--arrival-time", is_flag=True, help="Stamp events as they arrive; they need no timestamp.")
@click.option(
    "--unordered",
    is_flag=True,
    help="Group quads by graph and sort events by time first, whatever their order; for inputs that end.",
)
@click.option(
    "--quiet-end",
    "quiet_end_s",
    metavar="DURATION",
    callback=common.quiet,
    default="50ms",
    show_default=True,
    help="An event that comes through a pipe is complete after so much silence, if it has its time and its last line "
    "is whole; off: when the next one begins.",
)
@click.option("--follow", is_flag=True, help="Read files as they grow, until Ctrl-C.")
@click.option(
    "--batch-size",
    "batch_events",
    metavar="N",
    type=click.IntRange(min=1),
    help="Events handled at a time; changes no row.",
)
@click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(min=1),
    help="Threads that read long N-Quads, also while queries run; changes no row.  [default: the processors]",
)
@common.limit_options
@common.analyze_options
@common.knowledge_options
@common.warnings_option
@common.debug_option
def run_command(queries: tuple[Path, ...], **options: Any) -> None:
    """Run one or more queries over streams and print a row for each match.

    \b
    spaseq run query.rq --stream S1=events.nq --stream S2=other.trig.gz
    cat events.nq | spaseq run query.rq --stream S1=- --format ndjson
    spaseq run query.rq --stream S1=growing.nq --follow --format ndjson
    """
    from spaseq.cli.knowledge import KnowledgeArguments
    from spaseq.cli.run import RunArguments, execute, run_options

    options["analyze"] = options["funnel_table"] or options["funnel_output"] is not None
    kb, settings = KnowledgeArguments.taken_from(options), run_options(options)
    arguments = RunArguments(queries=queries, kb=kb, options=settings, **options)
    if settings.runtime == "spark":
        from spaseq.cli.spark import execute_on_spark

        execute_on_spark(arguments)
    else:
        execute(arguments)


@main.command("submit", short_help="Write, or run, a Spark job.")
@common.queries_argument
@common.stream_option(
    help="A stream: a file, a folder that grows, a glob, kafka://HOST:PORT/TOPIC, or tcp://HOST:PORT."
)
@common.kb_option(help="A knowledge base, as for 'spaseq run'; every worker must be able to read it.")
@click.option(
    "--format", type=click.Choice(FILE_FORMATS), default="ndjson", show_default=True, help="How rows are written."
)
@click.option("--output", metavar="FOLDER", type=common.Folder(), help="Write rows here, a file for each micro-batch.")
@common.max_delay_option
@common.evaluator_option
@click.option(
    "--dead-letter", metavar="FOLDER", type=common.Folder(), help="Write late events and malformed input here."
)
@common.strict_option
@common.time_options
@click.option(
    "--job", metavar="FILE.py", type=_FILE, default="spaseq_job.py", show_default=True, help="The job to write."
)
@click.option("--checkpoint", metavar="PATH", help="Where the job keeps its state.  [default: beside the output]")
@click.option(
    "--shards",
    metavar="N",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="Parts that partitions are divided among. A checkpoint has one number; 'spaseq spark rescale' makes it more.",
)
@click.option("--follow", is_flag=True, help="Go on for ever.  [default: read what there is; the next start goes on]")
@click.option("--end-of-stream", is_flag=True, help="What there is is all: report what waits for more.")
@click.option(
    "--idle-timeout",
    "idle_timeout_ns",
    metavar="DURATION",
    callback=common.duration,
    help="A partition of a topic without messages for so long holds the watermark no longer.  [default: for ever]",
)
@click.option(
    "--on-data-loss",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="Where files or messages are gone, or others are in their place: fail, or warn and go on with what is left.",
)
@click.option("--run", "run_it", is_flag=True, help="Hand it to spark-submit at once.")
@click.option("--master", metavar="URL", help="For spark-submit: local[4], spark://…, yarn.")
@common.limit_options
@common.knowledge_options
@common.warnings_option
@common.debug_option
def submit_command(queries: tuple[Path, ...], **options: Any) -> None:
    """Write a Spark job: a Python file that spark-submit runs, and that goes on where it stopped.

    \b
    spaseq submit query.rq --stream S1=events/ --output matches --follow
    spark-submit spaseq_job.py

    Files and folders are of this machine, or of any file system that Spark has: s3a://BUCKET/in, hdfs:///matches.
    """
    from spaseq.cli.knowledge import KnowledgeArguments
    from spaseq.cli.run import RunArguments, run_options
    from spaseq.cli.submit import SubmitArguments, submit

    names = ("job", "checkpoint", "shards", "follow", "end_of_stream", "on_data_loss", "idle_timeout_ns", "run_it")
    job = SubmitArguments(*(options.pop(name) for name in (*names, "master")))
    kb, settings = KnowledgeArguments.taken_from(options), run_options(options)
    submit(RunArguments(queries=queries, kb=kb, options=settings, **options), job)


@main.command("explain", short_help="Say what a query means and how it is run.")
@click.argument("query", metavar="QUERY", type=common.QUERY)
@click.option(
    "--format",
    type=click.Choice(["text", "json", "dot", "mermaid", "svg"]),
    default="text",
    show_default=True,
    help="dot, mermaid and svg draw the automaton.",
)
@click.option(
    "--funnel",
    metavar="FILE",
    type=_FILE,
    help="Draw the counts of a run on the automaton: the file of 'spaseq run --analyze-output'.",
)
@click.option(
    "--evaluator",
    type=click.Choice(common.EVALUATORS),
    default="auto",
    show_default=True,
    help="Explain the run with this evaluator.",
)
@common.kb_option(
    help="A knowledge base, as for 'spaseq run': it is opened to see which parts can be joined with matches alone."
)
@common.knowledge_options
@common.warnings_option
@common.debug_option
def explain_command(
    query: Path, format: Any, funnel: Path | None, knowledge: tuple[str, ...], warnings: str | None, **options: Any
) -> None:
    """Say what a query means: its streams, the plans of its patterns, its automaton, the evaluator and why."""
    from spaseq.cli.explain import explained, with_funnel
    from spaseq.cli.knowledge import KnowledgeArguments
    from spaseq.cli.queries import read_queries
    from spaseq.cli.run import run_options
    from spaseq.errors import visible
    from spaseq.explain.render import render
    from spaseq.outputs.destination import Output

    (parsed,) = read_queries([query], warnings)
    kb = KnowledgeArguments.taken_from(options)
    described = explained(parsed, knowledge, kb, run_options(options))
    described, widths = (described, ()) if funnel is None else with_funnel(described, funnel, format)
    shown = render(described, format, widths)
    Output.open(None).write(shown if format == "json" else visible(shown))


@main.command("why", short_help="Say why a row is there.")
@common.queries_argument
@common.why_options
@common.answer_option(
    type=click.Choice(["text", "json", "trig"]), help="trig is PROV-O, of the graphs of CONSTRUCT queries."
)
@click.option("--match", metavar="N", type=click.IntRange(min=1), required=True, help="The row of the output, from 1.")
@common.debug_option
def why_command(queries: tuple[Path, ...], match: int, **options: Any) -> None:
    """Say why a row is there: the event of each step, the triples that its pattern used, conditions, absences.

    \b
    spaseq why query.rq --stream S1=events.nq --match 1
    """
    from spaseq.cli.why import WhyArguments, show_why

    show_why(WhyArguments.taken_from(queries, options), match)


@main.command("why-not", short_help="Say why there is no match.")
@common.queries_argument
@common.why_options
@common.answer_option(type=click.Choice(["text", "json"]), help="How it is written.")
@common.asked_options
@common.debug_option
def why_not_command(queries: tuple[Path, ...], **options: Any) -> None:
    """Say why there is no match: the attempts that came furthest, and the least change with which they go on.

    \b
    spaseq why-not query.rq --stream S1=events.nq --bind house=:H1 --from 2026-01-01T00:00:00Z
    """
    from spaseq.cli.why import WhyArguments, show_why_not

    asked = [options.pop(name) for name in ("bind", "events", "since", "until")]
    show_why_not(WhyArguments.taken_from(queries, options), *asked)


@main.command("validate", short_help="Check queries without running them.")
@common.queries_argument
@common.warnings_option
@common.debug_option
def validate_command(queries: tuple[Path, ...], warnings: str | None) -> None:
    """Check queries: exit with 0, or print every problem with line, column and a hint and exit with 2."""
    from spaseq.cli.queries import report_problems

    if not report_problems(queries, warnings):
        raise click.exceptions.Exit(BAD_USAGE)


@main.group("spark", short_help="Look after Spark jobs.")
def spark_group() -> None:
    """Look after the checkpoints of Spark jobs."""


@spark_group.command("rescale", short_help="Divide the state of a stopped job among more shards.")
@click.argument("checkpoint", metavar="CHECKPOINT")
@click.option(
    "--shards",
    metavar="N",
    type=click.IntRange(min=1),
    required=True,
    help="The new number: a multiple of the old one.",
)
@common.debug_option
def rescale_command(checkpoint: str, shards: int) -> None:
    """Divide the state of a stopped job among more shards: its rows are those of a job that always had so many.

    CHECKPOINT is the folder of the job's state. The new one takes its place when it is complete; the old one is kept
    beside it, as CHECKPOINT.2-shards. Then start the job with the new number.

    \b
    spaseq spark rescale matches.checkpoint --shards 8
    """
    from spaseq.cli.rescale import rescale

    rescale(checkpoint, shards)


@main.command("warm", short_help="Compile kernels beforehand.")
@click.option(
    "--output",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep compiled code here; runs find it by NUMBA_CACHE_DIR=FOLDER.",
)
@click.option("--portable", is_flag=True, help="For any processor of this architecture.  [default: for this one]")
@common.debug_option
def warm_command(output: Path | None, portable: bool) -> None:
    """Compile what long runs and Spark jobs compile: two minutes once, instead of at each one's start.

    \b
    spaseq warm                                for this installation and processor
    spaseq warm --portable                     for an installation that is packed and shipped
    spaseq warm --portable --output kernels    into a folder to be shipped
    """
    from spaseq.cli.warm import warm

    warm(output, portable)


@main.group("kb", short_help="Prepare knowledge bases.")
def knowledge_group() -> None:
    """Prepare knowledge bases."""


@knowledge_group.command("build", short_help="Make a file that every process opens at once.")
@click.argument("files", metavar="FILE…", nargs=-1, required=True, type=common.QUERY)
@click.option("-o", "--output", metavar="NAME.kb", required=True, type=_FILE, help="The prepared file.")
@click.option(
    "--entail", type=click.Choice(["rdfs"]), help="Add what follows by RDFS, here and in every run to events."
)
@common.debug_option
def build_command(files: tuple[Path, ...], output: Path, entail: str | None) -> None:
    """Read RDF files, folders and globs into one prepared file.

    \b
    spaseq kb build cities.ttl more/*.nt.gz -o cities.kb
    spaseq run query.rq --stream S1=events.nq --kb http://example.org/cities=cities.kb
    """
    from spaseq.cli.knowledge import build_prepared

    build_prepared(files, output, entail is not None)
