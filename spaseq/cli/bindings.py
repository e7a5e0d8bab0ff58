"""The inputs of streams and knowledge bases: `--stream` and `--kb` resolved by the queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spaseq.algebra.build import build
from spaseq.algebra.nodes import AnyQuery
from spaseq.engine.setup import endpoints_of
from spaseq.errors import InputError
from spaseq.lang.ast import Query


def bind_streams(queries: Sequence[Query], assignments: Iterable[str]) -> dict[str, str]:
    """The path of each stream by its IRI.

    Raises InputError for an assignment that is malformed, ambiguous, given twice or declared by no
    query, and for a declared stream that has no input.
    """
    named = _iris_by_name(queries)
    iris = {stream.iri for query in queries for stream in query.streams}
    paths: dict[str, str] = {}
    for assignment in assignments:
        name, path = _split("--stream", "NAME=PATH", assignment, {*named, *iris})
        iri = name if name in iris else _only_iri(name, named, queries)
        if iri in paths:
            raise InputError(f"stream <{iri}> is given twice", hint="several files: give a folder or a glob")
        if path == "-" and "-" in paths.values():
            raise InputError("standard input is given to two streams", hint="give one of them a file")
        paths[iri] = path
    _check_origins(queries, paths)
    return paths


def bind_knowledge(queries: Sequence[AnyQuery], assignments: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The path or URL of each knowledge base by its IRI, and the IRIs that no query names.

    Raises InputError for an assignment that is malformed or given twice, and for a knowledge base without one.
    """
    meanings = [build(query) for query in queries]
    named = {iri: query.name for query in meanings for iri in query.knowledge}
    services = {iri for query in meanings for iri in endpoints_of(query)}
    sources: dict[str, str] = {}
    for assignment in assignments:
        iri, source = _split("--kb", "IRI=PATH_OR_URL", assignment, {*named, *services})
        if iri in sources:
            raise InputError(f"knowledge base <{iri}> is given twice", hint="give each IRI once")
        sources[iri] = source
    for iri, query in named.items():
        if iri not in sources:
            hint = f"add --kb '{iri}=PATH_OR_URL'"
            raise InputError(f"query '{query}' names the knowledge base <{iri}>, which is not supplied", hint=hint)
    return sources, tuple(iri for iri in sources if iri not in named and iri not in services)


def _iris_by_name(queries: Sequence[Query]) -> dict[str, dict[str, str]]:
    """Stream name → IRI → a query that declares it so."""
    named: dict[str, dict[str, str]] = {}
    for query in queries:
        for stream in query.streams:
            named.setdefault(stream.name, {}).setdefault(stream.iri, query.name)
    return named


def _split(option: str, form: str, assignment: str, known: Iterable[str]) -> tuple[str, str]:
    """The two sides; an IRI may contain `=` itself, so the longest known name that fits wins."""
    for name in sorted(known, key=len, reverse=True):
        for written in (name, f"<{name}>"):
            if assignment.startswith(f"{written}=") and len(assignment) > len(written) + 1:
                return name, assignment[len(written) + 1 :]
    name, equals, value = assignment.partition("=")
    if not (name and equals and value):
        raise InputError(f"{option} '{assignment}' is malformed", hint=f"write {option} {form}")
    return name.removeprefix("<").removesuffix(">"), value


def _only_iri(name: str, named: dict[str, dict[str, str]], queries: Sequence[Query]) -> str:
    iris = named.get(name, {})
    if not iris:
        declared = dict.fromkeys(f"{stream.name} <{stream.iri}>" for query in queries for stream in query.streams)
        raise InputError(f"no query declares a stream '{name}'", hint=f"declared: {', '.join(declared)}")
    if len(iris) > 1:
        meanings = " and ".join(f"<{iri}> in query '{query}'" for iri, query in iris.items())
        hint = f"use the IRI: --stream '{next(iter(iris))}=PATH'"
        raise InputError(f"the stream name '{name}' means {meanings}", hint=hint)
    return next(iter(iris))


def _check_origins(queries: Sequence[Query], paths: dict[str, str]) -> None:
    """Raises InputError unless each declared stream has exactly one origin: an input, or another query."""
    for query in queries:
        if query.register is not None and query.register in paths:
            message = f"stream <{query.register}> is given, and query '{query.name}' makes it"
            raise InputError(message, hint="leave out its --stream")
    for query in queries:
        derived = {other.register for other in queries if other is not query}
        for stream in query.streams:
            if stream.iri not in paths and stream.iri not in derived:
                hint = f"add --stream {stream.name}=PATH, or a query that says REGISTER STREAM <{stream.iri}>"
                raise InputError(f"stream {stream.name} <{stream.iri}> of query '{query.name}' has no input", hint=hint)
