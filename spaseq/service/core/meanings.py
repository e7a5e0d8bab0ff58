"""The meanings of declared queries, and how they depend on each other by the streams that they make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from spaseq.algebra.build import build
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.setup import endpoints_of
from spaseq.errors import Problem
from spaseq.lang.ast import Query
from spaseq.lang.parse import check, parse
from spaseq.service.core.records import Accepted, Advanced, Paused, QueryPut, Record
from spaseq.service.core.state import State

UNKNOWN_STREAM, UNKNOWN_KNOWLEDGE = "SV001", "SV002"
"""Codes of problems that only a service has: a stream or knowledge base that nobody declared."""
_MEANINGS_MAX = 20_000
Read = tuple[Query | None, tuple[Problem, ...]]
"""A text that has been read, and its problems, whatever is declared."""


@lru_cache(_MEANINGS_MAX)
def meaning_of(name: str, text: str) -> TemporalQuery:
    """The meaning of a text that was checked before."""
    return build(parse(text, name))


def declared_meaning(state: State, name: str) -> TemporalQuery:
    """The meaning of a declared query."""
    return meaning_of(name, state.queries[name].settings.text)


def meanings(state: State) -> dict[str, TemporalQuery]:
    """Those of all declared queries, by name."""
    return {name: declared_meaning(state, name) for name in state.queries}


def derived_streams(state: State) -> dict[str, str]:
    """The IRIs of the streams that queries make, by the name of the query."""
    return {name: each.register for name, each in meanings(state).items() if each.register is not None}


def users_of(state: State, iri: str) -> list[str]:
    """The names of the queries that use a knowledge base."""
    return [name for name, each in meanings(state).items() if uses_knowledge(each, iri)]


def uses_knowledge(meaning: TemporalQuery, iri: str) -> bool:
    """True if a query may ask a knowledge base."""
    return iri in meaning.knowledge or iri in endpoints_of(meaning)


def producers(state: State) -> dict[str, TemporalQuery]:
    """The queries that make streams, by the IRI of the stream."""
    return {each.register: each for each in meanings(state).values() if each.register is not None}


def with_producers(made: Mapping[str, TemporalQuery], wanted: TemporalQuery) -> list[TemporalQuery]:
    """The queries whose streams a query reads, directly or not, producers first, and the query itself.

    made    as `producers` gives them
    """
    found: dict[str, TemporalQuery] = {}
    waiting = [wanted]
    while waiting:
        meaning = waiting.pop()
        found.pop(meaning.name, None)  # it stands before all that read it
        found[meaning.name] = meaning
        waiting += [made[iri] for iri in streams_read(meaning) if iri in made]
    return list(found.values())[::-1]


def problems_of(
    state: State, made: Collection[str], text: str, name: str, read: Read | None = None
) -> tuple[TemporalQuery | None, list[Problem]]:
    """The meaning of a text, if it can run in a service with this state, and its problems and warnings.

    made    the IRIs of the streams that queries make
    read    the text as `check` has read it; None: it is read here
    """
    query, found = check(text, name) if read is None else read
    problems = list(found)
    if query is None:
        return None, problems
    meaning = build(query)
    streams = {each.settings.iri for each in state.streams.values()} | set(made)
    bases = {each.settings.iri for each in state.knowledge.values()}
    for iri in (iri for iri in streams_read(meaning) if iri not in streams):
        problems.append(_unknown(UNKNOWN_STREAM, f"nobody declared the stream <{iri}>", text, iri))
    for iri in (iri for iri in meaning.knowledge if iri not in bases):
        problems.append(_unknown(UNKNOWN_KNOWLEDGE, f"there is no knowledge base <{iri}>", text, iri))
    return (None if any(each.severity == "error" for each in problems) else meaning), problems


def can_take(state: State, record: Record) -> bool:
    """False of a record that needs something which was declared in a record that is lost."""
    match record:
        case Accepted(stream, iri) | Advanced(stream, iri):
            return stream in state.streams and state.streams[stream].settings.iri == iri
        case QueryPut(name, _, settings, since):
            meaning, _ = problems_of(state, derived_streams(state).values(), settings.text, name)
            return meaning is not None and (since != "kept" or name in state.queries)
        case Paused(name):
            return name in state.queries
    return True


def streams_read(meaning: TemporalQuery) -> tuple[str, ...]:
    """The IRIs of the streams that a query reads."""
    return tuple(iri for _, iri in meaning.streams)


def _unknown(code: str, message: str, text: str, iri: str) -> Problem:
    """A problem at the first place of an IRI in the text; at its begin if a prefix hides it."""
    at = max(0, text.find(f"<{iri}>"))
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return Problem(code, message, line, column, len(iri) + 2, "declare it first, with PUT")
