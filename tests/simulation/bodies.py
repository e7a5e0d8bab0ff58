"""Events as bodies of every format that a service takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyoxigraph as ox

from sparql_gpm.terms import IRI, RDF, XSD, BlankNode, Literal, Term, to_ntriples
from tests.conformance.times import to_iso
from tests.inputs import jelly_files
from tests.strategies.stream import EX, GENERATED

TEMPLATE = f"""PREFIX : <{EX}>
<{{name}}> <{GENERATED.value}> ?time .
<{{name}}> {{ <{{thing}}> a <{{kind}}> ; :k <{{key}}> ; :v ?value . }}
"""
"""Makes events of the rows that `csv` and `ndjson` have."""
_NO_NAME = "urn:unnamed"
"""Stands for the graph of an event that has none, where a format asks for a subject of its time."""
_TIME_TYPE = XSD + "dateTime"
_ntriples = lru_cache(1_000)(to_ntriples)


@dataclass(frozen=True, slots=True)
class Event:
    """An event before it is accepted.

    time    nanoseconds since the epoch; None: it has none, which is malformed where the stream does not stamp events
    name    its graph IRI; None: it has no identity of its own, and is alone in its body
    """

    time: int | None
    name: str | None
    triples: tuple[tuple[Term, Term, Term], ...]


def nquads(events: Sequence[Event]) -> bytes:
    """N-Quads."""
    lines: list[str] = []
    for event in events:
        graph = "" if event.name is None else f" <{event.name}>"
        if event.time is not None:
            lines.append(f"<{event.name or _NO_NAME}> {to_ntriples(GENERATED)} {_stamp(event.time)} .\n")
        lines += [f"{joined(triple)}{graph} .\n" for triple in event.triples]
    return "".join(lines).encode()


def trig(events: Sequence[Event]) -> bytes:
    """TriG; Turtle and N-Triples for an event without a graph."""
    blocks: list[str] = []
    for event in events:
        if event.time is not None:
            blocks.append(f"<{event.name or _NO_NAME}> {to_ntriples(GENERATED)} {_stamp(event.time)} .\n")
        inside = "".join(f"{joined(triple)} .\n" for triple in event.triples)
        blocks.append(inside if event.name is None else f"<{event.name}> {{\n{inside}}}\n")
    return "".join(blocks).encode()


def jsonld(events: Sequence[Event]) -> bytes:
    """JSON-LD, a document of all events."""
    return json.dumps([_document(event) for event in events]).encode()


def ndjsonld(events: Sequence[Event]) -> bytes:
    """JSON-LD, a line for each event."""
    return "".join(f"{json.dumps(_document(event))}\n" for event in events).encode()


def jelly(events: Sequence[Event]) -> bytes:
    """Jelly, a frame for each event."""
    quads = [list(ox.parse(nquads([event]), ox.RdfFormat.N_QUADS)) for event in events]
    return jelly_files.written(quads, "quads", "datasets")


def csv(events: Sequence[Event]) -> bytes:
    """CSV for `TEMPLATE`."""
    rows = [",".join(_cells(event).values()) for event in events]
    return "".join(f"{line}\n" for line in ["name,time,thing,kind,key,value", *rows]).encode()


def ndjson(events: Sequence[Event]) -> bytes:
    """Rows of JSON for `TEMPLATE`."""
    return "".join(f"{json.dumps(_cells(event))}\n" for event in events).encode()


RDF_FORMATS: Mapping[str, Callable[[Sequence[Event]], bytes]] = {
    "nquads": nquads, "trig": trig, "jsonld": jsonld, "ndjsonld": ndjsonld, "jelly": jelly,
}  # fmt: skip
SINGLE_FORMATS: Mapping[str, Callable[[Sequence[Event]], bytes]] = {"turtle": trig, "ntriples": trig}
"""Those of one event without a graph."""
TABLE_FORMATS: Mapping[str, Callable[[Sequence[Event]], bytes]] = {"csv": csv, "ndjson": ndjson}
FORMATS = {**RDF_FORMATS, **SINGLE_FORMATS, **TABLE_FORMATS}
_last: list[tuple[str, Sequence[Event], bytes]] = []
"""What was written last, if anything: what is under test and its twin get the same body, one after the other."""


def written(name: str, events: Sequence[Event]) -> bytes:
    """The body of these events in the format of a name."""
    if not _last or _last[0][0] != name or _last[0][1] is not events:
        _last[:] = [(name, events, FORMATS[name](events))]
    return _last[0][2]


def _stamp(time: int) -> str:
    return to_ntriples(Literal(to_iso(time), _TIME_TYPE))


def joined(triple: tuple[Term, Term, Term]) -> str:
    """Its terms in N-Triples."""
    return " ".join(map(_ntriples, triple))


def _document(event: Event) -> dict[str, object]:
    things: dict[str, dict[str, object]] = {}
    for subject, predicate, target in event.triples:
        thing = things.setdefault(_id(subject), {"@id": _id(subject)})
        values = thing.setdefault(_id(predicate), [])
        assert isinstance(values, list)
        values.append(_value(target))
    document: dict[str, object] = {"@graph": list(things.values())}
    if event.name is not None:
        document["@id"] = event.name
    if event.time is not None:
        document[GENERATED.value] = {"@value": to_iso(event.time), "@type": _TIME_TYPE}
    return document


def _id(term: Term) -> str:
    return f"_:{term.label}" if isinstance(term, BlankNode) else term.value


def _value(term: Term) -> dict[str, str]:
    if isinstance(term, Literal):
        return {"@value": term.lexical, "@type": term.datatype}
    return {"@id": _id(term)}


def _cells(event: Event) -> dict[str, str]:
    """The cells of a row: those of the first thing of an event, as far as it has them."""
    found = {predicate.value: (subject, target) for subject, predicate, target in reversed(event.triples)}
    thing = next((subject for subject, _ in found.values() if isinstance(subject, IRI)), IRI(f"{EX}s0"))
    kind, key, value = (found.get(iri, (None, None))[1] for iri in (RDF + "type", EX + "k", EX + "v"))
    return {
        "name": event.name or "",
        "time": "" if event.time is None else to_iso(event.time),
        "thing": thing.value,
        "kind": kind.value if isinstance(kind, IRI) else EX + "A",
        "key": key.value if isinstance(key, IRI) else EX + "x",
        "value": value.lexical if isinstance(value, Literal) else "1",
    }
