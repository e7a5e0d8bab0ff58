"""`spaseq fmt`: query files in the one format."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from spaseq.cli.reporting import BAD_USAGE, FAILED, report, say
from spaseq.editors.formatting import formatted, hindrances
from spaseq.errors import InputError, QueryError, visible
from spaseq.lang.query_files import read_text

_STANDARD_INPUT = Path("-")


def format_queries(paths: Sequence[Path], check: bool) -> None:
    """Rewrite each file that is not in the format, or, to check, name it; exits with 2 where a text cannot be read."""
    failed, different = False, False
    for path in paths:
        try:
            different |= _format(path, check)
        except (QueryError, InputError) as error:
            report(error)
            failed = True
    if failed:
        raise click.exceptions.Exit(BAD_USAGE)
    if check and different:
        raise click.exceptions.Exit(FAILED)


def _format(path: Path, check: bool) -> bool:
    """True if a file is not in the format."""
    text = _standard_input() if path == _STANDARD_INPUT else read_text(path)
    if found := hindrances(text):
        raise QueryError(found, text, str(path))
    written = formatted(text)
    if check:
        if written != text:
            say(f"{visible(str(path))} is not in the format: spaseq fmt {visible(str(path))}")
    elif path == _STANDARD_INPUT:
        click.echo(written, nl=False)
    elif written != text:
        _write(path, written)
    return written != text


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"standard input: byte {error.start} is not UTF-8") from None


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}", hint="the file is as it was") from None
