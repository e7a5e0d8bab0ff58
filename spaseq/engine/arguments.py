"""The arguments of Python programs, checked before anything changes: a wrong one is an InputError."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from kb.source import Source
from sparql_gpm.well_formed import is_iri
from spaseq.algebra.build import build
from spaseq.algebra.nodes import AnyQuery, TemporalQuery
from spaseq.errors import InputError
from spaseq.inputs.given import GivenEvents
from spaseq.inputs.graphs import is_graph
from spaseq.inputs.tables.options import is_table


def meanings_of(query: Any) -> list[TemporalQuery]:
    """The meanings of one or several queries."""
    found = [query] if isinstance(query, AnyQuery) else list(query) if isinstance(query, Sequence) else []
    wrong = [each for each in found if not isinstance(each, AnyQuery)] if found else [query]
    if wrong:
        raise InputError(
            f"expected a query or several, not {type(wrong[0]).__name__}",
            hint="spaseq.parse(text) makes one of its text",
        )
    return [build(each) for each in found]


def check_streams(streams: Any) -> None:
    """Raises InputError unless it gives a path for each name or IRI of a stream."""
    if not isinstance(streams, Mapping):
        raise InputError(
            f"streams are a mapping from names to paths, not {type(streams).__name__}", hint='{"S1": "events.nq"}'
        )
    for name, path in streams.items():
        if not _is_path(path) and not is_table(path) and not isinstance(path, GivenEvents):
            raise InputError(
                f"the input of stream '{name}' is a path, not {type(path).__name__}",
                hint="events that a program holds are pushed: spaseq.Engine",
            )


def check_knowledge(kb: Any) -> None:
    """Raises InputError unless it gives a path, a URL or a graph for each IRI of a knowledge base."""
    if kb is None:
        return
    if not isinstance(kb, Mapping):
        raise InputError(
            f"knowledge bases are a mapping from IRIs to paths, URLs or graphs, not {type(kb).__name__}",
            hint='{"http://example.org/db": "kb.ttl"}',
        )
    for iri, source in kb.items():
        if not isinstance(iri, str):
            raise InputError(f"a knowledge base is named by its IRI, not by {type(iri).__name__}")
        if is_graph(source):
            continue
        location = source.location if isinstance(source, Source) else source
        if not _is_path(location):
            raise InputError(f"knowledge base <{iri}> is a path, a URL or a graph, not {type(location).__name__}")
        if os.fspath(location).lower().startswith(("http://", "https://")) and not _is_url(os.fspath(location)):
            hint = "write a space as %20; a host has none"
            raise InputError(f"knowledge base <{iri}>: '{location}' is no valid URL", hint=hint)


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike) and isinstance(os.fspath(value), str)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return is_iri(text) and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
