"""The page of the command line, made from its commands."""

from __future__ import annotations

from collections.abc import Iterator

import click

from spaseq.cli import main

HEAD = """# Command line

Made from the program. `spaseq COMMAND --help` prints the same. Exit codes: 0 done, 1 the run failed, 2 bad
query or bad usage.
"""


def cli_page() -> str:
    """The page: each command with its usage, its description, its arguments and options."""
    return HEAD + "".join(_command(command, context) for command, context in commands(main, click.Context(main)))


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Each command that can be run, below this one, with the context that knows its whole name."""
    if not isinstance(command, click.Group):
        yield command, context
        return
    context.info_name = context.info_name or command.name
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        if below is not None and not below.hidden:
            yield from commands(below, click.Context(below, info_name=name, parent=context))


def _command(command: click.Command, context: click.Context) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    options = [record for each in command.params if (record := each.get_help_record(context)) is not None]
    rows = "".join(f"| `{_cell(name)}` | {_prose(words)} |\n" for name, words in options)
    table = f"\n| option | meaning |\n|---|---|\n{rows}" if rows else ""
    return f"\n## {context.command_path}\n\n```text\n{usage}\n```\n\n{_description(command.help or '')}{table}"


def _description(text: str) -> str:
    """Paragraphs; those that begin with the mark of click for lines kept as they are become blocks of code."""
    paragraphs = text.replace("\b\n", "\b").split("\n\n")
    return "\n".join(
        f"```text\n{paragraph[1:]}\n```\n" if paragraph.startswith("\b") else f"{_prose(paragraph)}\n"
        for paragraph in paragraphs
        if paragraph.strip()
    )


def _prose(text: str) -> str:
    """Text in which Markdown sees no marks of its own."""
    for mark in ("\\", "*", "_", "<", "|", "["):
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
