"""The inputs of streams and knowledge bases: `--stream` and `--kb` resolved by the queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spaseq.algebra.build import build
from spaseq.algebra.nodes import AnyQuery
from spaseq.engine.setup import endpoints_of
from spaseq.engine.streams import declared_by, with_inputs
from spaseq.errors import InputError


def bind_streams(queries: Sequence[AnyQuery], assignments: Iterable[str]) -> dict[str, str]:
    """The path of each stream by its IRI; InputError for what is malformed, ambiguous, given twice or missing."""
    meanings = [build(query) for query in queries]
    known = {part for name, iri, _ in declared_by(meanings) for part in (name, iri)}
    given = (_split("--stream", "NAME=PATH", assignment, known) for assignment in assignments)
    paths = {iri: path for iri, (_, path) in with_inputs(meanings, given, "--stream '{}=PATH'").items()}
    if list(paths.values()).count("-") > 1:
        raise InputError("standard input is given to two streams", hint="give one of them a file")
    return paths


def bind_knowledge(queries: Sequence[AnyQuery], assignments: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Each knowledge base's path or URL by IRI, and the IRIs that no query names; InputError if one is missing."""
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
