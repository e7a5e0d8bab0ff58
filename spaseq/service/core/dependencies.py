"""The streams that declared queries make and read, kept up from one state to the next."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from spaseq.service.core.meanings import declared_meaning
from spaseq.service.core.state import DeclaredQuery, State


class Dependencies:
    """An index of the queries of a state; a query that has not changed is not looked at again."""

    def __init__(self) -> None:
        self._known: dict[str, DeclaredQuery] = {}
        self._made: dict[str, str] = {}
        self._readers: dict[str, dict[str, None]] = {}

    def of(self, state: State) -> Dependencies:
        """The index, which is that of this state now."""
        if len(self._known) > len(state.queries) or any(name not in state.queries for name in self._known):
            for name in self._known.keys() - state.queries.keys():
                self._forget(name)
        for name, declared in state.queries.items():
            if self._known.get(name) is not declared:
                self._forget(name)
                self._learn(name, declared, state)
        return self

    @property
    def made(self) -> Mapping[str, str]:
        """The IRIs of the streams that queries make, by the name of the query."""
        return self._made

    @property
    def read(self) -> Collection[str]:
        """The IRIs of the streams that queries read."""
        return self._readers.keys()

    def readers(self, iri: str) -> list[str]:
        """The names of the queries that read a stream."""
        return list(self._readers.get(iri, ()))

    def _learn(self, name: str, declared: DeclaredQuery, state: State) -> None:
        meaning = declared_meaning(state, name)
        self._known[name] = declared
        if meaning.register is not None:
            self._made[name] = meaning.register
        for _, iri in meaning.streams:
            self._readers.setdefault(iri, {})[name] = None

    def _forget(self, name: str) -> None:
        self._known.pop(name, None)
        self._made.pop(name, None)
        for iri, readers in list(self._readers.items()):
            readers.pop(name, None)
            if not readers:
                del self._readers[iri]
