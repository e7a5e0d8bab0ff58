"""Files of events: N-Quads, TriG or Jelly, plain or compressed, by the suffix of the name."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pyoxigraph as ox

from spaseq.errors import InputError, RunError
from spaseq.outputs.destination import reason
from spaseq.outputs.jelly_frames import JellyFrames

FORMATS = (".nq", ".trig", ".jelly")
COMPRESSIONS = (".gz", ".zst")
_LEVEL = 3
_IRI = rb'<[^<>"\s\\]+>'
_NODE = rb"%b|_:[A-Za-z0-9.-]*[A-Za-z0-9]" % _IRI
_LITERAL = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"(?:@[A-Za-z0-9-]+|\^\^%b)?' % _IRI
_LINE = re.compile(rb"((?:%b) (?:%b) (?:%b|%b))(?: (%b))? \." % (_NODE, _IRI, _NODE, _LITERAL, _NODE))


class EventFile:
    """A file of events, which are given as N-Quads, one by one.

    Raises InputError for a name whose suffix says no format or that cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        name = path.name.lower()
        packed = next((suffix for suffix in COMPRESSIONS if name.endswith(suffix)), "")
        suffix = Path(name.removesuffix(packed)).suffix
        if suffix not in FORMATS:
            hint = f"end it in {' or '.join(FORMATS)}, plain or with {' or '.join(COMPRESSIONS)}"
            raise InputError(f"the suffix of {path} says no format to write", hint=hint)
        self._frames = JellyFrames() if suffix == ".jelly" else None
        self._text: Callable[[bytes], bytes] = as_trig if suffix == ".trig" else lambda event: event
        if self._frames is not None:
            self._text = partial(_as_jelly, self._frames)
        self._stack = ExitStack()
        self._stream = self._opened(packed)

    def write(self, events: Iterable[bytes]) -> None:
        """Write the events; raises RunError if that fails."""
        try:
            for event in events:
                self._stream.write(self._text(event))
        except OSError as error:
            raise RunError(
                f"cannot write to {self._path}: {reason(error)}", hint="free some space, and run again"
            ) from error

    def close(self) -> None:
        """Finish the file; raises RunError if that fails."""
        try:
            if self._frames is not None:
                self._stream.write(self._frames.begin())
            self._stack.close()
        except OSError as error:
            raise RunError(
                f"cannot write to {self._path}: {reason(error)}", hint="free some space, and run again"
            ) from error

    def _failure(self, error: OSError) -> RunError:
        return RunError(f"cannot write to {self._path}: {reason(error)}", hint="free some space, and run again")

    def _opened(self, packed: str) -> BinaryIO:
        try:
            plain = self._stack.enter_context(self._path.open("wb"))
        except OSError as error:
            hint = "give a file in a folder that exists and that you may write to"
            raise InputError(f"cannot write to {self._path}: {reason(error)}", hint=hint) from error
        match packed:
            case ".gz":
                return self._stack.enter_context(gzip.GzipFile("", "wb", _LEVEL, plain, mtime=0))  # type: ignore[return-value]
            case ".zst":
                return self._stack.enter_context(_zstandard_writer(plain))
        return plain


def _as_jelly(frames: JellyFrames, event: bytes) -> bytes:
    """An event of N-Quads as a frame."""
    return frames.frame(ox.parse(event, ox.RdfFormat.N_QUADS, lenient=True))


def as_trig(event: bytes) -> bytes:
    """An event of N-Quads as TriG: statements of the default graph, then the block of its graph."""
    outside: list[bytes] = []
    inside: list[bytes] = []
    graph = b""
    for line in event.splitlines():
        for triple, name in _triples(line):
            (inside if name else outside).append(triple)
            graph = name or graph
    block = b"%b {\n%b}\n" % (graph, b"".join(b"  %b .\n" % triple for triple in inside)) if inside else b""
    return b"".join(b"%b .\n" % triple for triple in outside) + block


def _triples(line: bytes) -> list[tuple[bytes, bytes]]:
    """The triples of a line of N-Quads and their graphs, b"" for the default graph."""
    if usual := _LINE.fullmatch(line):
        return [(usual[1], usual[2] or b"")]
    return [(str(quad.triple).encode(), _graph(quad)) for quad in ox.parse(line, ox.RdfFormat.N_QUADS)]


def _graph(quad: ox.Quad) -> bytes:
    return b"" if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name).encode()


def _zstandard_writer(plain: BinaryIO) -> BinaryIO:
    try:
        import zstandard
    except ImportError as error:
        hint = 'install it: pip install "spaseq[tables]"'
        raise InputError("writing .zst needs the Python package zstandard", hint=hint) from error
    found: BinaryIO = zstandard.ZstdCompressor(level=_LEVEL).stream_writer(plain, closefd=False)
    return found
