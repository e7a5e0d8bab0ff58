"""Files of the output of micro-batches: each file is complete or missing, and equal if it is written again.

Spark repeats a micro-batch that was not committed when its driver died. The repeated one has the same number and its
matches have the same ids, so that whatever writes by (number, id) writes every match once.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from spaseq.algebra.nodes import AnyQuery
from spaseq.errors import InputError, RunError
from spaseq.inputs.paths import absolute, is_elsewhere
from spaseq.outputs import FILE_FORMATS, open_sink
from spaseq.outputs.dead_letters import DeadLetter
from spaseq.outputs.rows import Row
from spaseq.runtime.spark.output import row_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spaseq.runtime.spark.hadoop import HadoopFiles

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

    A folder is one of this machine, or of any file system of Hadoop's that the session can reach: `s3a://`, `hdfs://`.
    A file appears when it is complete, and is replaced as a whole when its micro-batch is repeated. A
    folder belongs to one checkpoint: InputError when another query has written to it.
    """

    def __init__(
        self, folder: str, queries: Sequence[AnyQuery], format: str = "ndjson", dead_letters: str | None = None
    ) -> None:
        if format not in FILE_FORMATS:
            raise InputError(f"files of micro-batches cannot be {format}", hint=f"formats: {', '.join(FILE_FORMATS)}")
        self._folder, self._format, self._queries = absolute(os.fspath(folder)), format, list(queries)
        self._dead_letters = absolute(os.fspath(dead_letters)) if dead_letters else None
        if self._dead_letters == self._folder:
            raise InputError("matches and dead letters go to one folder", hint="give two folders")

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Write micro-batch `number`; writing it again changes nothing."""
        outcomes = BatchOutput.of(frame)
        folder = _own(self._folder, frame)
        if outcomes.matches:
            folder.replace(f"batch-{number:08d}.{self._format}", lambda path: self._write(path, outcomes.matches))
        if self._dead_letters is not None and outcomes.letters:
            letters = "".join(letter.to_json() for letter in outcomes.letters)
            own = _own(self._dead_letters, frame)
            own.replace(f"batch-{number:08d}.ndjson", lambda path: _write_text(path, letters))

    def _write(self, path: Path, rows: list[Row]) -> None:
        sink = open_sink(self._format, path, self._queries)
        try:
            sink.write(rows)
        finally:
            sink.close()


class _Folder(Protocol):
    """A folder of output."""

    def owner(self) -> str | None:
        """The query that it is marked as belonging to; None for a new one, which is made."""

    def replace(self, name: str, write: Callable[[Path], None]) -> None:
        """Replace a file by a complete one, or leave it; `write` is given the path of a local file."""


@dataclass(frozen=True, slots=True)
class _LocalFolder:
    """A folder of this machine; RunError where it cannot be written."""

    path: Path

    def owner(self) -> str | None:
        """See `_Folder`."""
        with self._told():
            self.path.mkdir(parents=True, exist_ok=True)
            owner = self.path / _OWNER
            return owner.read_text(encoding="utf-8") if owner.exists() else None

    def replace(self, name: str, write: Callable[[Path], None]) -> None:
        """See `_Folder`: complete on disk."""
        path, temporary = self.path / name, self.path / f".{name}.tmp"
        with self._told():
            write(temporary)
            with open(temporary, "rb") as handle:
                os.fsync(handle.fileno())
            os.replace(temporary, path)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            hint = "name a folder you can write to"
            raise RunError(f"cannot write to {self.path}: {error.strerror}", hint=hint) from error


@dataclass(frozen=True, slots=True)
class _FolderElsewhere:
    """A folder of another of Hadoop's file systems."""

    path: str
    files: HadoopFiles

    def owner(self) -> str | None:
        """See `_Folder`."""
        self.files.make_folder(self.path)
        owner = f"{self.path}/{_OWNER}"
        return self.files.read(owner).decode() if self.files.exists(owner) else None

    def replace(self, name: str, write: Callable[[Path], None]) -> None:
        """See `_Folder`."""
        with tempfile.TemporaryDirectory(prefix="spaseq-batch-") as folder:
            local = Path(folder) / name
            write(local)
            self.files.put(local, f"{self.path}/{name}")


def _own(path: str, frame: DataFrame) -> _Folder:
    """The folder, made if it is missing and marked as that of the frame's query."""
    query = frame.sparkSession.sparkContext.getLocalProperty(_QUERY_ID) or ""
    folder: _Folder = _LocalFolder(Path(path))
    if is_elsewhere(path):
        from spaseq.runtime.spark.hadoop import HadoopFiles

        folder = _FolderElsewhere(path.rstrip("/"), HadoopFiles.of(frame.sparkSession))
    found = folder.owner()
    if found is None:
        folder.replace(_OWNER, lambda local: _write_text(local, query))
    elif found != query:
        hint = "give a new folder, or the checkpoint that belongs to this one"
        raise InputError(f"{path} has the files of another query ({found})", hint=hint)
    return folder


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="replace")


def _place(match_id: str) -> tuple[str, int]:
    """The query and shard of a match, and its number there."""
    shard, _, number = match_id.rpartition("-")
    return shard, int(number)
