"""Events as plain values, and reading text into them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions, read_events
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.terms import to_ntriples

PREFIXES = (
    "@prefix : <http://ex.org/> .\n"
    "@prefix prov: <http://www.w3.org/ns/prov#> .\n"
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
)
TIME = "<http://www.w3.org/ns/prov#generatedAtTime>"


@dataclass(frozen=True)
class Event:
    """time in nanoseconds; triples as N-Triples text, in the order read."""

    name: str
    time: int
    triples: tuple[str, ...]


def events_of(batches: Iterable[EventBatch], dictionary: Dictionary) -> list[Event]:
    """The events of batches, each looked at before the next one is asked for."""
    found: list[Event] = []
    for batch in batches:
        assert len(batch) > 0
        assert not batch.streams.any()
        for index in range(len(batch)):
            rows = range(int(batch.offsets[index]), int(batch.offsets[index + 1]))
            triples = tuple(
                " ".join(to_ntriples(dictionary.term(int(column[row]))) for column in columns)
                for columns in [(batch.subjects, batch.predicates, batch.objects)]
                for row in rows
            )
            found.append(Event(batch.names[index], int(batch.times[index]), triples))
    return found


def read(
    text: str | bytes, rdf_format: str = "nquads", options: ReadOptions | None = None
) -> tuple[list[Event], list[Malformed]]:
    """The events of a text, and what was reported."""
    data = text.encode() if isinstance(text, str) else text
    reports: list[Malformed] = []
    dictionary = Dictionary()
    batches = read_events(io.BytesIO(data), rdf_format, dictionary, options or ReadOptions(), reports.append)
    return events_of(batches, dictionary), reports


def stamp(graph: str, second: int) -> str:
    """An N-Quads line that gives a graph a time, in seconds after the epoch."""
    return f'{graph} {TIME} "{second}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
