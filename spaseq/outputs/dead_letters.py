"""What a run leaves out of its input: counted always, written as NDJSON when there is a file for it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import TextIO

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import PROV_TIME
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.terms import IRI, XSD, Literal, to_ntriples
from sparql_gpm.times import format_time
from spaseq.errors import InputError, RunError

LATE = "late"


class DeadLetters:
    """The dead-letter output of a run; close it, or use it in a `with` statement.

    path        the NDJSON file, begun anew; None: nothing is written
    strict      the first letter stops the run with a RunError
    counts      letters by sort: "late", or the kind of a Malformed
    """

    def __init__(self, path: Path | str | None = None, strict: bool = False) -> None:
        self._strict = strict
        self._path = path
        self.counts: Counter[str] = Counter()
        self._file = _begun(path) if path is not None else None

    @property
    def total(self) -> int:
        """All letters."""
        return self.counts.total()

    def malformed(self, stream: str, source: str, letter: Malformed) -> None:
        """Part of an input that could not be used."""
        self._write(letter.kind, stream, source, letter.line, letter.column, letter.reason, letter.raw)

    def late(self, stream: str, source: str, line: int, event_nquads: str) -> None:
        """An event that came later than the declared delay allows."""
        self._write(LATE, stream, source, line, 1, LATE, event_nquads)

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> DeadLetters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, sort: str, stream: str, source: str, line: int, column: int, reason: str, raw: str) -> None:
        self.counts[sort] += 1
        if self._file is not None:
            letter = {
                "stream": stream, "source": source, "line": line, "column": column, "reason": reason, "raw": raw,
            }  # fmt: skip
            try:
                self._file.write(json.dumps(letter, ensure_ascii=False) + "\n")
                self._file.flush()
            except OSError as error:
                raise RunError(f"cannot write to the dead-letter file {self._path}: {error.strerror}") from error
        if self._strict:
            raise RunError(
                f"{source}:{line}:{column}: {'an event came too late' if sort == LATE else reason} (stream {stream})",
                line=line,
                column=column,
                hint="without --strict it is left out, counted and reported, and the stream goes on",
            )


def _begun(path: Path | str) -> TextIO:
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        reason = f"cannot write the dead-letter file {path}: {error.strerror}"
        raise InputError(reason, hint="name a file in a folder you can write to") from error


def event_as_nquads(events: EventBatch, index: int, dictionary: Dictionary) -> str:
    """One event of a batch as it would be read again: its timestamp in the default graph, then its quads."""
    graph = to_ntriples(IRI(events.names[index]))
    time = to_ntriples(Literal(format_time(int(events.times[index])), XSD + "dateTime"))
    lines = [f"{graph} <{PROV_TIME}> {time} ."]
    for row in range(int(events.offsets[index]), int(events.offsets[index + 1])):
        triple = (events.subjects[row], events.predicates[row], events.objects[row])
        lines.append(" ".join(to_ntriples(dictionary.term(int(identifier))) for identifier in triple) + f" {graph} .")
    return "\n".join(lines) + "\n"
