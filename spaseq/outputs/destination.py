"""Destinations of text: files and standard output."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import BinaryIO

from spaseq.errors import InputError, RunError

_STANDARD_OUTPUT = "standard output"


class OutputClosed(BrokenPipeError):
    """The reader of the output has gone, as in `| head`: the run ends without an error."""


class Output:
    """A destination of UTF-8 text; `width` in columns, None without a terminal; `styled`: it can show bold."""

    def __init__(self, stream: BinaryIO, name: str = _STANDARD_OUTPUT, *, owned: bool = False) -> None:
        self._stream = stream
        self._name = name
        self._owned = owned
        self._closed = False
        self.width: int | None = shutil.get_terminal_size().columns if stream.isatty() else None
        self.styled = self.width is not None and os.environ.get("TERM", "dumb") != "dumb"

    @staticmethod
    def open(path: Path | None) -> Output:
        """The file, truncated, or standard output for None and `-`; raises InputError if it cannot be opened."""
        if path is None or str(path) == "-":
            if sys.stdout is None:
                raise InputError("cannot write to standard output: it is closed", hint="name a file with --output")
            return Output(sys.stdout.buffer)
        try:
            return Output(path.open("wb"), str(path), owned=True)
        except OSError as error:
            hint = "give a file in a folder that exists and that you may write to"
            raise InputError(f"cannot write to {path}: {reason(error)}", hint=hint) from error

    def write(self, text: str | bytes) -> None:
        """Write the text, or its bytes, and flush it."""
        try:
            self._stream.write(encoded(text) if isinstance(text, str) else text)
            self._stream.flush()
        except OSError as error:
            raise self._failure(error) from error

    def close(self) -> None:
        """Close the file; standard output stays open."""
        if self._closed:
            return
        self._closed = True
        if not self._owned:
            return
        try:
            self._stream.close()
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> Exception:
        """The exception to raise; nothing is written after it, not even at exit."""
        self._closed = True
        if self._owned:
            with contextlib.suppress(OSError):
                self._stream.close()
        else:
            discard_standard_output()
        if isinstance(error, BrokenPipeError):
            return OutputClosed()
        hint = "what was written so far is kept; free some space or name another file, and run again"
        return RunError(f"cannot write to {self._name}: {reason(error)}", hint=hint)


def encoded(text: str) -> bytes:
    """UTF-8; a lone surrogate, which has none, becomes a question mark."""
    return text.encode("utf-8", "replace")


def discard_standard_output() -> None:
    """Redirect standard output to nowhere, so that its flush at exit cannot fail."""
    with contextlib.suppress(OSError, ValueError):
        target = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, target)
        os.close(nowhere)


def reason(error: OSError) -> str:
    """The system's message, with a lower-case initial."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]
