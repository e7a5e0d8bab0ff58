"""A SPARQL endpoint as a knowledge base."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kb.access import Access, shown
from kb.bind_join import BindJoin, EndpointCounts
from kb.errors import KnowledgeBaseError
from kb.loop import LoopThread
from kb.protocol import Client, Traffic
from kb.source import Source, how_endpoints_are_asked
from sparql_gpm.algebra.traversal import walk
from sparql_gpm.columns import Ids, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.pattern import Graph, Pattern, Service

_PATTERNS_MAX = 256
"""Patterns whose answers are cached."""


@dataclass(eq=False)
class Endpoint:
    """EndpointCounts for the keys of a batch, within one batch in one state as far as its answers are known.

    clock   in seconds; looked at between batches only
    """

    is_bind_joined = True
    unprovable = "nothing can be proven about an endpoint, which may know more by the time of the match"

    source: Source
    access: Access
    dictionary: Dictionary
    loop: LoopThread
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.access.admitted(self.source.location)
        self._now = self.clock()
        self._joins: dict[Pattern, BindJoin] = {}
        self._client: Client | None = None
        self.counts = EndpointCounts()
        self.traffic = Traffic()

    @property
    def how(self) -> str:
        """In words, for `explain`."""
        return how_endpoints_are_asked(self.source)

    def check(self, pattern: Pattern, is_service: bool) -> None:
        """Raises KnowledgeBaseError for a pattern that cannot be sent."""
        if any(isinstance(node, Service) or (isinstance(node, Graph) and not is_service) for node in walk(pattern)):
            raise KnowledgeBaseError(
                "GRAPH or SERVICE inside a pattern for an endpoint would name another knowledge base",
                shown(self.source.location),
                hint="write the two one after the other, not one inside the other",
            )

    def bind_join(self, pattern: Pattern, given: Mapping[str, Ids]) -> Solutions:
        """At least the solutions that agree with a row of the given values; raises KnowledgeBaseError."""
        return self.loop.run(self._ask(pattern, given))

    def refresh(self) -> bool:
        """Between batches: expires old answers; solved patterns never change."""
        self._now = self.clock()
        return False

    def close(self) -> None:
        """Closes the connections; they are opened again when needed."""
        if self._client is not None:
            self.loop.run(self._client.close())
            self._client = None

    async def _ask(self, pattern: Pattern, given: Mapping[str, Ids]) -> Solutions:
        if self._client is None:
            self._client = Client(self.source, self.access)
            self._client.traffic = self.traffic
        if pattern not in self._joins:
            if len(self._joins) >= _PATTERNS_MAX:
                self._joins.clear()
            self._joins[pattern] = BindJoin(pattern, self.source, self.dictionary, lambda: self._now, self.counts)
        return await self._joins[pattern].solutions(given, self._client)
