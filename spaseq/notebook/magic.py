"""The cell magic `%%spaseq`: the options of `spaseq run`, with variables of the notebook as inputs."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from keyword import iskeyword
from pathlib import Path
from typing import Any

import click

from spaseq.algebra.build import build
from spaseq.algebra.nodes import TemporalQuery
from spaseq.cli import options as common
from spaseq.cli.knowledge import KnowledgeArguments
from spaseq.cli.reporting import say
from spaseq.cli.run import report_dead_letters, report_skipped, run_options
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.errors import QueryError, SPAseqError, render_problems, visible, warnings_as_errors
from spaseq.lang.ast import Query
from spaseq.lang.query_files import check_text
from spaseq.notebook.answer import Answer
from spaseq.notebook.progress import CellProgress
from spaseq.notebook.variables import Inputs
from spaseq.outputs.rows import Row

NAME = "spaseq"
ROWS_KEPT_MAX = 100_000
"""The default of `--limit`."""


@dataclass(frozen=True, slots=True)
class CellArguments:
    """The arguments of a cell, not yet checked.

    output  the variable that gets the answer, or the query with `draw`; "" for none
    limit   rows that are kept; others are counted
    draw    show the automaton, and run nothing
    """

    streams: tuple[str, ...]
    knowledge: tuple[str, ...]
    output: str
    limit: int
    draw: bool
    warnings: str | None
    kb: KnowledgeArguments
    options: RunOptions


@click.command(f"%%{NAME}", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@common.stream_option(
    help="A stream: a variable with a table (pandas, polars, Arrow), a Dataset (rdflib, pyoxigraph), a path; or a path."
)
@common.kb_option(help="A knowledge base: a variable (a graph, a path or a URL), a path, or the URL of an endpoint.")
@click.option("-o", "--output", default="", metavar="NAME", help="The variable that gets the answer.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=ROWS_KEPT_MAX,
    show_default=True,
    help="Keep so many rows; more are counted.",
)
@click.option("--draw", is_flag=True, help="Show the automaton of the query and run nothing; -o gets the query.")
@click.option("--analyze", is_flag=True, help="Count what each part of each step left over, and draw it.")
@common.evaluator_option
@common.max_delay_option
@common.strict_option
@common.time_options
@common.format_options
@click.option("--unordered", is_flag=True, help="Group files by graph and sort them by time first.")
@click.option("--dead-letter", metavar="PATH", type=common.OutputFile(), help="Write late and malformed input here.")
@common.limit_options
@common.knowledge_options
@common.warnings_option
def _command(**options: Any) -> CellArguments:
    """Run the query of the cell; show its rows as a table and on a timeline."""
    kb, settings = KnowledgeArguments.taken_from(options), run_options(options)
    return CellArguments(kb=kb, options=settings, **options)


def register_magic(shell: Any) -> None:
    """Register the magic with a shell."""

    def run(line: str, cell: str) -> Answer | Query | None:
        """Run the query of the cell; `%%spaseq --help` shows the options."""
        return run_cell(shell, line, cell)

    shell.register_magic_function(run, "cell", NAME)


def run_cell(shell: Any, line: str, cell: str) -> Answer | Query | None:
    """Run the query of a cell with the options of its line; raises UsageError, which a notebook shows in one line."""
    from IPython.core.error import UsageError

    try:
        arguments = _arguments(line)
        if arguments is None:
            return None
        found = _run(arguments, cell, shell.user_ns)
    except click.ClickException as error:
        raise UsageError(f"{error.format_message()} See %%{NAME} --help.") from None
    except QueryError as error:
        raise UsageError(f"the query is wrong\n{visible(error.message)}") from None
    except SPAseqError as error:
        hint = f"\n  hint: {error.hint}" if error.hint else ""
        raise UsageError(visible(f"{error.message}{hint}")) from None
    if arguments.output:
        shell.user_ns[arguments.output] = found
    return found


def _arguments(line: str) -> CellArguments | None:
    """The arguments of a line; None if it asked for help, which is shown."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise click.UsageError(f"the options cannot be read: {error}.") from error
    found = _command.main(words, prog_name=f"%%{NAME}", standalone_mode=False)
    if not isinstance(found, CellArguments):
        return None
    if found.output and (not found.output.isidentifier() or iskeyword(found.output)):
        raise click.UsageError(f"-o '{found.output}' is no name of a variable.")
    return found


def _run(arguments: CellArguments, text: str, variables: dict[str, Any]) -> Answer | Query:
    query = _query(text, arguments.output or "query", arguments.warnings)
    if arguments.draw:
        return query
    meaning = build(query)
    with tempfile.TemporaryDirectory(prefix="spaseq-cell-") as folder:
        inputs = Inputs(variables, Path(folder))
        streams = inputs.streams(meaning, arguments.streams)
        knowledge = inputs.knowledge(meaning, arguments.knowledge, arguments.kb)
        options = replace(
            arguments.options,
            template=inputs.templates(arguments.options.template),
            input_format=inputs.formats(streams, arguments.options.input_format),
            unordered=arguments.options.unordered or bool(inputs.datasets),
        )
        with closing(Job([meaning], streams, knowledge, options)) as job:
            return _answer(job, meaning, arguments.limit, options)


def _query(text: str, name: str, warnings: str | None) -> Query:
    """The query of a cell; prints its warnings; raises QueryError."""
    query, problems = check_text(text, name)
    if warnings == "error":
        problems = tuple(warnings_as_errors(problems))
    if query is None or (warnings == "error" and problems):
        raise QueryError([problem for problem in problems if problem.severity == "error"], text, name)
    if problems:
        say(render_problems(problems, text, name))
    return query


def _answer(job: Job, meaning: TemporalQuery, limit: int, options: RunOptions) -> Answer:
    from IPython.display import display

    progress = CellProgress(partial(display, display_id=True))
    kept: list[Row] = []
    count = 0
    for rows in job.rows():
        count += len(rows)
        if len(kept) < limit:
            kept += list(rows)[: limit - len(kept)]
        progress.update(job.statistics)
    progress.finish(job.statistics)
    report_skipped(job.statistics.skipped_rows)
    report_dead_letters(job.statistics.dead_letters, options.dead_letter)
    funnels = job.funnels() if options.analyze else []
    return Answer(
        meaning,
        kept,
        funnel=funnels[0] if funnels else None,
        reasons=job.zero_rows(),
        more=count - len(kept),
    )
