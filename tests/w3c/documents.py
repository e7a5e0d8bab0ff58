"""The W3C's tests of RDF documents, run on the readers of events.

Each named graph is an event, and so is a document without any; a time of its own is given to each. Readers of streams
have no base, so that the document's is stated before its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyoxigraph as ox

from sparql_gpm.rdf_io import ReadOptions
from sparql_gpm.terms import IRI, to_ntriples
from tests.sparql_gpm.rdf_events import Event, read
from tests.w3c.manifests import OTHER_ANSWER, PASSED, Case, Outcome
from tests.w3c.results import quads_in, same_quads

_READERS = {".nt": "ntriples", ".nq": "nquads", ".ttl": "turtle", ".trig": "trig"}
_OF_ONE_GRAPH = {"nquads": "nquads messages", "trig": "messages"}
"""The readers by which the default graph of a document without named ones is an event."""
_BASED = ("turtle", "trig")
_BESIDE = "default graph"
"""The kind of the faults that are triples in the default graph beside events."""
_OPTIONS = ReadOptions(arrival_time=lambda: 0, reopens=True, time_predicates=())
_NAMELESS = "urn:spaseq:event:"
_OF_EVENT = re.compile(r"_:e\d+_")
"""What the labels of an event's blank nodes begin with."""


def outcome(case: Case) -> Outcome:
    """The outcome of a test: a good document has no fault, and is what it is to be; a bad one has a fault."""
    assert case.action is not None
    reader, text = _READERS[case.action.suffix], case.action.read_bytes()
    if reader in _BASED:
        text = f"BASE <{case.published(case.action)}> ".encode() + text
    events, faults = read(text, reader, _OPTIONS)
    beside = [fault for fault in faults if fault.kind == _BESIDE]
    if beside and not events and reader in _OF_ONE_GRAPH:
        reader, beside = _OF_ONE_GRAPH[reader], []
        events, faults = read(text, reader, _OPTIONS)
    if "Negative" in case.kind:
        return PASSED if len(faults) > len(beside) else Outcome("failed", "read without a fault")
    if len(faults) > len(beside):
        return Outcome("failed", next(fault.reason for fault in faults if fault.kind != _BESIDE))
    if case.result is not None and not _is_right(case, list(_lines(events, reader)), bool(beside)):
        return OTHER_ANSWER
    if beside and case.result is not None:
        return Outcome("inapplicable", "a default graph beside named graphs is no event: only these are compared")
    return PASSED


def _is_right(case: Case, lines: Sequence[str], only_named: bool) -> bool:
    assert case.result is not None
    if case.kind.endswith("C14N"):
        return sorted(_OF_EVENT.sub("_:", line) for line in lines) == sorted(_text_lines(case))
    wanted = quads_in(case.result, case.published(case.result))
    if only_named:
        wanted = [quad for quad in wanted if quad.graph_name != ox.DefaultGraph()]
    return same_quads(ox.parse("\n".join(lines), ox.RdfFormat.N_QUADS), wanted)


def _text_lines(case: Case) -> list[str]:
    """The lines of the result: a literal may have other line ends of Unicode."""
    assert case.result is not None
    return case.result.read_text("utf-8").removesuffix("\n").split("\n")


def _lines(events: Sequence[Event], reader: str) -> Iterator[str]:
    """The canonical N-Quads of events; a graph that a blank node names is an event without a name."""
    for number, event in enumerate(events):
        name = f" {to_ntriples(IRI(event.name))}"
        if event.name.startswith(_NAMELESS):
            name = f" _:g{number}" if reader in _OF_ONE_GRAPH else ""
        yield from (f"{triple}{name} ." for triple in event.triples)
