"""The commands of the service: `serve`, `workbench`. Only click is imported here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from spaseq.cli import options as common

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("serve", short_help="Run queries over streams that do not end.")
@click.option("--config", metavar="FILE", type=_FILE, help="What is declared at the start, as TOML.")
@click.option("--config-wins", is_flag=True, help="What FILE declares replaces what was changed or deleted over HTTP.")
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    default="spaseq-data",
    show_default=True,
    help="Where events, rows and state are kept; one service has it.",
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen at; FILE declares tokens if others can reach it.",
)
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=7373, show_default=True)
@common.debug_option
def serve_command(config: Path | None, config_wins: bool, data: Path, host: str, port: int) -> None:
    """Run queries over streams that do not end, over HTTP, until SIGTERM or Ctrl-C; nothing accepted is lost.

    \b
    spaseq serve --config spaseq.toml --data /var/lib/spaseq
    """
    from spaseq.cli.serve import serve_until_told

    if config_wins and config is None:
        raise click.UsageError("--config-wins needs --config")
    serve_until_told(config, config_wins, data, host, port)


@click.command("workbench", short_help="Open the workbench on files.")
@click.argument("queries", metavar="[QUERY…]", nargs=-1, type=common.QUERY)
@common.stream_option(help="A stream, as for 'spaseq run'; without any, events are pushed from the workbench.")
@common.kb_option(help="A knowledge base, as for 'spaseq run'.")
@common.max_delay_option
@common.template_option
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="[default: one that is free]")
@click.option("--no-open", is_flag=True, help="Open no browser.")
@common.debug_option
def workbench_command(no_open: bool, **options: Any) -> None:
    """Open the workbench in a browser: a service on this machine with a temporary folder, gone at Ctrl-C.

    \b
    spaseq workbench query.rq --stream S1=power.nq --kb http://smartgrid.org/db=kb.ttl
    """
    from spaseq.cli.workbench import WorkbenchArguments, workbench

    workbench(WorkbenchArguments(browser=not no_open, **options))
