"""The streams of some queries: what a name stands for, and the one origin of each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.arguments import check_streams
from spaseq.errors import InputError
from spaseq.inputs.given import GivenEvents
from spaseq.inputs.tables.options import is_table

PathLike = str | os.PathLike[str]
"""The path of a file, folder or glob."""
Declared = tuple[str, str, str]
"""A stream in FROM: its name, its IRI, and the name of the query."""


def declared_by(queries: Iterable[TemporalQuery]) -> Iterator[Declared]:
    """The streams in FROM of some queries."""
    return ((name, iri, query.name) for query in queries for name, iri in query.streams)


class FreshNames(Iterator[str]):
    """The names of the graphs of a stream that have none.

    number  of the next one
    """

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.number = 0

    def __next__(self) -> str:
        number = self.number
        self.number += 1
        return f"urn:spaseq:event:{self.stream}:{number}"


class PushedStreams:
    """The streams that a program pushes to, as the registered queries call them.

    known           by name and IRI, the answers of `iri`, remembered until a query comes or goes
    fresh_names     by IRI, the names of graphs without one
    """

    def __init__(self) -> None:
        self._queries: dict[tuple[str, str], Counter[str]] = {}
        self._names: dict[str, str] = {}
        self.fresh_names: dict[str, FreshNames] = {}
        self.known: dict[str, str] = {}

    def add(self, query: TemporalQuery) -> None:
        """One more query."""
        self.known.clear()
        for name, iri, of in declared_by([query]):
            self._queries.setdefault((name, iri), Counter())[of] += 1
            self._names.setdefault(iri, name)
            self.fresh_names.setdefault(iri, FreshNames(name))

    def remove(self, query: TemporalQuery) -> None:
        """Takes a query out; a stream that no query declares any more is forgotten."""
        self.known.clear()
        for name, iri, of in declared_by([query]):
            queries = self._queries[name, iri]
            queries[of] -= 1
            if not queries[of]:
                del queries[of]
            if not queries:
                del self._queries[name, iri]
        for iri in {iri for _, iri in query.streams}.difference(iri for _, iri in self._queries):
            del self._names[iri], self.fresh_names[iri]

    def iri(self, key: str, pushed: Container[str]) -> str:
        """As `iri_of`, of the streams with these IRIs."""
        declared = [(name, iri, next(iter(of))) for (name, iri), of in self._queries.items() if iri in pushed]
        found = self.known[key] = iri_of(key, declared)
        return found

    def name(self, iri: str) -> str:
        """The name of a stream in the first query that declared it."""
        return self._names[iri]

    def snapshot(self) -> list[Any]:
        """By IRI the name of each stream, and the number of its next name, as plain values."""
        return [[iri, names.stream, names.number] for iri, names in self.fresh_names.items()]

    def restore(self, state: Iterable[Any]) -> None:
        """Continues from a snapshot; the queries are there already."""
        for iri, name, number in state:
            self._names[iri] = name
            self.fresh_names[iri] = FreshNames(name)
            self.fresh_names[iri].number = number


def prefixes_of(queries: Iterable[TemporalQuery]) -> dict[str, str]:
    """The prefixes of some queries; one that means different namespaces in them is none."""
    stated: dict[str, set[str]] = {}
    for query in queries:
        for prefix, namespace in query.parsed.prefixes:
            stated.setdefault(prefix, set()).add(namespace)
    return {prefix: next(iter(namespaces)) for prefix, namespaces in stated.items() if len(namespaces) == 1}


def iri_of(key: str, declared: Sequence[Declared], way_out: str = "use the IRI: {}") -> str:
    """The IRI of the stream that a key is or names; InputError, whose way out has a gap for an IRI, if not just one."""
    if not isinstance(key, str):
        raise InputError(f"a stream is named by its IRI or its name in a query, not by {type(key).__name__}")
    found = {iri: query for _, iri, query in declared if iri == key}
    found = found or {iri: query for name, iri, query in declared if name == key}
    if not found:
        known = ", ".join(dict.fromkeys(f"{name} <{iri}>" for name, iri, _ in declared)) or "none yet"
        raise InputError(f"no query reads a stream '{key}'", hint=f"declared: {known}")
    if len(found) > 1:
        meanings = " and ".join(f"<{iri}> in query '{query}'" for iri, query in found.items())
        raise InputError(f"the stream name '{key}' means {meanings}", hint=way_out.format(next(iter(found))))
    return next(iter(found))


def resolve_streams(queries: Sequence[TemporalQuery], streams: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """IRI → (name, path or table) of every stream given; raises InputError if one is unknown, ambiguous or missing."""
    check_streams(streams)
    return with_inputs(queries, streams.items(), '{{"{}": PATH}}')


def with_inputs(
    queries: Sequence[TemporalQuery], given: Iterable[tuple[str, Any]], form: str
) -> dict[str, tuple[str, Any]]:
    """IRI → (name, path) of every stream given; InputError unless each has one origin; `form` stands in hints."""
    declared = list(declared_by(queries))
    names = {iri: name for name, iri, _ in declared}
    found: dict[str, tuple[str, Any]] = {}
    for key, path in given:
        iri = iri_of(key, declared, f"use the IRI: {form}")
        if iri in found:
            raise InputError(f"stream <{iri}> is given twice", hint="several files: give a folder or a glob")
        found[iri] = names[iri], path if is_table(path) or isinstance(path, GivenEvents) else os.fspath(path)
    for query in queries:
        if query.register in found:
            message = f"stream <{query.register}> is given, and query '{query.name}' makes it"
            raise InputError(message, hint="leave out the one or the other")
        derived = {other.register for other in queries if other is not query}
        for name, iri in query.streams:
            if iri not in found and iri not in derived:
                hint = f"add {form.format(name)}, or a query that says REGISTER STREAM <{iri}>"
                raise InputError(f"stream {name} <{iri}> of query '{query.name}' has no input", hint=hint)
    return found
