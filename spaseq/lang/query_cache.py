"""Parsed queries of earlier processes, on disk, and the parser's tables: a text seen before is not parsed again.

Kept are the syntax trees of texts without errors, as JSON, in a folder of the user. A file is used only if its whole
content is what this installation writes for this text; any other is ignored, and written anew. Processes never see
half a file: each is written beside its place and then moved there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile

from spaseq.lang.ast import Query
from spaseq.lang.plain import from_json, to_json

VARIABLE = "SPASEQ_QUERY_CACHE"
"""The environment variable that names another folder, or is `off`."""
OFF = "off"
QUERIES_MAX = 256
"""Queries that are kept; the least recently used are removed."""
_BYTES_MAX = 1 << 20
"""Length of a file that is kept, and read."""
_LEFT_OVER_SECONDS = 3600
"""The age of a file half written by a process that was killed, from which on it is removed."""
_SUFFIX, _HALF = ".query", ".half"
_SOURCES = {
    "spaseq": ("", "lang"), "sparql_gpm": ("", "syntax", "algebra"), "automata": ("", "plan"), "arrays": ("",),
    "lark": ("", "parsers"),
}  # fmt: skip
"""The folders whose content decides on the tree of a text, by package."""


def known(text: str, name: str) -> Query | None:
    """The query of a text that was kept, under this name; None if there is none."""
    place = folder()
    if place is None:
        return None
    try:
        path = _path(place, text)
        with path.open("rb") as file:
            content = file.read(_BYTES_MAX + 1)
        os.utime(path)
        query = _read(content)
    except (OSError, ValueError, RecursionError):
        return None
    return replace(query, name=name) if query is not None and query.text == text else None


def keep(query: Query) -> None:
    """Keep a query for later processes, if there is a folder that can be written."""
    place = folder()
    if place is None:
        return
    with suppress(OSError, UnicodeEncodeError, RecursionError):
        content = _written(query)
        if len(content) > _BYTES_MAX:
            return
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(_path(place, query.text), content)
        _prune(place)


def tables() -> str | bool:
    """The file in which Lark keeps the tables of the grammar, a third of a second to make; False: they are not kept."""
    place = folder()
    if place is None:
        return False
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return str(place / "grammar")


def folder() -> Path | None:
    """The folder in which queries are kept; None if they are not."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen:
        return None if chosen == OFF else Path(chosen)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spaseq" / "queries"
    except RuntimeError:  # there is no home
        return None


def _path(folder: Path, text: str) -> Path:
    return folder / (_digest(_installation(), text.encode("utf-8", "surrogatepass")) + _SUFFIX)


def _written(query: Query) -> bytes:
    body = to_json(query).encode()
    return _digest(_installation(), body).encode() + b"\n" + body


def _read(content: bytes) -> Query | None:
    """The query of a file, None if this installation did not write it so; ValueError if it holds no query."""
    digest, _, body = content.partition(b"\n")
    return from_json(body.decode()) if digest.decode() == _digest(_installation(), body) else None


def _write(path: Path, content: bytes) -> None:
    with NamedTemporaryFile(dir=path.parent, suffix=_HALF, delete=False) as file:
        try:
            file.write(content)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _prune(folder: Path) -> None:
    found = sorted(((entry.stat().st_mtime, entry.path) for entry in _entries(folder, _SUFFIX)), reverse=True)
    old = [path for _, path in found[QUERIES_MAX:]]
    newest = found[0][0] if found else 0.0
    old += [e.path for e in _entries(folder, _HALF) if e.stat().st_mtime < newest - _LEFT_OVER_SECONDS]
    for path in old:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _entries(folder: Path, suffix: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from (entry for entry in entries if entry.name.endswith(suffix))


def _digest(*parts: bytes) -> str:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


@cache
def _installation() -> bytes:
    """The names, sizes and times of all files that decide on the tree of a text, and the version of Python.

    So neither an edit, nor another version of a dependency, nor another installation finds the trees of this one.
    OSError where a package is not in a folder.
    """
    stamps: list[object] = [sys.version]
    for package, folders in _SOURCES.items():
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise FileNotFoundError(package)
        for root in spec.submodule_search_locations:
            stamps += (_stamps(os.path.join(root, folder)) for folder in folders)
    return repr(stamps).encode("utf-8", "surrogatepass")


def _stamps(folder: str) -> list[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        files = [(entry.path, entry.stat()) for entry in entries if entry.is_file()]
    return sorted((path, status.st_size, status.st_mtime_ns) for path, status in files)
