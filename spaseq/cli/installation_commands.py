"""The commands of an installation: `spaseq demo` shows that it works, `spaseq doctor` what it has."""

from __future__ import annotations

from pathlib import Path

import click

from spaseq.cli import options as common
from spaseq.cli.reporting import FAILED


@click.command("demo", short_help="Try SPAseq on a smart grid.")
@click.option(
    "--events", metavar="N", type=click.IntRange(min=0), default=5000, show_default=True, help="How many, in all."
)
@click.option(
    "--seed", metavar="S", type=int, default=1, show_default=True, help="The same seed gives the same events."
)
@click.option(
    "--output",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the streams, the knowledge base and the query here.  [default: they are removed in the end]",
)
@common.debug_option
@click.pass_context
def demo_command(context: click.Context, events: int, seed: int, output: Path | None) -> None:
    """Find houses that could change to solar power, in the events of a smart grid that are generated first.

    \b
    spaseq demo
    spaseq demo --events 100000 --output grid
    """
    from spaseq.cli.demo import grid

    group = context.find_root().command
    assert isinstance(group, click.Group)
    with grid(events, seed, output) as arguments:
        group.commands["run"].main(arguments, prog_name="spaseq run", standalone_mode=False)


@click.command("doctor", short_help="Say what this installation has, and lacks.")
@common.debug_option
def doctor_command() -> None:
    """Say what this installation has: versions, extras, caches, compiled kernels, Java.

    \b
    spaseq doctor                 exit code 0: SPAseq has all that it needs, 1: a package is missing
    """
    from spaseq.cli.doctor import examined

    lines, complete = examined()
    click.echo("\n".join(lines))
    if not complete:
        raise click.exceptions.Exit(FAILED)


INSTALLATION_COMMANDS = (demo_command, doctor_command)
