"""Directory streams: the ranges of bytes between two places. Files are read in natural order and never change.

A place is a file and a byte in it, so that a checkpoint is small however many files there are. A file that appears must
therefore sort after those that were begun, as segments of a log do, and be complete when it appears (written elsewhere,
or under a hidden name, then moved in). Files that were read and are gone, others in their place, and files that appear
before them are told, never left out in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any

from spaseq.inputs.file_ranges import FileRange, is_whole, ranges_of
from spaseq.inputs.formats import format_among
from spaseq.inputs.paths import natural_order
from spaseq.inputs.storage import storage_of
from spaseq.runtime.spark.sources.options import SourceOptions

_HASH_MAX = (1 << 64) - 1
_FAILING = SourceOptions()


@dataclass(frozen=True, slots=True)
class FilePosition:
    """A place in a stream: after all earlier files and the first `byte` bytes of `file`.

    line    lines before that byte
    files   the number of files up to this one
    names   a hash of the set of their names; "": not known, in the checkpoint of an earlier version
    ended   the end of the stream has been signalled
    """

    file: str = ""
    byte: int = 0
    line: int = 0
    files: int = 0
    ended: bool = False
    names: str = ""

    @staticmethod
    def of(offset: dict[str, Any]) -> FilePosition:
        """The place in an offset of Spark's checkpoint."""
        return FilePosition(**offset)

    def offset(self) -> dict[str, Any]:
        """The offset for Spark's checkpoint."""
        return asdict(self)


class Directory:
    """The files that a PATH means now, and later.

    lose    is told what is not as it was read, by default an error
    given   the format of the files; "": their suffixes say it
    tables  files of tables are known as well
    """

    def __init__(
        self,
        path: str,
        lose: Callable[[str, Sequence[str]], None] = _FAILING.lose,
        given: str = "",
        tables: bool = False,
    ) -> None:
        self._path = path
        self._lose = lose
        self._given, self._tables = given, tables

    def files(self) -> list[str]:
        """Their names, in order."""
        return [name for name in storage_of(self._path).files(self._path) if self._format_of(name)]

    def _format_of(self, name: str) -> str:
        return self._given or format_among(name, self._tables) or ""

    def end(self) -> FilePosition:
        """The place after all files; its line is not counted."""
        files = self.files()
        return (
            _placed(FilePosition(files[-1], storage_of(files[-1]).size(files[-1])), files) if files else FilePosition()
        )

    def after(self, part: FileRange) -> FilePosition:
        """The place after a range."""
        if part.end is None:
            return _placed(FilePosition(part.file, max(1, storage_of(part.file).size(part.file))), self.files())
        return _placed(FilePosition(part.file, part.end, part.line + part.lines()), self.files())

    def kept(self, place: FilePosition, files: Sequence[str] | None = None) -> FilePosition:
        """The place among the files of now, after `lose` was told what of the files up to it is not as it was."""
        files = self.files() if files is None else files
        now = _placed(place, files)
        lost = [] if not place.file else [*_other_files(place, now), *self._other_bytes(place, files)]
        if not lost:
            return place
        self._lose(self._path, lost)
        return (
            replace(now, byte=min(place.byte, storage_of(place.file).size(place.file))) if place.file in files else now
        )

    def _other_bytes(self, place: FilePosition, files: Sequence[str]) -> Iterator[str]:
        if place.file not in files:
            return
        size = storage_of(place.file).size(place.file)
        if size < place.byte or (is_whole(place.file, self._format_of(place.file)) and max(1, size) != place.byte):
            yield f"{place.file} has {size} bytes, and had {place.byte} when it was read"

    def ranges(self, start: FilePosition, bytes_max: int, end: FilePosition | None = None) -> Iterator[FileRange]:
        """The ranges of about `bytes_max` from one place to another, or to the last file; both are `kept` first."""
        files = self.files()
        start = self.kept(start, files)
        end = end and self.kept(end, files)
        for name in files:
            order = natural_order(name)
            if order >= natural_order(start.file) and (end is None or order <= natural_order(end.file)):
                begin, line = (start.byte, start.line) if name == start.file else (0, 0)
                stop = end.byte if end is not None and name == end.file else None
                yield from ranges_of(name, self._format_of(name), begin, stop, line, bytes_max)


def _placed(place: FilePosition, files: Sequence[str]) -> FilePosition:
    """The place with the number of files up to it, and the hash of their names."""
    found = [name for name in files if natural_order(name) <= natural_order(place.file)]
    hashes = (
        int.from_bytes(blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8).digest()) for name in found
    )
    return replace(place, files=len(found), names=f"{sum(hashes) & _HASH_MAX:016x}")


def _other_files(place: FilePosition, now: FilePosition) -> Iterator[str]:
    match place.files - now.files:
        case 0 if place.names not in ("", now.names):
            yield f"the files up to {place.file} are others than those that were read"
        case 0:
            return
        case gone if gone > 0:
            yield f"of the {place.files} files that were read, up to {place.file}, {gone} are gone"
        case appeared:
            yield f"a file has appeared that sorts before {place.file}, which was already read ({-appeared} in all)"
