"""Access to endpoints: allowed hosts, credentials, and URLs for messages."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from kb.errors import KnowledgeBaseError

_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Access:
    """The allowed hosts, and the environment with their credentials.

    hosts   host names, each alone or with a port; None: all that the query and the knowledge bases name

    Credentials of a host are in SPASEQ_TOKEN_HOST, or in SPASEQ_USER_HOST and SPASEQ_PASSWORD_HOST, where HOST is
    its name in upper case with `_` for whatever is no letter or digit, the port included if the URL has one.
    """

    hosts: frozenset[str] | None
    environment: Mapping[str, str]

    @staticmethod
    def to(hosts: Iterable[str] | None = None) -> Access:
        """With the environment of this process."""
        return Access(None if hosts is None else frozenset(h.lower() for h in hosts), os.environ)

    def admitted(self, url: str) -> str:
        """The URL, if its host is allowed; raises KnowledgeBaseError without credentials in its text."""
        parts = _split(url)
        if parts is None or parts.scheme not in _SCHEMES or not parts.hostname:
            raise KnowledgeBaseError("not the URL of an endpoint", shown(url), hint="http://HOST/PATH or https://…")
        if parts.username is not None or parts.password is not None:
            hint = f"give them as {' and '.join(_names(parts)[1:])} in the environment"
            raise KnowledgeBaseError("credentials do not belong into a URL", shown(url), hint=hint)
        if self.hosts is not None and not {_host(parts), parts.hostname.lower()} & self.hosts:
            allowed = ", ".join(sorted(self.hosts)) or "none"
            message = f"the host {parts.hostname} may not be asked"
            raise KnowledgeBaseError(message, shown(url), hint=f"allowed: {allowed}")
        return url

    def authorization(self, url: str) -> str | None:
        """The value of the Authorization header for the URL's own host, or None."""
        parts = _split(url)
        assert parts is not None, shown(url)
        token, user, password = (self.environment.get(name) for name in _names(parts))
        if token:
            return f"Bearer {token}"
        if user:
            return "Basic " + base64.b64encode(f"{user}:{password or ''}".encode()).decode("ascii")
        return None


def shown(url: str) -> str:
    """The URL for messages: without credentials, and without its query, where keys are sometimes kept."""
    parts = _split(url)
    if parts is None or not parts.hostname:
        return url.split("?")[0].rpartition("@")[2]
    return f"{parts.scheme}://{_host(parts)}{parts.path}"


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 -- it is parsed when it is asked for
        return parts
    except ValueError:
        return None


def _host(parts: SplitResult) -> str:
    name = (parts.hostname or "").lower()
    name = f"[{name}]" if ":" in name else name
    return name if parts.port is None else f"{name}:{parts.port}"


def _names(parts: SplitResult) -> tuple[str, str, str]:
    """The environment's names for token, user and password of a host."""
    host = re.sub(r"[^A-Z0-9]+", "_", _host(parts).upper()).strip("_")
    return f"SPASEQ_TOKEN_{host}", f"SPASEQ_USER_{host}", f"SPASEQ_PASSWORD_{host}"
