"""Compressed inputs, known by the suffix of the name or by the first bytes."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

_BUFFER_BYTES = 64 << 10
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)
"""The errors of damaged data."""


@dataclass(frozen=True, slots=True)
class Compression:
    """A compression: the suffix of its files, the first bytes of its data, and its reader."""

    suffix: str
    magic: bytes
    reader: Callable[[io.BufferedReader], io.RawIOBase]


COMPRESSIONS = (Compression(".gz", b"\x1f\x8b", lambda raw: cast(io.RawIOBase, gzip.GzipFile(fileobj=raw))),)


def compression_of(path: str) -> Compression | None:
    """The compression that the suffix of a file says."""
    return next((each for each in COMPRESSIONS if path.lower().endswith(each.suffix)), None)


def unpacked(raw: io.BufferedReader, path: str) -> io.BufferedReader:
    """The bytes of an input, decompressed if its name or its first bytes say that they are compressed."""
    found = compression_of(path) or next((each for each in COMPRESSIONS if raw.peek(2).startswith(each.magic)), None)
    return raw if found is None else io.BufferedReader(found.reader(raw), _BUFFER_BYTES)
