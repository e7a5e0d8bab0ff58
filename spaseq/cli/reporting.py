"""Exceptions of commands as lines on stderr and an exit code.

0     done, also when the reader of the output has gone (`| head`)
1     the run failed, or we have a bug
2     bad usage, a bad query, an input that cannot be used
130   interrupted
"""

from __future__ import annotations

import atexit
import errno
import gc
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from spaseq.cli.options import DEBUG_KEY
from spaseq.errors import InputError, QueryError, SPAseqError, visible

if TYPE_CHECKING:
    from rich.console import Console

DONE, FAILED, BAD_USAGE, INTERRUPTED = 0, 1, 2, 130
_ALLOCATIONS_MIN = 50_000
"""The threshold of the youngest generation of objects, which are seldom in cycles; Python's default is 700."""


class ReportingGroup(click.Group):
    """A click group whose commands never end in a traceback."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> Any:
        """Run the command; without arguments of a caller, the process is its own, and collects garbage seldom."""
        if args is None:
            gc.set_threshold(_ALLOCATIONS_MIN)
            atexit.register(gc.freeze)  # the memory is released as a whole
        return super().main(args, *others, **extra)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context, or the exit for options of the group that are wrong."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except (click.UsageError, OSError) as error:
            raise click.exceptions.Exit(report(error)) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an exception becomes a report and an exit code."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, SystemExit):
            raise
        except (Exception, KeyboardInterrupt) as error:
            command = f"{ctx.command_path} {ctx.invoked_subcommand or ''}".rstrip()
            raise click.exceptions.Exit(report(error, ctx.meta.get(DEBUG_KEY, False), command)) from error


def report(error: BaseException, debug: bool = False, command: str = "spaseq") -> int:
    """Print the report of an exception and return the exit code; `command` is the one whose help a hint names."""
    match error:
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED
        case BrokenPipeError():
            from spaseq.outputs.destination import discard_standard_output

            discard_standard_output()
            return DONE
        case OSError(errno=errno.ENOSPC):
            from spaseq.outputs.destination import discard_standard_output, reason

            discard_standard_output()
            say_error(f"cannot write: {reason(error)}", "free some space, and run again")
            return FAILED
        case click.UsageError():
            return _report_usage(error, command)
        case QueryError():
            say(error.message)
            return BAD_USAGE
        case SPAseqError():
            say_error(error.message, error.hint)
            return BAD_USAGE if isinstance(error, InputError) else FAILED
        case _:
            return _report_bug(error, debug)


def terminal() -> Console | None:
    """The terminal behind stderr, None if there is none; rich is imported only for a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    from rich.console import Console

    console = Console(stderr=True)
    return console if console.is_terminal else None


def say(text: str) -> None:
    """Print on stderr."""
    click.echo(visible(text), err=True)


def say_error(message: str, hint: str = "") -> None:
    """`error: …` with the hint below."""
    say(f"error: {message}" + (f"\n  hint: {hint}" if hint else ""))


def say_warning(message: str, hint: str = "") -> None:
    """`warning: …` with the hint below."""
    say(f"warning: {message}" + (f"\n  hint: {hint}" if hint else ""))


def _report_usage(error: click.UsageError, command: str) -> int:
    message = error.format_message().strip()
    place = error.ctx.command_path if error.ctx is not None else command
    say_error(message[:1].lower() + message[1:].rstrip("."), f"see '{place} --help'")
    return BAD_USAGE


def _report_bug(error: BaseException, debug: bool) -> int:
    if debug:
        say("".join(traceback.format_exception(error)).rstrip())
    description = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
    again = "" if debug else "; --debug shows where"
    say_error(f"internal error: {description}", f"this is a bug in SPAseq, please report it with the query{again}")
    return FAILED
