"""`spaseq service backup` and `restore`: a data folder as one file, and back.

A backup is a tar archive with the files of the folder, and last their digests. It is one point in time, also while a
service runs: the database is copied first, in one transaction, and then the log, which has all that the database was
made of. A service over a restored folder reads the rest of the log again, as after a kill.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from spaseq.errors import InputError, RunError
from spaseq.service.core.copies import PART
from spaseq.service.core.folder import COPIES, LOG
from spaseq.service.log.ends import NAME as ENDS
from spaseq.service.log.ends import noted_ends
from spaseq.service.log.files import DiskFolder
from spaseq.service.log.segments import named
from spaseq.service.maintenance.check import check_is_data_folder
from spaseq.service.maintenance.findings import Progress
from spaseq.service.store.damage import DATABASE

MANIFEST = "MANIFEST.json"
VERSION = 1
"""Of backups; one more when an older SPAseq could not read them."""
TRIES_MAX = 5
"""How often a backup is begun anew as the service has trimmed its log meanwhile."""
_MEMBER = re.compile(rf"{re.escape(DATABASE)}|{LOG}/[\w.-]+|{COPIES}/[\w.-]+")
_PIECE_BYTES = 1 << 20


class _Trimmed(Exception):
    """The service has trimmed its log, or deleted a copy of a knowledge base, while it was copied."""


def backup(data: Path, file: Path, progress: Progress) -> int:
    """Copy a data folder into a file, which is replaced when the new one is whole; its bytes.

    InputError if it is no data folder, RunError if the service trims sooner than this copies; raises OSError.
    """
    check_is_data_folder(data)
    part = file.with_name(f".{file.name}.part")
    try:
        for _ in range(TRIES_MAX):
            with suppress(_Trimmed), _written(part) as target:
                _write(data, target, file.absolute().parent, progress)
                break
        else:
            hint = "make a backup when less is pushed, or let the log be retained for longer"
            raise RunError(f"the service has trimmed its log {TRIES_MAX} times while it was copied", hint=hint)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)
    return file.stat().st_size


def restore(file: Path, data: Path, progress: Progress) -> None:
    """Make a data folder from a backup; InputError if there is one, RunError if the file is damaged. Raises OSError."""
    if data.exists() and (not data.is_dir() or any(data.iterdir())):
        raise InputError(f"{data} is not empty", hint="name a new folder")
    total = file.stat().st_size
    try:
        with tarfile.open(file, "r:") as archive:
            _check(archive, progress, total)
        part = data.with_name(f".{data.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        with tarfile.open(file, "r:") as archive:
            _extract(archive, part, progress, total)
    except (tarfile.TarError, EOFError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{file} is no backup, or a damaged one: {error}", hint="restore another one") from error
    if data.exists():
        data.rmdir()
    part.rename(data)


# --- writing ------------------------------------------------------------------------------------------


@contextmanager
def _written(part: Path) -> Iterator[BinaryIO]:
    """A file that only its owner reads, on disk at the end."""
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _write(data: Path, target: BinaryIO, beside: Path, progress: Progress) -> None:
    """Write the archive; `beside`: a folder with room for a copy of the database. Raises _Trimmed."""
    digests: dict[str, str] = {}
    with (
        TemporaryDirectory(dir=beside, prefix=".spaseq-backup-") as folder,
        tarfile.open(fileobj=target, mode="w:", format=tarfile.PAX_FORMAT) as archive,
    ):
        kept = Path(folder)
        _keep_copies(data, kept)
        _copy_database(data / DATABASE, kept / DATABASE)
        digests[DATABASE] = _add(archive, DATABASE, kept / DATABASE, (kept / DATABASE).stat().st_size)
        files = DiskFolder(data / LOG)
        noted = noted_ends(files)
        segments = named(files)
        if noted is not None and segments and segments[0].first > noted.first:
            raise _Trimmed
        if noted is not None:
            digests[f"{LOG}/{ENDS}"] = _add_bytes(archive, f"{LOG}/{ENDS}", noted.encoded())
        total, done = sum(segment.good for segment in segments), 0
        for segment in segments:
            progress("the log", done, total)
            done += segment.good
            name = f"{LOG}/{segment.name}"
            digests[name] = _add(archive, name, data / name, segment.good)
        _keep_copies(data, kept)
        for path in sorted((kept / COPIES).iterdir()):
            digests[f"{COPIES}/{path.name}"] = _add(archive, f"{COPIES}/{path.name}", path, path.stat().st_size)
        manifest = json.dumps({"version": VERSION, "sha256": digests}, indent=1).encode()
        _add_bytes(archive, MANIFEST, manifest)


def _keep_copies(data: Path, kept: Path) -> None:
    """Keep the copies of knowledge bases that are there now, whatever the service does with them."""
    (kept / COPIES).mkdir(exist_ok=True)
    for path in (data / COPIES).glob("*"):
        if path.suffix != PART and not (kept / COPIES / path.name).exists():
            with suppress(FileNotFoundError):
                shutil.copyfile(path, kept / COPIES / path.name)


def _copy_database(path: Path, copy: Path) -> None:
    """Copy a database as it is at one moment."""
    with closing(sqlite3.connect(path, timeout=30)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target, pages=-1)
        target.execute("pragma journal_mode = delete")


def _add(archive: tarfile.TarFile, name: str, path: Path, size: int) -> str:
    """Add so many bytes of a file; their digest. Raises _Trimmed if it is gone."""
    member, digest = _member(name, size), sha256()
    try:
        with path.open("rb") as file:
            archive.addfile(member, _Digesting(file, digest.update))
    except FileNotFoundError as error:
        raise _Trimmed from error
    return digest.hexdigest()


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> str:
    archive.addfile(_member(name, len(data)), io.BytesIO(data))
    return sha256(data).hexdigest()


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member


class _Digesting(io.RawIOBase):
    """A file that tells what is read of it."""

    def __init__(self, file: BinaryIO, tell: Callable[[bytes], None]) -> None:
        self._file, self._tell = file, tell

    def read(self, size: int = -1) -> bytes:
        """See `io.RawIOBase`."""
        data = self._file.read(size)
        self._tell(data)
        return data


# --- reading ------------------------------------------------------------------------------------------


def _check(archive: tarfile.TarFile, progress: Progress, total: int) -> None:
    """Read an archive once; ValueError, or another error of a format, if it is not as it was written."""
    digests, manifest = dict[str, str](), None
    for member in archive:
        progress("the backup", member.offset, total)
        if manifest is not None or not member.isreg():
            raise ValueError(f"{member.name:.80} is not expected")
        if member.name == MANIFEST:
            manifest = json.loads(b"".join(_pieces(archive, member)))
            continue
        if not _MEMBER.fullmatch(member.name) or member.name in digests:
            raise ValueError(f"{member.name:.80} is not expected")
        digest = sha256()
        for piece in _pieces(archive, member):
            digest.update(piece)
        digests[member.name] = digest.hexdigest()
    if manifest is None:
        raise ValueError("its end is missing")
    if manifest["version"] != VERSION:
        raise ValueError(f"it has version {manifest['version']}, this SPAseq reads {VERSION}")
    if wrong := [name for name in {*digests, *manifest["sha256"]} if digests.get(name) != manifest["sha256"].get(name)]:
        raise ValueError(f"{min(wrong)} is not as it was written")


def _extract(archive: tarfile.TarFile, folder: Path, progress: Progress, total: int) -> None:
    """Write the files of an archive that was checked."""
    for each in (folder, folder / LOG, folder / COPIES):
        each.mkdir(mode=0o700)
    for member in archive:
        progress("the folder", member.offset, total)
        if member.name != MANIFEST:
            with _written(folder / member.name) as file:
                for piece in _pieces(archive, member):
                    file.write(piece)


def _pieces(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    file = archive.extractfile(member)
    assert file is not None
    read = 0
    while piece := file.read(_PIECE_BYTES):
        read += len(piece)
        yield piece
    if read != member.size:
        raise ValueError(f"{member.name} is cut")
