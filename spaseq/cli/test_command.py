"""The command `spaseq test`; what it does is in `spaseq.cli.test`."""

from __future__ import annotations

from pathlib import Path

import click

from spaseq.cli import options as common


@click.command("test", short_help="Run tests of queries.")
@click.argument("files", metavar="FILE…", nargs=-1, required=True, type=common.QUERY)
@click.option(
    "--evaluator", type=click.Choice(common.EVALUATORS), default="auto", show_default=True, help="As of 'spaseq run'."
)
@click.option("--print-rows", is_flag=True, help="Print the rows as a test states them, in place of the outcome.")
@common.debug_option
def test_command(files: tuple[Path, ...], evaluator: str, print_rows: bool) -> None:
    """Run tests of queries: TriG files with events and the rows expected of them. Of folders all such files.

    \b
    spaseq test tests/            exit code 0: all as expected, 1: a difference, 2: a test cannot be run
    """
    from spaseq.cli.test import run_tests

    raise click.exceptions.Exit(run_tests(files, evaluator, print_rows))
