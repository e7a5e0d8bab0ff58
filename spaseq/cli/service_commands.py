"""The commands of the service: `serve`, `service …`, `workbench`. Only click is imported here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from spaseq.cli import options as common

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


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
@click.option(
    "--accept-loss", is_flag=True, help="Start once with what is there of a damaged folder, and say what is lost."
)
@common.debug_option
def serve_command(config: Path | None, config_wins: bool, data: Path, host: str, port: int, accept_loss: bool) -> None:
    """Run queries over streams that do not end, over HTTP, until SIGTERM or Ctrl-C; nothing accepted is lost.

    \b
    spaseq serve --config spaseq.toml --data /var/lib/spaseq
    """
    from spaseq.cli.serve import serve_until_told

    if config_wins and config is None:
        raise click.UsageError("--config-wins needs --config")
    serve_until_told(config, config_wins, data, host, port, accept_loss)


@click.group("service", short_help="Check, back up and restore the folder of a service.")
def service_group() -> None:
    """Check, back up and restore the data folder of a service."""


@service_group.command("check", short_help="Read a data folder once, and say what is wrong with it.")
@click.argument("data", type=_FOLDER)
@click.option("--repair", is_flag=True, help="Keep what is sound, and say what is lost; then the service starts.")
@common.debug_option
@click.pass_context
def check_command(context: click.Context, data: Path, repair: bool) -> None:
    """Read the data folder of a service that does not run: chain, checksums, numbers.

    Exit code 0 if it is sound, or nothing is lost by a repair; else 1, and what is wrong, by file and record.

    \b
    spaseq service check /var/lib/spaseq
    """
    from spaseq.cli.maintenance import check_folder

    context.exit(check_folder(data, repair))


@service_group.command("backup", short_help="Copy a data folder into a file, also while the service runs.")
@click.argument("data", type=_FOLDER)
@click.option(
    "-o", "--output", "file", metavar="FILE", type=_FILE, required=True, help="Replaced when the copy is whole."
)
@common.debug_option
def backup_command(data: Path, file: Path) -> None:
    """Copy the data folder of a service into one file, as it is at one moment, also while the service runs.

    \b
    spaseq service backup /var/lib/spaseq -o spaseq.backup
    """
    from spaseq.cli.maintenance import make_backup

    make_backup(data, file)


@service_group.command("restore", short_help="Make a data folder from a backup.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.argument("data", type=click.Path(path_type=Path))
@common.debug_option
def restore_command(file: Path, data: Path) -> None:
    """Make a data folder, which is new or empty, from a backup.

    \b
    spaseq service restore spaseq.backup /var/lib/spaseq
    """
    from spaseq.cli.maintenance import restore_backup

    restore_backup(file, data)


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
