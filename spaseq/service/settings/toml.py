"""The configuration in a file of TOML."""

from __future__ import annotations

import os
import re
import tomllib
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar

from spaseq.errors import InputError
from spaseq.service.settings.configuration import Auth, Configuration, Limits, Web
from spaseq.service.settings.conversion import SettingsError, converted, declared
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.quantities import check_text, is_name, name_fault
from spaseq.service.settings.queries import QuerySettings
from spaseq.service.settings.streams import StreamSettings

_TABLES = ("streams", "kb", "queries", "auth", "limits", "web")
_Value = TypeVar("_Value")
CONFIGURATION_BYTES_MAX = 4_000_000
"""Bytes of the file of a configuration."""
KEY_PARTS_MAX = 100
"""Parts of a key with dots, each of which is looked up in all that are before it."""
_LONG_KEY = re.compile(rf"(?<![\w\-])(?:(?:[\w\-]++|[\"'])[ \t]*+\.[ \t]*+){{{KEY_PARTS_MAX}}}")
_WITHOUT_KEYS = re.compile(
    r'''"""(?:[^\\]|\\.)*?"""|'{3}.*?'{3}|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|\#[^\n]*+''', re.DOTALL
)
"""Strings and comments; a quoted part of a key is one."""


def read_configuration(file: Path) -> Configuration:
    """The configuration of a file; raises InputError with file and key, or the line where TOML is at fault."""
    tables = _parsed(file)
    try:
        if unknown := next((key for key in tables if key not in _TABLES), None):
            raise SettingsError(unknown, f"unknown table; there are {', '.join(_TABLES)}")
        folder = file.absolute().parent
        limits = _within("limits", tables.get("limits", {}), lambda table: converted(table, Limits))
        found = Configuration(
            streams=_named(tables, "streams", lambda table: _stream(table, folder)),
            kb=_named(tables, "kb", lambda table: declared(_absolute(table, folder, "path"), KnowledgeSettings)),
            queries=_named(tables, "queries", lambda table: _query(table, folder, limits.text_bytes)),
            auth=_within("auth", tables["auth"], lambda table: converted(table, Auth)) if "auth" in tables else None,
            limits=limits,
            file=str(file),
            web=_within("web", tables.get("web", {}), lambda table: converted(table, Web)),
        )
        _check_iris("streams", found.streams)
        _check_iris("kb", found.kb)
    except SettingsError as error:
        raise InputError(f"{file}: {error}") from None
    return found


def _parsed(file: Path) -> dict[str, Any]:
    text = ""
    try:
        text = _read(file, CONFIGURATION_BYTES_MAX).decode()
        if long := _LONG_KEY.search(bare := _WITHOUT_KEYS.sub(_blank, text)):
            line = bare.count("\n", 0, long.start()) + 1
            raise InputError(f"{file}: a key has at most {KEY_PARTS_MAX} parts (at line {line}) (parts of a key)")
        return tomllib.loads(text)
    except OSError as error:
        raise InputError(f"cannot read the configuration {file}: {error.strerror or error}") from error
    except _TooLong:
        most = f"{CONFIGURATION_BYTES_MAX:,} bytes (size of a configuration)"
        raise InputError(
            f"{file}: a configuration has at most {most}", hint="keep queries in files of their own"
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: byte {error.start} is no UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        end = f"at line {len(text.splitlines())}, the end of the file"
        said = str(error).replace("at end of document", end)
        raise InputError(f"{file}: {said}", hint="the file is TOML 1.0") from error
    except RecursionError as error:
        raise InputError(f"{file}: arrays or tables are nested too deeply") from error
    except ValueError as error:  # Python refuses integers of thousands of digits
        raise InputError(f"{file}: {error}", hint="an integer has at most 64 bits") from error


def _blank(string: re.Match[str]) -> str:
    """A string or comment as the search for keys sees it: its line ends, and a quotation mark for a string."""
    return "" if string[0].startswith("#") else '"' + "\n" * string[0].count("\n")


class _TooLong(Exception):
    """A file has more bytes than are read."""


def _read(file: Path, bytes_max: int) -> bytes:
    """The bytes of a file; raises _TooLong without reading on, as a device has no end."""
    with file.open("rb") as opened:
        read = opened.read(bytes_max + 1)
    if len(read) > bytes_max:
        raise _TooLong
    return read


def _named(tables: Mapping[str, Any], kind: str, read: Callable[[Any], _Value]) -> dict[str, _Value]:
    given = tables.get(kind, {})
    if not isinstance(given, dict):
        raise SettingsError(kind, f"expected tables [{kind}.NAME]")
    for name in given:
        if not is_name(name):
            raise SettingsError(f"{kind}.{name:.120}", name_fault(name))
    return {name: _within(f"{kind}.{name}", table, read) for name, table in given.items()}


def _within(place: str, table: Any, read: Callable[[Any], _Value]) -> _Value:
    """The value of a table; what is wrong with it is said with the whole key."""
    try:
        if not isinstance(table, dict):
            raise SettingsError("", "expected a table")
        return read(table)
    except SettingsError as error:
        raise SettingsError(f"{place}.{error.key}" if error.key else place, error.reason) from None


def _stream(table: Mapping[str, Any], folder: Path) -> StreamSettings:
    found = _absolute(table, folder, "template")
    if isinstance(contexts := found.get("contexts"), dict):
        found["contexts"] = _absolute(contexts, folder, *contexts)
    if isinstance(source := found.get("source"), dict):
        found["source"] = _absolute(source, folder, "files")
    return declared(found, StreamSettings)


def _absolute(table: Mapping[str, Any], folder: Path, *keys: str) -> dict[str, Any]:
    """The table with its paths as seen from the folder of the file; other values are left to be refused."""
    paths = {key: os.path.normpath(folder / value) for key in keys if isinstance(value := table.get(key), str)}
    return {**table, **paths}


def _query(table: Mapping[str, Any], folder: Path, bytes_max: int) -> QuerySettings:
    """The settings of a query whose text has at most so many bytes."""
    settings = converted(_with_text(table, folder, bytes_max), QuerySettings)
    try:
        check_text("text", settings.text, bytes_max)
    except ValueError as error:
        raise SettingsError("text", str(error).removeprefix("text: ")) from None
    return settings


def _with_text(table: Mapping[str, Any], folder: Path, bytes_max: int) -> dict[str, Any]:
    """The table of a query with the text of its file, and with the paths of its sinks as seen from the folder."""
    found = dict(table)
    if isinstance(sinks := found.get("sinks"), list):
        found["sinks"] = [_absolute(sink, folder, "file") if isinstance(sink, dict) else sink for sink in sinks]
    if ("file" in found) == ("text" in found):
        raise SettingsError("file", "give the file of the query, or its text")
    if "file" in found:
        name = found.pop("file")
        if not isinstance(name, str):
            raise SettingsError("file", "expected the path of a query")
        try:
            text = _read(folder / name, bytes_max + len(BOM_UTF8)).decode("utf-8-sig")
            found["text"] = StringIO(text, newline=None).read()
        except _TooLong:
            raise SettingsError("file", f"'{name}' has more than {bytes_max:,} bytes (limit text)") from None
        except (OSError, ValueError) as error:
            raise SettingsError("file", f"cannot read '{name}': {getattr(error, 'strerror', None) or error}") from None
    return found


def _check_iris(kind: str, declared: Mapping[str, StreamSettings] | Mapping[str, KnowledgeSettings]) -> None:
    """Raises SettingsError for two of one IRI."""
    names: dict[str, str] = {}
    for name, settings in declared.items():
        if other := names.get(settings.iri):
            raise SettingsError(f"{kind}.{name}.iri", f"<{settings.iri}> is that of {kind}.{other}")
        names[settings.iri] = name
