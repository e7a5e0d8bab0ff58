"""Which files a stream's PATH means, and their bytes, unpacked."""

from __future__ import annotations

import glob
import gzip
import io
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from sparql_gpm.errors import RDFSyntaxError
from sparql_gpm.rdf_io import FORMATS
from sparql_gpm.reading.blocks import ByteStream
from spaseq.errors import InputError

FORMAT_BY_SUFFIX = {".nq": "nquads", ".trig": "trig", ".ttl": "turtle", ".nt": "ntriples"}
STANDARD_INPUT = "-"
SNIFFED_BYTES_MAX = 4096
"""So much of standard input is looked at to tell TriG from N-Quads."""

_SUFFIXES = ", ".join(FORMAT_BY_SUFFIX)
_GZIP_MAGIC = b"\x1f\x8b"
_TRIG = re.compile(
    rb"^\s*(?:@prefix\b|@base\b|prefix\s|base\s|(?:graph\s+)?(?:<[^>\n]*>|_:\w+|[\w.-]*:[\w.-]*|\[\s*\])?\s*\{)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that TriG can have and N-Quads cannot: a directive, or the beginning of a graph block."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file of a stream; `path` is "-" for standard input, `format` None if it must be guessed from the bytes."""

    path: str
    format: str | None


def input_files(path: str, rdf_format: str | None = None) -> tuple[InputFile, ...]:
    """The files that a PATH means, in name order: a file, a directory, a glob, or "-".

    Every one is looked at now, so that a run does not begin on input that it cannot have.
    """
    if rdf_format is not None and rdf_format not in FORMATS:
        raise InputError(f"unknown RDF format {rdf_format!r}", hint=f"the formats are {', '.join(FORMATS)}")
    if path == STANDARD_INPUT:
        return (InputFile(path, rdf_format),)
    if os.path.isdir(path):
        return _directory(path, rdf_format)
    if os.path.lexists(path):
        return (_file(path, rdf_format),)
    if glob.has_magic(path):
        found = sorted(name for name in glob.glob(path, recursive=True) if not os.path.isdir(name))
        if not found:
            raise InputError(f"no file matches {path!r}", hint="check the pattern, and quote it against the shell")
        return tuple(_file(name, rdf_format) for name in found)
    raise InputError(f"cannot read {path}: there is no such file", hint=_nearby(path))


def _directory(path: str, rdf_format: str | None) -> tuple[InputFile, ...]:
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise _unreadable(path, error) from error
    files = [os.path.join(path, name) for name in names if _suffix_format(name)]
    found = tuple(_file(name, rdf_format) for name in files if not os.path.isdir(name))
    if not found:
        raise InputError(
            f"directory {path} has no RDF file", hint=f"expected files that end in {_SUFFIXES}, plain or with .gz"
        )
    return found


def _file(path: str, rdf_format: str | None) -> InputFile:
    chosen = rdf_format or _suffix_format(path)
    if chosen is None:
        raise InputError(
            f"cannot tell the RDF format of {path} from its name",
            hint=f"rename it to end in {_SUFFIXES} (plain or with .gz), or pipe it into standard input, '-'",
        )
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
        if not os.access(path, os.R_OK):
            raise PermissionError(13, "Permission denied")
        if regular:
            with open(path, "rb"):
                pass
    except OSError as error:
        raise _unreadable(path, error) from error
    return InputFile(path, chosen)


def _suffix_format(path: str) -> str | None:
    return FORMAT_BY_SUFFIX.get(Path(path.lower().removesuffix(".gz")).suffix)


def _unreadable(path: str, error: OSError) -> InputError:
    return InputError(f"cannot read {path}: {error.strerror}", hint="check the path and its permissions")


def _nearby(path: str) -> str:
    """What the folder does have."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return f"there is no directory {folder} either"
    known = sorted(name for name in os.listdir(folder) if _suffix_format(name))[:5]
    return f"{folder} has {', '.join(known)}" if known else f"{folder} has no RDF file"


class GuardedStream:
    """Bytes of one input; damage becomes an RDFSyntaxError that says that the input breaks off."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes."""
        try:
            return self._read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise RDFSyntaxError(f"the gzip data is damaged ({error})") from error
        except OSError as error:
            raise RDFSyntaxError(f"reading failed ({error.strerror or error})") from error


@dataclass(frozen=True, slots=True)
class OpenInput:
    """The unpacked bytes of an input. `live`: it gives what it has, without waiting for more."""

    stream: ByteStream
    format: str
    live: bool


@contextmanager
def opened(file: InputFile, standard_input: BinaryIO | None = None) -> Iterator[OpenInput]:
    """An input, ready to be read; standard input, pipes and devices are live."""
    if file.path == STANDARD_INPUT:
        yield _unpacked(_peekable(standard_input if standard_input is not None else sys.stdin.buffer), file, live=True)
        return
    with ExitStack() as stack:
        try:
            handle = stack.enter_context(open(file.path, "rb"))
            live = not stat.S_ISREG(os.fstat(handle.fileno()).st_mode)
            unpacked = _unpacked(handle, file, live)
        except OSError as error:
            raise _unreadable(file.path, error) from error
        yield unpacked


def _peekable(stream: BinaryIO) -> io.BufferedReader:
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stream))


def _unpacked(raw: io.BufferedReader, file: InputFile, live: bool) -> OpenInput:
    buffered = raw
    if file.path.lower().endswith(".gz") or raw.peek(2)[:2] == _GZIP_MAGIC:
        buffered = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=raw)), SNIFFED_BYTES_MAX * 16)
    stream = GuardedStream(buffered.read1 if live else buffered.read)
    return OpenInput(stream, file.format or _sniffed(buffered), live)


def _sniffed(buffered: io.BufferedReader) -> str:
    try:
        start = buffered.peek(SNIFFED_BYTES_MAX)[:SNIFFED_BYTES_MAX]
    except (EOFError, OSError, zlib.error):
        return "nquads"
    return "trig" if _TRIG.search(start.removeprefix(b"\xef\xbb\xbf")) else "nquads"


def input_size(paths: Iterable[str]) -> int:
    """Bytes in the files of these inputs; standard input, and what does not exist, counts nothing."""
    total = 0
    for text in paths:
        path = Path(text)
        found = [path] if path.is_file() else path.iterdir() if path.is_dir() else map(Path, glob.glob(text))
        total += sum(entry.stat().st_size for entry in found if entry.is_file())
    return total
