"""Declarations and their progress, as GET gives them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from arrays.times import BEFORE_ALL
from kb.source import Source
from sparql_gpm.times import format_time
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.described import describe
from spaseq.errors import RunError
from spaseq.explain.render import to_json
from spaseq.lang.parse import parse
from spaseq.service.core.admission import Admission
from spaseq.service.core.copies import KnowledgeSources
from spaseq.service.core.meanings import declared_meaning, derived_streams, producers, with_producers
from spaseq.service.core.outside import Outside
from spaseq.service.core.queries import Queries
from spaseq.service.core.state import State
from spaseq.service.errors import Refused
from spaseq.service.store.database import Database


class Overview:
    """Streams, knowledge bases and queries with their counters; any thread asks."""

    def __init__(self, admission: Admission, sources: KnowledgeSources, queries: Queries, database: Database) -> None:
        self._admission, self._sources = admission, sources
        self._queries, self._database = queries, database
        self.outside: Outside | None = None

    @property
    def _state(self) -> State:
        return self._admission.durable

    def streams(self) -> list[dict[str, Any]]:
        """All streams, the derived ones among them."""
        with self._admission.deciding:
            derived = [
                {"name": name, "iri": iri, "derived": True} for name, iri in derived_streams(self._state).items()
            ]
            return [self._stream(name) for name in self._state.streams] + derived

    def stream(self, name: str) -> dict[str, Any]:
        """A stream."""
        with self._admission.deciding:
            if name in self._state.streams:
                return self._stream(name)
        return _found(self.streams(), "stream", name)

    def kbs(self) -> list[dict[str, Any]]:
        """All knowledge bases."""
        with self._admission.deciding:
            return [{**each.settings.shown(), "name": name} for name, each in self._state.knowledge.items()]

    def kb(self, name: str) -> dict[str, Any]:
        """A knowledge base."""
        return _found(self.kbs(), "knowledge base", name)

    def queries(self) -> list[dict[str, Any]]:
        """All queries."""
        with self._admission.deciding:
            return [self._query(name) for name in self._state.queries]

    def query(self, name: str) -> dict[str, Any]:
        """A query."""
        with self._admission.deciding:
            return self._query(name) if name in self._state.queries else missing("query", name)

    def number(self, name: str) -> int:
        """The number under which the rows of a query are kept."""
        declared = self._state.queries.get(name)
        return declared.number if declared is not None else missing("query", name)

    def explain(self, name: str) -> dict[str, Any]:
        """The JSON of `spaseq explain`."""
        declared = self._state.queries.get(name)
        if declared is None:
            missing("query", name)
        description = describe(parse(declared.settings.text, name), kb=self.sources() or None, changing=True)
        found: dict[str, Any] = json.loads(to_json(description))
        return found

    def meaning(self, name: str) -> TemporalQuery:
        """The meaning of a query."""
        self.number(name)
        return declared_meaning(self._state, name)

    def chain(self, name: str) -> tuple[State, list[TemporalQuery]]:
        """All that is declared, as it is now, and a query after those that make the streams which it reads."""
        meaning, state = self.meaning(name), self._state.copy()
        return state, with_producers(producers(state), meaning)

    def sources(self) -> Mapping[str, Source]:
        """The knowledge bases as the engine takes them, by IRI; Refused (500) if a copy is damaged."""
        state = self._state
        try:
            return {each.settings.iri: self._sources.whole(each) for each in state.knowledge.values()}
        except RunError as error:
            raise Refused(500, "Damaged", error.message) from error

    def _stream(self, name: str) -> dict[str, Any]:
        declared = self._state.streams[name]
        progress = declared.progress
        source = declared.settings.source
        return {
            **declared.settings.shown(),
            **({} if source is None or self.outside is None else {"source": self.outside.source(name, source)}),
            "name": name,
            "events": progress.events,
            "late": progress.late,
            "malformed": progress.malformed,
            "duplicates": progress.duplicates,
            "watermark": None if progress.watermark == BEFORE_ALL else format_time(progress.watermark),
            "idle": self._admission.is_idle(name),
            "position": progress.position,
        }

    def _query(self, name: str) -> dict[str, Any]:
        declared = self._state.queries[name]
        running = self._queries.running(name)
        error = "" if running is None else running.error
        return {
            **declared.settings.shown(),
            "sinks": [] if self.outside is None else self.outside.sinks(name, declared.settings.sinks),
            "name": name,
            "state": "failed" if error else "paused" if declared.paused else "running",
            "rows": self._database.newest_row(declared.number),
            "runs": 0 if running is None else running.runs,
            "memory": 0 if running is None else running.memory,
            "set_aside": declared.set_aside,
            "error": {"title": "The query was stopped", "status": 500, "detail": error} if error else None,
        }


def missing(kind: str, name: str) -> NoReturn:
    """Raises Refused (404)."""
    raise Refused(404, f"No such {kind}", f"there is no {kind} '{name}'")


def _found(things: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    found = next((each for each in things if each["name"] == name), None)
    return found if found is not None else missing(kind, name)
