"""Files of the output of micro-batches: each file is complete or missing, and equal if it is written again.

Spark repeats a micro-batch that was not committed when its driver died. The repeated one has the same number and its
matches have the same ids, so that whatever writes by (number, id) writes every match once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spaseq.algebra.nodes import AnyQuery
from spaseq.errors import InputError, RunError
from spaseq.outputs import FILE_FORMATS, open_sink
from spaseq.outputs.dead_letters import DeadLetter
from spaseq.outputs.rows import Row
from spaseq.runtime.spark.output import row_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_REDUNDANT = ("time", "start")
"""Columns that are not fetched, since others have the same values exactly."""
_OWNER = "_query"
_QUERY_ID = "sql.streaming.queryId"


@dataclass(frozen=True, slots=True)
class BatchOutput:
    """The output of a micro-batch: matches in order of time, dead letters in order of place."""

    matches: list[Row] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)

    @staticmethod
    def of(frame: DataFrame) -> BatchOutput:
        """The rows of a micro-batch, each id once."""
        found: dict[str, dict[str, Any]] = {}
        letters = []
        for row in frame.drop(*_REDUNDANT).toArrow().to_pylist():
            if row["kind"] == "match":
                found[row["id"]] = row
            else:
                letters.append(DeadLetter(row["kind"], **row["letter"]))
        ordered = sorted(found.values(), key=lambda row: (row["time_ns"], row["start_ns"], _place(row["id"])))
        letters.sort(key=lambda letter: (letter.stream, letter.source, letter.line))
        return BatchOutput([row_of(row) for row in ordered], letters)


class BatchFiles:
    """A function for `foreachBatch` that writes a file of matches into `folder`, and one of dead letters.

        outcomes.writeStream.foreachBatch(BatchFiles("matches", queries, dead_letters="late")) …

    A file appears when it is complete, and is replaced as a whole when its micro-batch is repeated. A
    folder belongs to one checkpoint: InputError when another query has written to it.
    """

    def __init__(
        self, folder: str, queries: Sequence[AnyQuery], format: str = "ndjson", dead_letters: str | None = None
    ) -> None:
        if format not in FILE_FORMATS:
            raise InputError(f"files of micro-batches cannot be {format}", hint=f"formats: {', '.join(FILE_FORMATS)}")
        self._folder, self._format, self._queries = Path(folder), format, list(queries)
        self._dead_letters = Path(dead_letters) if dead_letters else None
        if self._dead_letters == self._folder:
            raise InputError("matches and dead letters go to one folder", hint="give two folders")

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Write micro-batch `number`; writing it again changes nothing."""
        outcomes = BatchOutput.of(frame)
        query = frame.sparkSession.sparkContext.getLocalProperty(_QUERY_ID) or ""
        folder = _own(self._folder, query)
        if outcomes.matches:
            _replaced(folder / f"batch-{number:08d}.{self._format}", lambda path: self._write(path, outcomes.matches))
        if self._dead_letters is not None and outcomes.letters:
            letters = "".join(letter.to_json() for letter in outcomes.letters)
            path = _own(self._dead_letters, query) / f"batch-{number:08d}.ndjson"
            _replaced(path, lambda temporary: _write_text(temporary, letters))

    def _write(self, path: Path, rows: list[Row]) -> None:
        sink = open_sink(self._format, path, self._queries)
        try:
            sink.write(rows)
        finally:
            sink.close()


def _own(folder: Path, query: str) -> Path:
    """The folder, made if it is missing and marked as this query's."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        owner = folder / _OWNER
        if not owner.exists():
            _replaced(owner, lambda path: _write_text(path, query))
        elif (found := owner.read_text(encoding="utf-8")) != query:
            hint = "give a new folder, or the checkpoint that belongs to this one"
            raise InputError(f"{folder} has the files of another query ({found})", hint=hint)
    except OSError as error:
        raise RunError(f"cannot write to {folder}: {error.strerror}", hint="name a folder you can write to") from error
    return folder


def _replaced(path: Path, write: Callable[[Path], None]) -> None:
    """Replace a file by a complete one on disk, or leave it."""
    temporary = path.with_name(f".{path.name}.tmp")
    write(temporary)
    with open(temporary, "rb") as handle:
        os.fsync(handle.fileno())
    os.replace(temporary, path)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="replace")


def _place(match_id: str) -> tuple[str, int]:
    """The query and shard of a match, and its number there."""
    shard, _, number = match_id.rpartition("-")
    return shard, int(number)
