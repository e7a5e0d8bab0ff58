"""What a query reports: one value per match, and its line of NDJSON (LANGUAGE 3.5)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sparql_gpm.terms import IRI, XSD_STRING, BlankNode, Literal, Term, to_ntriples
from sparql_gpm.times import format_time

RowTriple = tuple[Term, Term, Term]
_encode = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Row:
    """One match, projected.

    query       the name of the query
    time, start of the last and of the first event, nanoseconds since the epoch, UTC
    bindings    (variable, term) in the order of the projection; an unbound variable is absent
    events      (step name, graph names of its events in order), one pair per step that was taken
    graph       CONSTRUCT: the name of the graph, without brackets; None for SELECT
    triples     CONSTRUCT: the graph, in any order
    """

    query: str
    time: int
    start: int
    bindings: tuple[tuple[str, Term], ...] = ()
    events: tuple[tuple[str, tuple[str, ...]], ...] = ()
    graph: str | None = None
    triples: tuple[RowTriple, ...] = ()


def to_json(row: Row) -> str:
    """The row as one line of JSON without the line end; characters beyond ASCII stay readable."""
    document: dict[str, Any] = {
        "query": row.query,
        "time": format_time(row.time),
        "start": format_time(row.start),
    }
    if row.graph is None:
        document["bindings"] = {variable: term_to_json(term) for variable, term in row.bindings}
    else:
        document["graph"] = row.graph
        document["triples"] = ntriples_lines(row.triples)
    document["events"] = dict(row.events)
    return _encode(document)


def term_to_json(term: Term) -> dict[str, str]:
    """A term as in SPARQL 1.1 Query Results JSON; the datatype of plain and language strings is left out."""
    match term:
        case IRI(value):
            return {"type": "uri", "value": value}
        case BlankNode(label):
            return {"type": "bnode", "value": label}
        case Literal(lexical, datatype, language):
            if language:
                return {"type": "literal", "value": lexical, "xml:lang": language}
            if datatype == XSD_STRING:
                return {"type": "literal", "value": lexical}
            return {"type": "literal", "value": lexical, "datatype": datatype}


def ntriples_lines(triples: Iterable[RowTriple]) -> list[str]:
    """The distinct triples as lines of N-Triples, sorted, without line ends."""
    return sorted({f"{to_ntriples(s)} {to_ntriples(p)} {to_ntriples(o)} ." for s, p, o in triples})
