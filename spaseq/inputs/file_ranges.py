"""Ranges of bytes of files that begin and end with an event."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import BinaryIO

from sparql_gpm.reading.blocks import BLOCK_BYTES, LINE_BYTES_MAX
from spaseq.inputs.compression import compression_of
from spaseq.inputs.cutting import next_start
from spaseq.inputs.formats import is_of_lines, texts_of
from spaseq.inputs.opening import GUESSED_BYTES_MAX, format_by, opened
from spaseq.inputs.paths import InputFile
from spaseq.inputs.storage import storage_of
from spaseq.inputs.texts import InputText, OpenInput


@dataclass(frozen=True, slots=True)
class FileRange:
    """Bytes `begin` ≤ b < `end` of a file, after `line` lines; `end` None: the whole file, decompressed."""

    file: str
    format: str
    begin: int = 0
    end: int | None = None
    line: int = 0

    @property
    def size(self) -> int:
        """The number of bytes on disk."""
        return storage_of(self.file).size(self.file) if self.end is None else self.end - self.begin

    @contextmanager
    def opened(self) -> Iterator[OpenInput]:
        """The bytes as one input."""
        if self.end is None:
            with opened(InputFile(self.file, self.format)) as whole:
                yield whole
            return
        with storage_of(self.file).open(self.file, self.begin) as handle:
            stream = _Bounded(handle, self.end - self.begin)
            found = format_by(self.format, stream.ahead()) if not self.begin else self.format
            yield OpenInput(stream, found, live=False)

    def texts(self, longest: int = LINE_BYTES_MAX) -> Iterator[InputText]:
        """The bytes cut into texts of whole events; `longest`: see `texts_of`."""
        with self.opened() as found:
            for text in texts_of(found.stream, found.format, longest=longest):
                yield replace(text, line=text.line + self.line, source=self.file, format=found.format)

    def lines(self) -> int:
        """The number of line ends."""
        with self.opened() as found:
            return sum(block.count(b"\n") for block in iter(lambda: found.stream.read(BLOCK_BYTES), b""))


class _Bounded:
    """The next `length` bytes of a file."""

    def __init__(self, handle: BinaryIO, length: int) -> None:
        self._handle = handle
        self._left = length
        self._ahead = b""

    def ahead(self) -> bytes:
        """The first bytes, which are read again."""
        self._ahead = self._ahead or self.read(GUESSED_BYTES_MAX)
        return self._ahead

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; b"" at the end."""
        if self._ahead:
            found, self._ahead = self._ahead[:size], self._ahead[size:]
            return found
        found = self._handle.read(min(size, self._left))
        self._left -= len(found)
        return found


def is_whole(name: str, rdf_format: str) -> bool:
    """True if a file is always one range: it is compressed, or not of consecutive lines."""
    return compression_of(name) is not None or not is_of_lines(rdf_format)


def ranges_of(name: str, rdf_format: str, begin: int, stop: int | None, line: int, size: int) -> Iterator[FileRange]:
    """A file from `begin` to `stop` (None: its end) in ranges of about `size` bytes.

    Only files of consecutive lines that are not compressed and no message logs are cut; any other is one range, if
    `begin` is 0.
    """
    if is_whole(name, rdf_format):
        if not begin and stop != 0:
            yield FileRange(name, rdf_format)
        return
    stop = storage_of(name).size(name) if stop is None else stop
    if not begin and stop > size and _is_log(FileRange(name, rdf_format, 0, stop)):
        size = stop
    while begin < stop:
        end = min(stop, _next_start(name, begin + size)) if stop - begin > size else stop
        found = FileRange(name, rdf_format, begin, end, line)
        yield found
        if end < stop:
            line += found.lines()
        begin = end


def _is_log(whole: FileRange) -> bool:
    with whole.opened() as found:
        return found.format != whole.format


def _next_start(name: str, byte: int) -> int:
    with storage_of(name).open(name, byte) as handle:
        return byte + next_start(handle)
