"""Test files: the queries, events, knowledge bases, settings and rows that one has (docs/how-to/testing.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparql_gpm.terms import IRI, RDF, Literal, Term, to_ntriples
from sparql_gpm.times import parse_duration
from spaseq.algebra.build import build
from spaseq.algebra.nodes import TemporalQuery
from spaseq.engine.setup import endpoints_of
from spaseq.engine.streams import declared_by
from spaseq.errors import InputError
from spaseq.lang.parse import parse
from spaseq.lang.query_files import read_query
from spaseq.outputs.trig import VOCABULARY
from spaseq.testing.differences import Expected
from spaseq.testing.document import Document, Triple
from spaseq.testing.expectations import ROWS, expected_of

SETTINGS = {
    "maxDelay": "max_delay_ns", "timePredicate": "time_predicates", "timeChoice": "time_choice",
    "timeUnit": "time_unit", "timeOrigin": "time_origin",
}  # fmt: skip
"""Properties of a test that are options of its run, by their names in `RunOptions`."""
_PROPERTIES = {
    "query": "of a test or row", "late": "of a test", **dict.fromkeys(SETTINGS, "of a test"),
    "stream": "of an event", "file": "of a knowledge base",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueryTest:
    """A test of one or several queries that run together.

    streams     by the IRI of each stream, its events as (name of the graph, its triples with those about its name)
    knowledge   by IRI, the triples of a knowledge base or the path of its file
    settings    fields of `RunOptions`
    late        the number of late events
    """

    path: Path
    queries: tuple[TemporalQuery, ...]
    streams: Mapping[str, Sequence[tuple[str, Sequence[Triple], Sequence[Triple]]]]
    knowledge: Mapping[str, Sequence[Triple] | Path]
    expected: tuple[Expected, ...]
    settings: Mapping[str, Any]
    late: int
    prefixes: Mapping[str, str]


def read_test(path: str | os.PathLike[str]) -> QueryTest:
    """The test in a file; raises InputError or QueryError for one that cannot be run."""
    document = Document.read(Path(path))
    tests = [node for node in document.subjects("") if IRI(VOCABULARY + "Test") in document.values(node, RDF + "type")]
    if len(tests) != 1:
        raise InputError(f"{path} has {len(tests)} tests", hint=f"one resource of a test file is a <{VOCABULARY}Test>")
    _check_words(document)
    queries = tuple(_queries(document, tests[0]))
    expected, graphs = expected_of(document, queries)
    knowledge = dict(_knowledge(document, queries))
    others = {ROWS, "", *graphs, *knowledge}
    return QueryTest(
        Path(path), queries, _streams(document, queries, tests[0], others), knowledge, expected,
        _settings(document, tests[0]), _late(document, tests[0]), document.prefixes,
    )  # fmt: skip


def _check_words(document: Document) -> None:
    """InputError for a property of the vocabulary that means nothing in a test."""
    classes = {VOCABULARY + name for name in ("Test", "Graph", "Match")}
    for graph in ("", ROWS):
        for _, predicate, value in document.graphs.get(graph, ()):
            word = value if predicate == IRI(RDF + "type") else predicate
            if isinstance(word, IRI) and word.value.startswith(VOCABULARY) and word.value not in classes:
                name = word.value.removeprefix(VOCABULARY)
                if name not in _PROPERTIES or word is value:
                    known = ", ".join(f"{each} ({of})" for each, of in _PROPERTIES.items())
                    raise InputError(f"{document.path}: a test has no word <{word.value}>", hint=f"properties: {known}")


def _queries(document: Document, test: Term) -> Iterator[TemporalQuery]:
    """The queries that the test names, else that of the file's own name."""
    named = document.own(test, "query") or [IRI(document.path.absolute().with_suffix(".rq").as_uri())]
    if sum(isinstance(each, Literal) for each in named) > 1:
        raise InputError(f"{document.path} has several queries in it", hint="put them into files: s:query <name.rq>")
    for each in named:
        if isinstance(each, Literal):
            yield build(parse(each.lexical, document.path.stem))
        else:
            yield build(read_query(_shown(document.file_of(each))))


def _shown(path: Path) -> Path:
    """The path from here, if it is shorter to read."""
    near = os.path.relpath(path)
    return path if near.startswith("..") else Path(near)


def _knowledge(document: Document, queries: Sequence[TemporalQuery]) -> Iterator[tuple[str, Sequence[Triple] | Path]]:
    for iri in dict.fromkeys(name for query in queries for name in (*query.knowledge, *endpoints_of(query))):
        files = document.own(IRI(iri), "file")
        if iri in document.graphs and files:
            raise InputError(f"{document.path}: <{iri}> has a graph and a file", hint="leave one of them out")
        if files:
            yield iri, document.file_of(files[0])
        else:
            yield iri, document.graphs.get(iri, ())


def _streams(
    document: Document, queries: Sequence[TemporalQuery], test: Term, others: set[str]
) -> dict[str, list[tuple[str, Sequence[Triple], Sequence[Triple]]]]:
    """The events of each stream, in the order of the text; a name with a time and no graph is an event as well."""
    derived = {query.register for query in queries}
    declared = {iri: name for name, iri, _ in declared_by(queries) if iri not in derived}
    streams: dict[str, list[tuple[str, Sequence[Triple], Sequence[Triple]]]] = {iri: [] for iri in declared}
    about: dict[str, list[Triple]] = {}
    for triple in document.graphs.get("", ()):
        subject, predicate, _ = triple
        if subject != test and isinstance(subject, IRI) and subject.value not in others:
            kept = about.setdefault(subject.value, [])
            if isinstance(predicate, IRI) and not predicate.value.startswith(VOCABULARY):
                kept.append(triple)
    for name in dict.fromkeys([*about, *(each for each in document.graphs if each not in others)]):
        _check_event(document, name, declared)
        for iri in _streams_of(document, name, declared):
            streams[iri].append((name, about.get(name, ()), document.graphs.get(name, ())))
    return streams


def _check_event(document: Document, name: str, declared: Mapping[str, str]) -> None:
    if name in declared:
        raise InputError(f"{document.path}: <{name}> is a stream", hint="each event is a graph with a name of its own")


def _streams_of(document: Document, name: str, declared: Mapping[str, str]) -> Iterator[str]:
    """The IRIs of the streams of an event; InputError where it must say which."""
    stated = document.own(IRI(name), "stream")
    if not stated and len(declared) == 1:
        yield from declared
        return
    known = ", ".join(f'"{each}"' for each in declared.values())
    if not stated:
        hint = f"<{name}> s:stream {known.replace(', ', ' or ')}, where s: is <{VOCABULARY}>"
        raise InputError(f"{document.path}: on which stream is the event <{name}>?", hint=hint)
    for each in stated:
        value = each.value if isinstance(each, IRI) else each.lexical if isinstance(each, Literal) else ""
        found = [iri for iri, label in declared.items() if value in (iri, label)]
        if not found:
            raise InputError(f"{document.path}: no query reads a stream {to_ntriples(each)}", hint=f"streams: {known}")
        yield from found


def _settings(document: Document, test: Term) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, option in SETTINGS.items():
        values = [_text(each) for each in document.own(test, name)]
        if not values:
            continue
        if name == "timePredicate":
            found[option] = tuple(values)
        elif len(values) > 1:
            raise InputError(f"{document.path} has s:{name} twice", hint="keep one")
        else:
            found[option] = _delay(document, values[0]) if name == "maxDelay" else values[0]
    return found


def _text(term: Term) -> str:
    return term.value if isinstance(term, IRI) else term.lexical if isinstance(term, Literal) else to_ntriples(term)


def _delay(document: Document, text: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise InputError(f"{document.path}: s:maxDelay: {error}", hint="write 500ms, 10s, 5m, 1h or 2d") from None


def _late(document: Document, test: Term) -> int:
    values = document.own(test, "late") or [Literal("0")]
    if len(values) > 1 or not isinstance(values[0], Literal) or not values[0].lexical.isdigit():
        raise InputError(f"{document.path}: s:late is the number of late events", hint="write s:late 1")
    return int(values[0].lexical)
