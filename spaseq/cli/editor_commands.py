"""The commands for those who write: `fmt`, `lsp`, `completion` and `problem`. Only click is imported here."""

from __future__ import annotations

from pathlib import Path

import click

from spaseq.cli import options as common


@click.command("fmt", short_help="Write queries in the one format.")
@common.queries_argument
@click.option(
    "--check", is_flag=True, help="Write nothing: name the files that are not in the format, and exit with 1."
)
@common.debug_option
def fmt_command(queries: tuple[Path, ...], check: bool) -> None:
    """Write queries in the one format, each to its file: keywords in upper case, a line for each clause.

    Comments, and line breaks inside of brackets, stay. QUERY is a file, or - for standard input, which goes to standard
    output.

    \b
    spaseq fmt queries/*.rq
    spaseq fmt --check queries/*.rq
    """
    from spaseq.cli.fmt import format_queries

    format_queries(queries, check)


@click.command("lsp", short_help="Serve an editor by the Language Server Protocol.")
@common.debug_option
def lsp_command() -> None:
    """Serve an editor by the Language Server Protocol, over standard input and output.

    Problems with quick fixes, hover, completion, go to definition, rename, folding, colours, formatting. Editors start
    it themselves: docs/how-to/editors.md says how.
    """
    from spaseq.cli.lsp import serve_editor

    serve_editor()


@click.command("completion", short_help="Print what completes commands in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common.debug_option
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the script that lets a shell complete commands, options, files and names of streams.

    \b
    spaseq completion bash > ~/.local/share/bash-completion/completions/spaseq
    spaseq completion zsh > "${fpath[1]}/_spaseq"
    spaseq completion fish > ~/.config/fish/completions/spaseq.fish
    """
    from spaseq.cli.completion import script

    click.echo(script(context.find_root().command, shell), nl=False)


@click.command("problem", short_help="Say what causes a problem of a query, and what cures it.")
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@common.debug_option
def problem_command(codes: tuple[str, ...]) -> None:
    """Say what causes errors and warnings of queries, and what cures them: those with these codes, or all.

    \b
    spaseq problem SQ018
    """
    from spaseq.cli.problem import told

    click.echo(told(codes))


EDITOR_COMMANDS = (fmt_command, lsp_command, completion_command, problem_command)
