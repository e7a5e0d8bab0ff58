"""RDF texts as they come in tables and micro-batches: cut out of longer inputs, or in rows of a DataFrame."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from sparql_gpm.errors import BrokenOff
from sparql_gpm.reading.blocks import ByteStream


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
    opened: Callable[[], AbstractContextManager[ByteStream]] | None = None
    breaks_off: str | None = None

    def open(self) -> AbstractContextManager[ByteStream]:
        """The text as a stream."""
        if self.breaks_off is not None:
            return nullcontext(_Torn(self.text, self.breaks_off))
        return nullcontext(io.BytesIO(self.text)) if self.opened is None else self.opened()


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
