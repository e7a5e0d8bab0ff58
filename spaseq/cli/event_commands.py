"""The commands about events alone: `sort`, `convert`, `template`, `peek`. Only click is imported here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from spaseq.cli import options as common


@click.command("sort", short_help="Sort events by time, whatever wrote them.")
@common.inputs_argument
@common.events_output_option
@click.option(
    "--memory",
    metavar="SIZE",
    callback=common.size,
    help="What records may take; the rest is in temporary files.  [default: 256MiB]",
)
@common.event_options
@common.debug_option
def sort_command(inputs: tuple[str, ...], output: Path, memory: int | None, **options: Any) -> None:
    """Group quads by graph and sort events by time: what serializers and stores write becomes a stream.

    The time of an event stands before its graph, unless it is inside it. Events of the same time stay in the order of
    their first quads. INPUT is a file, a folder, a glob, or - for standard input, in any format that is read.

    \b
    spaseq sort dump.nq.gz more.trig -o events.nq.gz
    """
    from spaseq.cli.events import sort

    sort(inputs, output, memory, options)


@click.command("convert", short_help="Write events in another format.")
@common.inputs_argument
@common.events_output_option
@common.event_options
@common.debug_option
def convert_command(inputs: tuple[str, ...], output: Path, **options: Any) -> None:
    """Write the events of the inputs in another format, in their order.

    \b
    spaseq convert events.trig -o events.nq.gz
    """
    from spaseq.cli.events import convert

    convert(inputs, output, options)


@click.command("template", short_help="Propose a template for a table.")
@click.argument("input", metavar="FILE")
@common.format_options
@common.debug_option
def template_command(input: str, **options: Any) -> None:
    """Print a template for a table: TriG that says what a row means, by the names and types of the columns.

    \b
    spaseq template trades.csv > trades.trig
    spaseq run query.rq --stream S1=trades.csv --template trades.trig
    """
    from spaseq.cli.events import propose

    propose(input, options)


@click.command("peek", short_help="Show the first event of an input.")
@common.inputs_argument
@common.event_options
@common.debug_option
def peek_command(inputs: tuple[str, ...], **options: Any) -> None:
    """Print the first event of each input as TriG, with its time, or say which option is missing.

    \b
    spaseq peek events.nq
    """
    from spaseq.cli.events import peek

    peek(inputs, options)
