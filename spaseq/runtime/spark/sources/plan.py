"""Directory streams: which bytes of which files come next. Files are read in name order and never change.

A place in the stream is a file and a byte in it, so that a checkpoint is small however many files there are.
A file that appears must therefore sort after those that were begun, as segments of a log do (one that does
not is an error, not left out), and be complete when it appears (written elsewhere, then moved in). Names
that begin with `.` or `_` are not looked at.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sparql_gpm.reading.blocks import BLOCK_BYTES, ByteStream
from spaseq.errors import InputError, RunError
from spaseq.inputs.documents import DOCUMENT_BYTES, Document, documents, event_start, nquads_documents
from spaseq.inputs.paths import FORMAT_BY_SUFFIX, InputFile, opened

EXPECTED = f"a stream is files that end in {', '.join(FORMAT_BY_SUFFIX)}, plain or with .gz"


@dataclass(frozen=True, slots=True)
class Place:
    """Where reading stands: everything of earlier files, and this much of `file`, has been taken.

    line    lines before that byte
    files   how many files there were up to this one
    ended   the end of the stream has been told
    """

    file: str = ""
    byte: int = 0
    line: int = 0
    files: int = 0
    ended: bool = False

    @staticmethod
    def of(offset: dict[str, Any]) -> Place:
        """A place as Spark's checkpoint keeps it."""
        return Place(offset["file"], offset["byte"], offset["line"], offset["files"], offset["ended"])

    def offset(self) -> dict[str, Any]:
        """For Spark's checkpoint."""
        return {
            "file": self.file, "byte": self.byte, "line": self.line, "files": self.files, "ended": self.ended,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slice:
    """Bytes of one file that begin and end with an event; `end` None: all of it, whatever it unpacks to."""

    file: str
    format: str
    begin: int = 0
    end: int | None = None
    line: int = 0

    @property
    def size(self) -> int:
        """Bytes to be read for it."""
        return os.path.getsize(self.file) if self.end is None else self.end - self.begin

    @contextmanager
    def opened(self) -> Iterator[ByteStream]:
        """Its text as one stream; what is packed comes unpacked."""
        if self.end is None:
            with opened(InputFile(self.file, self.format)) as unpacked:
                yield unpacked.stream
            return
        with open(self.file, "rb") as handle:
            handle.seek(self.begin)
            yield _Bounded(handle, self.end - self.begin)

    def documents(self) -> Iterator[Document]:
        """Its text, in rows."""
        if self.end is None:
            with opened(InputFile(self.file, self.format)) as unpacked:
                yield from documents(unpacked.stream, self.format)
            return
        with open(self.file, "rb") as handle:
            handle.seek(self.begin)
            yield from nquads_documents(_blocks(handle, self.end - self.begin), DOCUMENT_BYTES, self.line)


class _Bounded:
    """So many bytes of a file, from where it stands."""

    def __init__(self, handle: BinaryIO, length: int) -> None:
        self._handle = handle
        self._left = length

    def read(self, size: int, /) -> bytes:
        """At most `size` of them; b"" at the end."""
        found = self._handle.read(min(size, self._left))
        self._left -= len(found)
        return found


class Directory:
    """The files that a path, folder or glob means, at the time of asking."""

    def __init__(self, path: str) -> None:
        self._path = path

    def files(self) -> list[str]:
        """Their names, in order."""
        if os.path.isdir(self._path):
            found = [os.path.join(self._path, name) for name in os.listdir(self._path)]
        elif glob.has_magic(self._path):
            found = glob.glob(self._path, recursive=True)
        else:
            found = [self._path] if os.path.exists(self._path) else []
        return sorted(name for name in found if _is_input(name))

    def end(self) -> Place:
        """After all that is there; its line is not counted."""
        files = self.files()
        return Place(files[-1], os.path.getsize(files[-1]), files=len(files)) if files else Place()

    def after(self, slice_: Slice) -> Place:
        """Where reading stands when a slice has been read."""
        files = sum(name <= slice_.file for name in self.files())
        if slice_.end is None:
            return Place(slice_.file, max(1, os.path.getsize(slice_.file)), files=files)
        line = slice_.line + _lines(slice_.file, slice_.begin, slice_.end)
        return Place(slice_.file, slice_.end, line, files)

    def size(self, slice_: Slice) -> int:
        """Bytes to be read for it."""
        return slice_.size

    def to_come(self, start: Place, end: Place | None = None) -> list[str]:
        """The files from one place on, to another; raises RunError if one has appeared before them or between."""
        files = self.files()
        self._check(files, start)
        if end is not None:
            self._check(files, end)
        return [name for name in files if name >= start.file and (end is None or name <= end.file)]

    def _check(self, files: list[str], place: Place) -> None:
        passed = [name for name in files if name <= place.file]
        if len(passed) > place.files:
            reason = f"a file has appeared in {self._path} that sorts before {place.file}, which was taken already"
            raise RunError(
                reason, hint="give each new file a name that sorts after the others, and move that file away"
            )

    def stretches(self, start: Place, bytes_max: int, end: Place | None = None) -> Iterator[Slice]:
        """From one place on, to another or to the last file, in slices of about `bytes_max`.

        Only plain N-Quads files are cut; any other is one slice.
        """
        for name in self.to_come(start, end):
            begin, line = (start.byte, start.line) if name == start.file else (0, 0)
            rdf_format = format_of(name)
            if rdf_format != "nquads" or _packed(name):
                if not begin and (end is None or name < end.file or end.byte):
                    yield Slice(name, rdf_format)
                continue
            stop = end.byte if end is not None and name == end.file else os.path.getsize(name)
            yield from _cut(name, begin, stop, line, bytes_max)


def format_of(name: str) -> str:
    """The RDF format that a file's name says; raises InputError for a name that says none."""
    found = FORMAT_BY_SUFFIX.get(_suffix(name))
    if found is None:
        raise InputError(f"cannot read {name} as a stream of events", hint=EXPECTED)
    return found


def _cut(name: str, begin: int, stop: int, line: int, bytes_max: int) -> Iterator[Slice]:
    while begin < stop:
        end = min(stop, _event_start_after(name, begin + bytes_max)) if stop - begin > bytes_max else stop
        yield Slice(name, "nquads", begin, end, line)
        if end < stop:
            line += _lines(name, begin, end)
        begin = end


def _event_start_after(name: str, byte: int) -> int:
    with open(name, "rb") as handle:
        handle.seek(byte)
        return byte + event_start(handle, line_begun=True)


def _lines(name: str, begin: int, end: int) -> int:
    with open(name, "rb") as handle:
        handle.seek(begin)
        return sum(block.count(b"\n") for block in _raw_blocks(handle, end - begin))


def _blocks(handle: BinaryIO, length: int) -> Iterator[bytes]:
    """So many bytes, in blocks of whole lines."""
    rest = b""
    for block in _raw_blocks(handle, length):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield rest + block[:cut]
            rest = block[cut:]
        else:
            rest += block
    if rest:
        yield rest


def _raw_blocks(handle: BinaryIO, length: int) -> Iterator[bytes]:
    while length > 0 and (block := handle.read(min(length, BLOCK_BYTES))):
        length -= len(block)
        yield block


def _is_input(name: str) -> bool:
    hidden = os.path.basename(name).startswith((".", "_"))
    return not hidden and os.path.isfile(name) and _suffix(name) in FORMAT_BY_SUFFIX


def _suffix(name: str) -> str:
    return Path(name.lower().removesuffix(".gz")).suffix


def _packed(name: str) -> bool:
    return name.lower().endswith(".gz")
