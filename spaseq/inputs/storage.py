"""The file system of an input file: that of this machine, or one that a runtime brings along."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Protocol

from spaseq.errors import InputError
from spaseq.inputs.paths import files_of, is_elsewhere


class Storage(Protocol):
    """Files by name; InputError, RunError or OSError for one that cannot be used."""

    def files(self, path: str) -> list[str]:
        """The existing files that a PATH means, in natural order; in a folder all that are not hidden, at any depth."""

    def size(self, name: str) -> int:
        """The number of bytes of a file."""

    def open(self, name: str, begin: int = 0) -> BinaryIO:
        """The bytes of a file from a place on."""


class _Here:
    """Files of this machine."""

    def files(self, path: str) -> list[str]:
        """See `Storage`."""
        return [name for name in files_of(path) if os.path.isfile(name)]

    def size(self, name: str) -> int:
        """See `Storage`."""
        return os.path.getsize(name)

    def open(self, name: str, begin: int = 0) -> BinaryIO:
        """See `Storage`."""
        handle = Path(name).open("rb")  # noqa: SIM115  (the caller closes it)
        handle.seek(begin)
        return handle


_here = _Here()
_elsewhere: list[Callable[[], Storage]] = []


def bring(elsewhere: Callable[[], Storage]) -> None:
    """Have the files of other file systems read by this storage, which is made when the first one is asked for."""
    _elsewhere[:] = [elsewhere]


def storage_of(path: str) -> Storage:
    """The storage of a path; raises InputError for one elsewhere where no runtime brings its file system."""
    if not is_elsewhere(path):
        return _here
    if not _elsewhere:
        hint = "copy it here, or run the query on Spark: spaseq run --runtime spark, spaseq submit"
        raise InputError(f"{path} is in another file system, which only Spark can read", hint=hint)
    return _elsewhere[0]()


def local_copy(path: str) -> str:
    """A new file or folder of this machine with what a path elsewhere means now; removed when the process ends."""
    storage = storage_of(path)
    found = storage.files(path)
    if not found:
        raise InputError(f"there is no file {path}", hint="check the path, and who may read it")
    folder = Path(tempfile.mkdtemp(prefix="spaseq-copy-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    whole = found == [path]
    for number, name in enumerate(found):
        last = name.rsplit("/", 1)[-1]
        with storage.open(name) as source, open(folder / (last if whole else f"{number:05d}-{last}"), "wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 22)
    return os.fspath(folder / last) if whole else os.fspath(folder)
