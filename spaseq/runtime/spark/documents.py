"""Rows of a DataFrame as RDF inputs: which rows are one text, which are signals, and what the columns of a quad say.

In line mode consecutive rows of a task are one N-Quads text, so an event may reach over rows and Arrow batches, but not
over the end of the task. In document mode a row is a text by itself, and no event reaches over its end.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from sparql_gpm.reading.blocks import ByteStream
from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import format_time, parse_time
from spaseq.errors import RunError
from spaseq.runtime.reorder import BEFORE_ALL

SIGNAL = b"#!spaseq"
"""What a line begins with that is a signal and not data; a comment to every other reader of N-Quads."""
_MICROSECOND = 1000


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A row.

    source  what the input is called in reports
    line    lines of that input before the text
    format  of the text, if the row says so: then it is a document
    opened  opens what is read in place of the text, which is then b""
    """

    text: bytes
    source: str
    line: int = 0
    format: str | None = None
    opened: Callable[[], AbstractContextManager[ByteStream]] | None = None

    def open(self) -> AbstractContextManager[ByteStream]:
        """What it says, as a stream."""
        return nullcontext(io.BytesIO(self.text)) if self.opened is None else self.opened()


@dataclass(frozen=True, slots=True)
class Signal:
    """What a signal says: the stream has ended, or nothing before `advance` will come (BEFORE_ALL: not said)."""

    ended: bool = False
    advance: int = BEFORE_ALL


def signal(text: bytes) -> Signal | None:
    """The signal in a row, if it is one; raises RunError for one that says nothing known."""
    words = text.strip().decode("utf-8", errors="backslashreplace").split()
    match words:
        case ["#!spaseq", "end"]:
            return Signal(ended=True)
        case ["#!spaseq", "advance", time]:
            with suppress(ValueError):
                return Signal(advance=parse_time(Literal(time, XSD + "dateTime")))
    if words[:1] == [SIGNAL.decode()]:
        hint = "write '#!spaseq end' or '#!spaseq advance 2026-01-01T00:00:10Z'"
        raise RunError(f"the input has an unknown signal: {' '.join(words)}", hint=hint)
    return None


def is_document(row: DocumentRow, mode: str, rdf_format: str) -> bool:
    """Whether a row is a text by itself, under `rows="auto"`, `"lines"` or `"documents"`."""
    if row.format is not None:
        return True
    if mode == "auto":
        return rdf_format != "nquads" or b"\n" in row.text.rstrip(b"\n")
    return mode == "documents"


class LineStream:
    """Rows as one text, as `sparql_gpm.reading.blocks.ByteStream` reads it; each row ends a line."""

    def __init__(self, rows: Iterable[DocumentRow]) -> None:
        self._lines = (row.text if row.text.endswith(b"\n") else row.text + b"\n" for row in rows)
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


def quads_as_rows(
    quads: Iterable[tuple[str, str | None, str | None, str | None, datetime | str]], time_predicate: str, source: str
) -> Iterator[DocumentRow]:
    """Rows of (graph, subject, predicate, object, time) as lines; an event without triples has no subject."""
    current: tuple[str, datetime | str] | None = None
    for graph, subject, predicate, target, time in quads:
        if (graph, time) != current:
            current = graph, time
            yield DocumentRow(f"{_term(graph)} <{time_predicate}> {_stamp(time)} .".encode(), source)
        if subject is not None and predicate is not None and target is not None:
            line = f"{_term(subject)} {_term(predicate)} {_term(target)} {_term(graph)} ."
            yield DocumentRow(line.encode(), source)


def _stamp(time: datetime | str) -> str:
    text = time if isinstance(time, str) else format_time(nanoseconds(time))
    return text if text.startswith('"') else f'"{text}"^^<{XSD}dateTime>'


def nanoseconds(time: datetime) -> int:
    """Since the epoch; a time without a zone is UTC."""
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    past = aware - datetime.fromtimestamp(0, UTC)
    return ((past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds) * _MICROSECOND


def _term(text: str) -> str:
    return text if text[:1] in '<"_' else f"<{text}>"
