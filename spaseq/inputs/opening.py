"""The bytes of an input file, unpacked."""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import cast

from sparql_gpm.errors import BrokenOff
from sparql_gpm.reading.units import is_message_log
from spaseq.inputs.compression import unpacked
from spaseq.inputs.following import growing, is_followed
from spaseq.inputs.formats import format_of, guessed
from spaseq.inputs.paths import STANDARD_INPUT, InputFile, is_elsewhere, unreadable
from spaseq.inputs.storage import storage_of
from spaseq.inputs.texts import OpenInput

_LOGS = {"nquads": "nquads messages", "trig": "messages", "turtle": "messages", "ntriples": "messages"}
"""The format of a message log, by the format of its messages."""
GUESSED_BYTES_MAX = 4096
"""The first bytes of standard input by which its format is guessed."""


class GuardedStream:
    """Bytes of one input, from a function that returns at least one byte; what can be read comes before BrokenOff.

    descriptor  of an input that can be waited for, which nothing but reads of all that is there have emptied
    """

    def __init__(self, read: Callable[[int], bytes], live: bool, descriptor: int | None = None) -> None:
        self._read, self._live = read, live
        self._descriptor = descriptor
        self._broken: BrokenOff | None = None

    def read(self, size: int, /) -> bytes:
        """`size` bytes, fewer at the end; of a live input those that are there."""
        parts: list[bytes] = []
        try:
            while self._broken is None and size > 0 and (part := self._read(size)):
                parts.append(part)
                size = 0 if self._live else size - len(part)
        except BrokenOff as error:
            self._broken = error
        except OSError as error:
            self._broken = BrokenOff(f"reading failed ({error.strerror or error})")
        if self._broken is not None and not parts:
            raise self._broken
        return b"".join(parts) if len(parts) != 1 else parts[0]

    def ready(self, seconds: float, /) -> bool:
        """False if no byte, nor the end, comes within this time; what was read before has emptied all buffers."""
        if self._descriptor is None:
            return True
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(seconds * 1000))


@contextmanager
def opened(file: InputFile, follow: bool = False) -> Iterator[OpenInput]:
    """An open input; standard input, pipes and devices are live, and a file if it is to be followed."""
    if follow and is_followed(file.path):
        with growing(file) as grown:
            start = grown.start(GUESSED_BYTES_MAX)
            yield OpenInput(grown, format_by(file.format or guessed(start), start), live=True)
        return
    if file.path == STANDARD_INPUT:
        raw = sys.stdin.buffer
        buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, raw))
        yield _unpacked(buffered, file, live=True)
        return
    if is_elsewhere(file.path):
        with storage_of(file.path).open(file.path) as far:
            yield _unpacked(cast(io.BufferedReader, far), file, live=False)
        return
    with ExitStack() as stack:
        try:
            handle = stack.enter_context(open(file.path, "rb"))
            found = _unpacked(handle, file, live=not stat.S_ISREG(os.fstat(handle.fileno()).st_mode))
        except OSError as error:
            raise unreadable(file.path, error) from error
        yield found


def format_by(rdf_format: str, start: bytes) -> str:
    """The format of an input, a message log by its first bytes."""
    return _LOGS[rdf_format] if rdf_format in _LOGS and is_message_log(start) else rdf_format


def _unpacked(raw: io.BufferedReader, file: InputFile, live: bool) -> OpenInput:
    buffered = unpacked(raw, file.path)
    rdf_format = file.format or guessed(_start(buffered))
    if rdf_format == "messages":
        rdf_format = _LOGS.get(format_of(file.path) or guessed(_start(buffered)), "messages")
    else:
        rdf_format = format_by(rdf_format, _start(buffered))
    whole = raw if buffered is raw and not live and raw.seekable() else None
    descriptor = _descriptor(raw) if buffered is raw and live else None
    return OpenInput(GuardedStream(buffered.read1, live, descriptor), rdf_format, live, whole)


def _descriptor(raw: io.BufferedReader) -> int | None:
    """The descriptor of a pipe that can be waited for; None: it cannot."""
    try:
        return raw.fileno() if hasattr(select, "poll") else None
    except (OSError, ValueError):
        return None


def _start(buffered: io.BufferedReader) -> bytes:
    try:
        return buffered.peek(GUESSED_BYTES_MAX)[:GUESSED_BYTES_MAX]
    except (BrokenOff, OSError):
        return b""
