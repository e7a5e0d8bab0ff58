"""RDF texts as they come in tables and micro-batches: cut out of longer inputs, or in rows of a DataFrame."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import BinaryIO

from sparql_gpm.errors import BrokenOff
from sparql_gpm.reading.blocks import ByteStream


@dataclass(frozen=True, slots=True)
class OpenInput:
    """The unpacked bytes of an input; a read from a `live` one returns what is there without waiting for more.

    file    the same bytes, none of which is read yet, as a file that can be read at any place; None if there is none
    """

    stream: ByteStream
    format: str
    live: bool
    file: BinaryIO | None = None


@dataclass(frozen=True, slots=True)
class InputText:
    """An RDF text.

    source  its origin, for reports
    line    lines of its source before the text; -1 where declarations stand before the first line
    format  one of `spaseq.inputs.formats`; None: the stream's own
    opened  opens the bytes to read where the text was left in its file; `text` is then b""
    breaks_off  says why the source breaks off with this text, whose last event is then incomplete; None: it does not
    """

    text: bytes
    source: str = ""
    line: int = 0
    format: str | None = None
    opened: Callable[[], AbstractContextManager[OpenInput]] | None = None
    breaks_off: str | None = None

    def open(self, rdf_format: str) -> AbstractContextManager[OpenInput]:
        """The text as an input, in its own format or else in this one."""
        if self.opened is not None:
            return self.opened()
        own = self.format or rdf_format
        if self.breaks_off is not None:
            return nullcontext(OpenInput(_Torn(self.text, self.breaks_off), own, live=False))
        whole = io.BytesIO(self.text)
        return nullcontext(OpenInput(whole, own, live=False, file=whole))


class _Torn:
    """A text as a stream that breaks off behind it."""

    def __init__(self, text: bytes, reason: str) -> None:
        self._stream, self._reason = io.BytesIO(text), reason

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; raises BrokenOff behind the last one."""
        if found := self._stream.read(size):
            return found
        raise BrokenOff(self._reason)


class LineStream:
    """Texts as one stream, as `sparql_gpm.reading.blocks.ByteStream` reads it; the end of a text ends a line."""

    def __init__(self, texts: Iterable[InputText]) -> None:
        self._lines = (each.text if each.text.endswith(b"\n") else each.text + b"\n" for each in texts)
        self._left = b""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; b"" at the end."""
        parts, length = [self._left], len(self._left)
        while length < size and (line := next(self._lines, None)) is not None:
            parts.append(line)
            length += len(line)
        text = b"".join(parts)
        self._left = text[size:]
        return text[:size]
