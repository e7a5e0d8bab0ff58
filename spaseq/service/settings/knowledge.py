"""The settings of a knowledge base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, to_builtins

from kb.source import Source
from sparql_gpm.times import SECOND_NS
from spaseq.service.settings.quantities import Duration, FilePath, Iri, check_iri
from spaseq.service.settings.quantities import duration_ns as nanoseconds

_REMOTE = ("http://", "https://")


class KnowledgeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A knowledge base as the user declares it: `path` or `url`, and the options of `--kb`.

    failure     when the endpoint fails: "wait", "skip" or "fail"
    refresh     between checks of files; for which answers of an endpoint are kept
    timeout     for one answer of the endpoint
    entail      "rdfs": what follows by RDFS is added
    """

    iri: Iri
    path: FilePath | None = None
    url: str | None = None
    failure: Literal["wait", "skip", "fail"] = "wait"
    refresh: Duration | None = None
    timeout: Duration | None = None
    entail: Literal["rdfs"] | None = None

    def __post_init__(self) -> None:
        check_iri("iri", self.iri)
        if (self.path is None) == (self.url is None):
            raise ValueError("path, url: give one of the two")
        if self.url is not None:
            check_iri("url", self.url)
            if not self.url.lower().startswith(_REMOTE):
                raise ValueError(f"url: '{self.url:.200}' does not begin with http:// or https://")
        if self.refresh is not None:
            nanoseconds("refresh", self.refresh)
        if self.timeout is not None:
            nanoseconds("timeout", self.timeout, least=1)

    def files(self) -> Iterator[tuple[str, str]]:
        """The key and the path of the file, if it is one."""
        if self.path is not None:
            yield "path", self.path

    @property
    def source(self) -> Source:
        """The knowledge base as the engine takes it."""
        given: dict[str, Any] = {"failure": self.failure, "entail": self.entail is not None}
        if self.refresh is not None:
            given["refresh_s"] = nanoseconds("refresh", self.refresh) / SECOND_NS
        if self.timeout is not None:
            given["timeout_s"] = nanoseconds("timeout", self.timeout) / SECOND_NS
        return Source(self.path or self.url or "", **given)

    def shown(self) -> Mapping[str, Any]:
        """The settings as GET gives them: as written, with defaults, without those that are None."""
        shown: dict[str, Any] = to_builtins(self)
        return {key: value for key, value in shown.items() if value is not None}
