"""The addresses of other services, and the names of environment variables, where secrets are."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def the_kind(given: Struct, members: Mapping[str, frozenset[str]], common: frozenset[str] = frozenset()) -> str:
    """The one member of the settings that says what they are of; ValueError for none, two, or what does not go with it.

    members     the kinds, and the members that go with each
    common      those that go with all
    """
    named: list[str] = [name for name in given.__struct_fields__ if getattr(given, name) is not None]
    kinds = [name for name in named if name in members]
    if len(kinds) != 1:
        raise ValueError(f"{', '.join(kinds or members)}: give one of them")
    if strange := next((name for name in named if name not in members[kinds[0]] | common | {kinds[0]}), None):
        raise ValueError(f"{strange}: it does not go with {kinds[0]}")
    (kind,) = kinds
    return kind


def needed(key: str, value: str | None) -> None:
    """Raises ValueError for a text that is missing or empty."""
    if not value:
        raise ValueError(f"{key}: it is missing")


def check_url(key: str, url: str, schemes: tuple[str, ...]) -> SplitResult:
    """The parts of a URL; ValueError for another scheme, no host, or credentials, which GET would show."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 -- it is parsed when it is asked for
    except ValueError as error:
        raise ValueError(f"{key}: it is no URL: {error}") from None
    if parts.scheme not in schemes or not parts.hostname or re.search(r"[\s\x00-\x1f]", url):
        raise ValueError(f"{key}: expected {' or '.join(f'{scheme}://HOST…' for scheme in schemes)}")
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"{key}: credentials do not belong into a URL: name the environment variable that holds them")
    return parts


def check_servers(key: str, servers: str) -> None:
    """Raises ValueError unless the text is HOST:PORT, or several with commas between them."""
    for each in servers.split(","):
        host, _, port = each.strip().rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError(f"{key}: '{each:.100}' is no HOST:PORT")


def check_variable(key: str, name: str | None) -> None:
    """Raises ValueError for what is no name of an environment variable."""
    if name is not None and not _VARIABLE.fullmatch(name):
        raise ValueError(f"{key}: give the name of the environment variable that holds it, not the secret")


def check_absolute(key: str, path: str) -> None:
    """Raises ValueError for a path that is relative, or that no system has."""
    if not os.path.isabs(path) or "\0" in path:
        raise ValueError(f"{key}: '{path:.200}' is a relative path: give an absolute one")
