"""Settings from what a parser of TOML or JSON has read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

import msgspec

from spaseq.service.settings.quantities import check_file

_Settings = TypeVar("_Settings")
_WithFiles = TypeVar("_WithFiles", bound="NeedsFiles")
_PLACE = re.compile(r" - at `\$\.?(.*)`$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)


class NeedsFiles(Protocol):
    """Settings that name files."""

    def files(self) -> Iterator[tuple[str, str]]:
        """The key and the path of each."""


class SettingsError(ValueError):
    """A value that is no setting: the key at fault, "" for the whole, and the reason in words."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}" if key else reason)
        self.key = key
        self.reason = reason


def converted(value: Any, kind: type[_Settings]) -> _Settings:
    """The settings; raises SettingsError for an unknown key, a missing one or a wrong value."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _explained(str(error), kind) from None


def declared(value: Any, kind: type[_WithFiles]) -> _WithFiles:
    """The settings of a user who declares them now: the files that they name exist, by absolute paths."""
    settings = converted(value, kind)
    for key, path in settings.files():
        try:
            check_file(key, path)
        except ValueError as error:
            raise SettingsError(key, str(error).removeprefix(f"{key}: ")) from None
    return settings


def _explained(message: str, kind: type) -> SettingsError:
    place = _PLACE.search(message)
    parent, text = (place[1], message[: place.start()]) if place else ("", message)
    if unknown := _UNKNOWN.match(text):
        hint = "" if parent else f"; there are {', '.join(field.name for field in msgspec.structs.fields(kind))}"
        return SettingsError(_joined(parent, unknown[1]), f"unknown key{hint}")
    if missing := _MISSING.match(text):
        return SettingsError(_joined(parent, missing[1]), "it is missing")
    key, colon, reason = text.partition(": ")
    if colon and not text.startswith(("Expected", "Invalid")):  # of the checks of a Struct, which name their key
        return SettingsError(key if key.startswith(f"{parent}.") else _joined(parent, key), reason)
    return SettingsError(parent, text[:1].lower() + text[1:])


def _joined(parent: str, key: str) -> str:
    return f"{parent}.{key}" if parent else key
