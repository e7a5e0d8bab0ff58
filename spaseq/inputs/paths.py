"""The files that a PATH means: a file, a directory, a glob, or "-" for standard input."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from spaseq.errors import InputError
from spaseq.inputs.formats import SUFFIXES, format_among, format_in, format_of

STANDARD_INPUT = "-"
_DIGITS = re.compile("([0-9]+)")
_SCHEME = re.compile(r"(?!https?:|kafka:|tcp:)[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_LOCAL = re.compile("^file:(?://(?:localhost)?(?=/))?(?=/)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file of a stream; `path` is "-" for standard input, `format` None if the first bytes say it."""

    path: str
    format: str | None


def source_name(path: str) -> str:
    """The name of an input in reports."""
    return "standard input" if path == STANDARD_INPUT else path


def is_elsewhere(path: str) -> bool:
    """True for a path of another file system of Hadoop's, `s3a://BUCKET/PATH` or `hdfs:///PATH`; `file:///` is here."""
    return bool(_SCHEME.match(path)) and not _LOCAL.match(path)


def plain(path: str) -> str:
    """The path without `file://` before it."""
    return _LOCAL.sub("", path)


def absolute(path: str) -> str:
    """The path as every process understands it."""
    return path if is_elsewhere(path) else os.path.abspath(plain(path))


def input_files(path: str, given: str | None = None, tables: bool = False) -> tuple[InputFile, ...]:
    """The files of a stream in natural order, of a directory those of known suffix; InputError if none can be read.

    given   their format; None: that of their suffixes
    tables  files of tables are known as well
    """
    if path == STANDARD_INPUT:
        return (InputFile(path, given),)
    if os.path.isdir(path):
        found = [name for name in files_of(path) if given or format_among(name, tables)]
        reason, hint = f"directory {path} has no RDF file", f"expected files that end in {SUFFIXES}"
    elif os.path.lexists(path):
        found = [path]
    elif glob.has_magic(path):
        found = files_of(path)
        reason, hint = f"no file matches '{path}'", "check the pattern, and quote it against the shell"
    else:
        raise InputError(f"cannot read {path}: there is no such file", hint=_nearby(path))
    if not found:
        raise InputError(reason, hint=hint)
    return tuple(InputFile(name, _readable(name, given, tables)) for name in found)


def files_of(path: str) -> list[str]:
    """The existing files that a PATH means, in natural order; in a directory all that are not hidden, at any depth."""
    if os.path.isdir(path):
        names, _ = _under(path)
    else:
        names = [path] if os.path.lexists(path) else glob.glob(path, recursive=True)
    return sorted((name for name in names if os.path.lexists(name) and not os.path.isdir(name)), key=natural_order)


def hidden_names(path: str) -> list[str]:
    """The hidden files and folders of a directory, which are passed over, in natural order."""
    return sorted(_under(path)[1], key=natural_order) if os.path.isdir(path) else []


def natural_order(path: str) -> tuple[list[list[str | int]], str]:
    """The key of the order of paths, folder by folder, in which `f2` comes before `f10`."""
    return [
        [int(part) if number % 2 else part for number, part in enumerate(_DIGITS.split(name))]
        for name in path.split(os.sep)
    ], path


def _under(folder: str) -> tuple[list[str], list[str]]:
    """The files of a directory and its sub-directories; the hidden files and folders, which are passed over."""

    def fail(error: OSError) -> None:
        raise unreadable(error.filename, error) from error

    found: list[str] = []
    hidden: list[str] = []
    for parent, folders, names in os.walk(folder, onerror=fail):
        for name in names + folders:
            if name.startswith("."):
                hidden.append(os.path.join(parent, name))
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(parent, name) for name in names if not name.startswith(".")]
    return found, hidden


def input_bytes(paths: Iterable[str]) -> int:
    """The size of the files of these inputs; standard input, pipes and missing files count 0."""
    return sum(os.path.getsize(name) for path in paths for name in files_of(path) if os.path.isfile(name))


def unreadable(path: str, error: OSError) -> InputError:
    """The error for a file that cannot be opened."""
    return InputError(f"cannot read {path}: {error.strerror}", hint="check the path and its permissions")


def _readable(path: str, given: str | None, tables: bool) -> str:
    """The format of a file that can be opened; raises InputError for any other."""
    found = given or format_in(path, tables)
    if found is None:
        raise InputError(
            f"cannot tell the RDF format of {path} from its name",
            hint=f"--input-format says it; or rename it to end in {SUFFIXES}",
        )
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
        if not os.access(path, os.R_OK):
            raise PermissionError(13, "Permission denied")
        if regular:
            with open(path, "rb"):
                pass
    except OSError as error:
        raise unreadable(path, error) from error
    return found


def _nearby(path: str) -> str:
    """A hint with the RDF files of the directory in which a file is missing."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return f"there is no directory {folder} either"
    known = [os.path.basename(name) for name in files_of(folder) if format_of(name)][:5]
    return f"{folder} has {', '.join(known)}" if known else f"{folder} has no RDF file"
