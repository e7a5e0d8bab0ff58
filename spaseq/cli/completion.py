"""Completion of the command line in shells: the scripts, and the names of streams."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

_PROGRAM, _VARIABLE = "spaseq", "_SPASEQ_COMPLETE"


def script(command: click.Command, shell: str) -> str:
    """The script of a shell that asks this program for completions."""
    kind = get_completion_class(shell)
    assert kind is not None, shell
    return kind(command, {}, _PROGRAM, _VARIABLE).source() + "\n"


def stream_names(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`NAME=` for the streams of the queries that stand on the command line already; after it, files."""
    if "=" in incomplete:
        return [CompletionItem(incomplete, type="file")]
    from spaseq.editors.document import Document, Names
    from spaseq.errors import InputError
    from spaseq.lang.query_files import read_text

    found: dict[str, None] = {}
    for path in context.params.get("queries") or context.args:  # all words, while an option has no value
        try:
            names = Document(read_text(Path(path))).names(Names.STREAM)
        except InputError:
            continue
        found.update(dict.fromkeys(names))
    return [CompletionItem(f"{name}=") for name in found if name.startswith(incomplete)]
