"""The bytes of an input file, unpacked."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from sparql_gpm.errors import RDFSyntaxError
from sparql_gpm.reading.blocks import ByteStream
from spaseq.inputs.compression import DAMAGE, unpacked
from spaseq.inputs.formats import guessed
from spaseq.inputs.paths import STANDARD_INPUT, InputFile, unreadable

GUESSED_BYTES_MAX = 4096
"""The first bytes of standard input by which its format is guessed."""


@dataclass(frozen=True, slots=True)
class OpenInput:
    """The unpacked bytes of an input; a read from a `live` one returns what is there without waiting for more."""

    stream: ByteStream
    format: str
    live: bool


class GuardedStream:
    """Bytes of one input; damage becomes an RDFSyntaxError that says that the input breaks off."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes."""
        try:
            return self._read(size)
        except DAMAGE as error:
            raise RDFSyntaxError(f"the compressed data is damaged ({error})") from error
        except OSError as error:
            raise RDFSyntaxError(f"reading failed ({error.strerror or error})") from error


@contextmanager
def opened(file: InputFile, standard_input: BinaryIO | None = None) -> Iterator[OpenInput]:
    """An open input; standard input, pipes and devices are live."""
    if file.path == STANDARD_INPUT:
        raw = standard_input if standard_input is not None else sys.stdin.buffer
        buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, raw))
        yield _unpacked(buffered, file, live=True)
        return
    with ExitStack() as stack:
        try:
            handle = stack.enter_context(open(file.path, "rb"))
            found = _unpacked(handle, file, live=not stat.S_ISREG(os.fstat(handle.fileno()).st_mode))
        except OSError as error:
            raise unreadable(file.path, error) from error
        yield found


def _unpacked(raw: io.BufferedReader, file: InputFile, live: bool) -> OpenInput:
    buffered = unpacked(raw, file.path)
    return OpenInput(GuardedStream(buffered.read1 if live else buffered.read), file.format or _guessed(buffered), live)


def _guessed(buffered: io.BufferedReader) -> str:
    try:
        return guessed(buffered.peek(GUESSED_BYTES_MAX)[:GUESSED_BYTES_MAX])
    except (*DAMAGE, OSError):
        return guessed(b"")
