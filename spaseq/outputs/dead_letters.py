"""Dead letters: the input that a run leaves out, counted always and written as NDJSON if there is a file for it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from sparql_gpm.bounds import Exceeded
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.event_text import quad_lines, time_line
from sparql_gpm.labels import PatternLabel
from sparql_gpm.rdf_io import PROV_TIME
from sparql_gpm.reading.event_builder import TRUNCATED, Malformed
from sparql_gpm.reading.raw_text import RawText
from spaseq.errors import RunError
from spaseq.outputs.destination import Output, OutputClosed

LATE = "late"
MALFORMED = "malformed"
"""The kind of every malformed input on Spark but of one that breaks off."""
BOUND = "over a bound"
LETTER_FIELDS = ("stream", "source", "line", "column", "reason", "raw", "raw_length", "raw_sha256", "sort", "iri")
"""The keys of a letter's line, in order; `raw_length` and `raw_sha256` only where `raw` is cut."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Input that was left out.

    kind    "late", "over a bound", or the kind of a Malformed (on Spark "malformed" or "truncated")
    stream  its name in the query
    iri     the stream's IRI
    sort    late, malformed, or bound: larger than an option allows
    line    in the source, from 1; 0 where there is none
    raw     the beginning of what was left out; if there is more, `raw_length` and `raw_sha256` are of all its bytes
    queries of the service, for which an event was set aside
    """

    kind: str
    stream: str
    source: str
    line: int
    column: int
    reason: str
    raw: str
    raw_length: int = 0
    raw_sha256: str = ""
    sort: str = "malformed"
    iri: str = ""
    queries: tuple[str, ...] = ()

    def of_queries(self, queries: Iterable[str]) -> DeadLetter:
        """The letter of an event that was set aside for these queries."""
        return replace(self, queries=tuple(queries))

    def to_json(self) -> str:
        """The line of NDJSON, with its line end."""
        fields = {name: getattr(self, name) for name in LETTER_FIELDS}
        if not self.raw_length:
            del fields["raw_length"], fields["raw_sha256"]
        if self.queries:
            fields["queries"] = self.queries
        return json.dumps(fields, ensure_ascii=False) + "\n"

    def error(self) -> RunError:
        """The error that ends a strict run."""
        reason = "an event came too late" if self.kind == LATE else self.reason
        return RunError(
            f"{self.source}:{self.line}:{self.column}: {reason} (stream {self.stream})",
            line=self.line,
            column=self.column,
            hint="without --strict it is left out, counted and reported, and the stream goes on",
        )


def late_letter(
    stream: str, iri: str, source: str, line: int, events: EventBatch, index: int, dictionary: Dictionary
) -> DeadLetter:
    """The letter of a late event of a batch."""
    raw = RawText(event_as_nquads(events, index, dictionary).encode())
    return DeadLetter(LATE, stream, source, line, 1, LATE, raw.shown, *raw.whole, LATE, iri)


def left_out_letter(label: PatternLabel, events: EventBatch, exceeded: Exceeded, dictionary: Dictionary) -> DeadLetter:
    """The letter of an event of a batch that exceeds a bound on matching; its source is the name of its graph."""
    index = exceeded.event
    (stream, iri), source = label.streams[int(events.streams[index])], events.names[index]
    reason = f"pattern {label.pattern} of query {label.query} has {exceeded.reason} in the event"
    raw = RawText(event_as_nquads(events, index, dictionary).encode())
    return DeadLetter(BOUND, stream, source, 0, 0, f"{reason} <{source}>", raw.shown, *raw.whole, "bound", iri)


def malformed_letter(kind: str, stream: str, iri: str, source: str, line: int, fault: Malformed) -> DeadLetter:
    """The letter of a fault in an input, at a line of its source."""
    sort = "bound" if fault.kind == "too long" else "malformed"
    raw = fault.raw, fault.raw_length, fault.raw_sha256
    return DeadLetter(kind, stream, source, line, fault.column, fault.reason, *raw, sort, iri)


def event_as_nquads(events: EventBatch, index: int, dictionary: Dictionary) -> str:
    """One event of a batch in N-Quads: its timestamp in the default graph, then its quads."""
    lines = [time_line(events, index, PROV_TIME), *quad_lines(events, index, dictionary)]
    return "\n".join(lines) + "\n"


class DeadLetters:
    """The dead letters of a run, counted by kind, in an NDJSON file if there is one; strict: the first is an error."""

    def __init__(self, path: Path | str | None = None, strict: bool = False) -> None:
        self._strict = strict
        self.counts: Counter[str] = Counter()
        self._broken_off: dict[str, str] = {}
        self._failure: Exception | None = None
        self._output = Output.open(Path(path)) if path is not None else None

    def add(self, letter: DeadLetter) -> None:
        """Count and write a letter; raises RunError if the run is strict."""
        self.counts[letter.kind] += 1
        if letter.kind == TRUNCATED:
            self._broken_off.setdefault(letter.source, letter.reason)
        if self._output is not None and self._failure is None:
            try:
                self._output.write(letter.to_json())
            except (RunError, OutputClosed) as error:
                self._failure = error
        if self._strict:
            raise letter.error()

    def check_written(self) -> None:
        """Raises the error of a letter that could not be written; for a moment at which no event is half processed."""
        if self._failure is not None:
            raise self._failure

    def check_whole(self) -> None:
        """Raises RunError if an input broke off or a letter could not be written; for the end of the run."""
        self.check_written()
        if self._broken_off:
            source, why = next(iter(self._broken_off.items()))
            others = f"; {len(self._broken_off) - 1} more inputs break off" if len(self._broken_off) > 1 else ""
            hint = "what could be read was used, and all rows of it are written; mend the file and run again"
            raise RunError(f"{source}: {why}{others}", hint=hint)

    def malformed(self, stream: str, source: str, fault: Malformed, iri: str = "") -> None:
        """Add the letter of a fault in an input."""
        self.add(malformed_letter(fault.kind, stream, iri, source, fault.line, fault))

    def close(self) -> None:
        """Close the file."""
        if self._output is not None:
            self._output.close()
