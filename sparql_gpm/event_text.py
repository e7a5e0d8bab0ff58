"""Events of a batch as N-Quads."""

from __future__ import annotations

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import IRI, to_ntriples
from sparql_gpm.times import time_literal


def time_line(events: EventBatch, index: int, predicate: str) -> str:
    """The statement of the time of an event in the default graph, without a line end."""
    time = to_ntriples(time_literal(int(events.times[index])))
    return f"{to_ntriples(IRI(events.names[index]))} {to_ntriples(IRI(predicate))} {time} ."


def quad_lines(events: EventBatch, index: int, dictionary: Dictionary) -> list[str]:
    """The quads of an event, without line ends."""
    graph = to_ntriples(IRI(events.names[index]))
    rows = range(int(events.offsets[index]), int(events.offsets[index + 1]))
    triples = ([to_ntriples(dictionary.term(int(column[row]))) for column in events.terms] for row in rows)
    return [f"{' '.join(triple)} {graph} ." for triple in triples]
