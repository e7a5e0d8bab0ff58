"""Where outcomes of a Spark job go: a file for each micro-batch, whole or not there, the same one when it is repeated.

Spark repeats a micro-batch that was not committed when its driver died. The repeated one has the same
number, and its matches have the same ids; so whatever writes by (number, id) writes every match once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spaseq.errors import InputError, RunError
from spaseq.lang.ast import Query
from spaseq.outputs import open_sink
from spaseq.outputs.rows import Row
from spaseq.runtime.spark.output import row_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LETTER_FIELDS = ("stream", "source", "line", "column", "reason", "raw")
FILE_FORMATS = ("ndjson", "csv")
_SAID_TWICE = ("time", "start")
"""Columns that are not fetched: the same is exact in others."""
_OWNER = "_query"
_QUERY_ID = "sql.streaming.queryId"


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What a micro-batch has brought, in the order of time.

    letters     (kind, letter) with the fields of a dead letter
    """

    matches: list[Row] = field(default_factory=list)
    letters: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @staticmethod
    def of(frame: DataFrame) -> Outcomes:
        """The rows of one micro-batch, each id once."""
        found: dict[str, dict[str, Any]] = {}
        letters = []
        for row in frame.drop(*_SAID_TWICE).toArrow().to_pylist():
            if row["kind"] == "match":
                found[row["id"]] = row
            else:
                letters.append((row["kind"], {name: row["letter"][name] for name in LETTER_FIELDS}))
        ordered = sorted(found.values(), key=lambda row: (row["time_ns"], row["start_ns"], _place(row["id"])))
        letters.sort(key=lambda letter: (letter[1]["stream"], letter[1]["source"], letter[1]["line"]))
        return Outcomes([row_of(row) for row in ordered], letters)


class BatchFiles:
    """A function for `foreachBatch`: matches into `folder`, dead letters into `dead_letters`, a file a micro-batch.

        outcomes.writeStream.foreachBatch(BatchFiles("matches", queries, dead_letters="late")) …

    A file appears when it is complete, and is replaced as a whole when its micro-batch is repeated. A
    folder belongs to one checkpoint: InputError when another query has written to it.
    """

    def __init__(
        self, folder: str, queries: Sequence[Query], format: str = "ndjson", dead_letters: str | None = None
    ) -> None:
        if format not in FILE_FORMATS:
            raise InputError(f"files of micro-batches cannot be {format}", hint=f"formats: {', '.join(FILE_FORMATS)}")
        self._folder, self._format, self._queries = Path(folder), format, list(queries)
        self._dead_letters = Path(dead_letters) if dead_letters else None
        if self._dead_letters == self._folder:
            raise InputError("matches and dead letters go to one folder", hint="give two folders")

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Write micro-batch `number`; a second time changes nothing."""
        outcomes = Outcomes.of(frame)
        query = frame.sparkSession.sparkContext.getLocalProperty(_QUERY_ID) or ""
        folder = _own(self._folder, query)
        if outcomes.matches:
            _replaced(folder / f"batch-{number:08d}.{self._format}", lambda path: self._write(path, outcomes.matches))
        if self._dead_letters is not None and outcomes.letters:
            letters = "".join(json.dumps(letter, ensure_ascii=False) + "\n" for _, letter in outcomes.letters)
            path = _own(self._dead_letters, query) / f"batch-{number:08d}.ndjson"
            _replaced(path, lambda temporary: _write_text(temporary, letters))

    def _write(self, path: Path, rows: list[Row]) -> None:
        sink = open_sink(self._format, path, self._queries)
        try:
            sink.write(rows)
        finally:
            sink.close()


def _own(folder: Path, query: str) -> Path:
    """The folder, which is this query's from now on."""
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
    """The file, complete and on disk, or as it was."""
    temporary = path.with_name(f".{path.name}.tmp")
    write(temporary)
    with open(temporary, "rb") as handle:
        os.fsync(handle.fileno())
    os.replace(temporary, path)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


def _place(match_id: str) -> tuple[str, int]:
    """Query and shard, and the number of the row in it."""
    shard, _, number = match_id.rpartition("-")
    return shard, int(number)
