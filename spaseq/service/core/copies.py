"""Copies of the files of knowledge bases, named by their digests: what was put stays, whatever becomes of the file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from kb.source import Source
from spaseq.errors import RunError
from spaseq.service.core.rest import READ_AGAIN_S, Rest
from spaseq.service.core.state import DeclaredKnowledge
from spaseq.service.log.files import sync_folder
from spaseq.service.log.segments import WAYS
from spaseq.service.settings.regular_files import check_unpacked, pieces_of
from spaseq.service.store.faults import in_words, is_of_the_disk

BOUND = "limits.kb"
"""The bound of the file of a knowledge base, by its key in the configuration."""
PART = ".part"
"""What the name of a copy that is under way ends with."""
_T = TypeVar("_T")
_LOST, _EMPTY = ".lost", "empty.nt"


class CopyLost(RunError):
    """A copy is lost, and that was accepted: queries that use it fail."""


def kept_copy(path: Path, folder: Path, bytes_max: int) -> str:
    """The name of the copy of a file, on disk when this returns; only its owner reads it.

    Raises UnusableFile for what is no regular file of at most so many bytes, after decompression too, and OSError.
    """
    if path.name.lower().endswith(".gz"):
        check_unpacked(str(path), bytes_max, BOUND)
    digest, suffixes = sha256(), "".join(path.suffixes[-2:])
    for piece in pieces_of(str(path), bytes_max, BOUND):
        digest.update(piece)
    if (folder / (name := f"{digest.hexdigest()}{suffixes}")).exists():
        return name
    beside, digest = folder / f"{name}{PART}", sha256()
    beside.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as target:
            for piece in pieces_of(str(path), bytes_max, BOUND):
                digest.update(piece)
                target.write(piece)
            target.flush()
            os.fsync(target.fileno())
        beside.replace(folder / (name := f"{digest.hexdigest()}{suffixes}"))
    finally:
        beside.unlink(missing_ok=True)
    sync_folder(folder)
    return name


def is_whole(copy: Path) -> bool:
    """True if a copy is there, and is as it was copied. Raises OSError."""
    if not copy.exists():
        return False
    digest = sha256()
    for piece in pieces_of(str(copy), sys.maxsize, BOUND):
        digest.update(piece)
    return copy.name.startswith(digest.hexdigest())


def check_copy(copy: Path) -> None:
    """RunError if a copy is missing or damaged: CopyLost if that was accepted. Raises OSError."""
    if mark_of(copy).exists():
        hint = "PUT the knowledge base again, then the query"
        raise CopyLost(f"the knowledge base was lost on disk: its copy kb/{copy.name} is damaged", hint=hint)
    if not is_whole(copy):
        what = "is damaged" if copy.exists() else "is missing"
        raise RunError(f"kb/{copy.name} {what}", hint=WAYS)


def mark_of(copy: Path) -> Path:
    """The file that says of a copy that its loss was accepted."""
    return copy.with_name(f"{copy.name}{_LOST}")


def give_up_copy(copy: Path) -> None:
    """Accept that a copy is lost."""
    mark_of(copy).touch(mode=0o600)
    copy.unlink(missing_ok=True)


def copies(folder: Path) -> list[Path]:
    """All finished copies in a folder, damaged ones among them."""
    return sorted(each for each in folder.glob("*") if each.suffix not in (PART, _LOST) and each.name != _EMPTY)


class KnowledgeSources:
    """The knowledge bases as the engine takes them; `folder`: of their copies, each of at most `bytes_max` bytes.

    lost    those whose loss was accepted, by IRI: they are empty, and queries that use them fail
    fault   of the disk, for which a copy cannot be read that is used from now on; "" while it can
    """

    def __init__(self, folder: Path, rest: Rest, bytes_max: int) -> None:
        self.folder, self._rest, self._bytes_max = folder, rest, bytes_max
        self.fault = ""
        self.lost: dict[str, CopyLost] = {}
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def kept(self, path: Path) -> str:
        """The name of the copy of a file; see `kept_copy`."""
        return kept_copy(path, self.folder, self._bytes_max)

    def source(self, declared: DeclaredKnowledge) -> Source:
        """A knowledge base that is used from now on; RunError for a damaged copy whose loss was not accepted."""
        self.lost.pop(iri := declared.settings.iri, None)
        try:
            return self.whole(declared)
        except CopyLost as error:
            self.lost[iri], path = error, self.folder / _EMPTY
            path.touch(mode=0o600)
        return replace(declared.settings.source, location=str(path))

    def whole(self, declared: DeclaredKnowledge) -> Source:
        """The copy of the file of a knowledge base, or its endpoint; RunError for a copy that is damaged."""
        if not declared.copy:
            return declared.settings.source
        check_copy(path := self.folder / declared.copy)
        return replace(declared.settings.source, location=str(path))

    def used(self, use: Callable[[], _T]) -> _T:
        """Use a copy, as soon as the disk gives it; what is raised otherwise is raised."""
        while True:
            try:
                found = use()
            except (OSError, RunError) as error:
                fault = _fault_of(error)
                if fault is None:
                    raise
                self.fault = in_words(fault)
                self._rest.after(error, READ_AGAIN_S)
            else:
                self.fault = ""
                return found


def _fault_of(error: BaseException) -> OSError | None:
    """The fault of the disk for which a copy cannot be read; None: it is for another reason."""
    while not isinstance(error, OSError):
        if error.__cause__ is None:
            return None
        error = error.__cause__
    return error if is_of_the_disk(error) else None
