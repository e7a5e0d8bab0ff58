"""The provenance of graphs of CONSTRUCT as RDF: PROV-O (https://www.w3.org/TR/prov-o/)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sparql_gpm.terms import IRI, to_ntriples
from sparql_gpm.times import time_literal

if TYPE_CHECKING:
    from spaseq.outputs.explanations import Why
    from spaseq.outputs.rows import Row

PROV = "http://www.w3.org/ns/prov#"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def to_trig(why: Why) -> str:
    """The provenance of an explained graph, in TriG.

    The triples that the match used stand in named graphs of their events and knowledge bases. The explanation must be
    that of a CONSTRUCT query's row.
    """
    assert why.graph is not None, why
    used: dict[str, dict[str, None]] = {}
    for step in why.steps:
        for home, triples in ((step.event, step.triples), *step.knowledge.items()):
            used.setdefault(home, {}).update(dict.fromkeys(triples))
    lines = list(_statements(why.graph, why.start, why.time, used))
    for home, own in used.items():
        lines += [f"{_iri(home)} {{", *(f"  {triple}" for triple in own), "}"]
    return "".join(f"{line}\n" for line in lines)


def row_statements(row: Row) -> Iterator[str]:
    """Statements of N-Triples: the graph of a CONSTRUCT query's row comes from the events of its match."""
    assert row.graph is not None, row
    used = dict.fromkeys(name for _, names in row.events for name in names)
    return _statements(row.graph, row.start, row.time, used)


def _statements(graph: str, start: int, end: int, used: Iterable[str]) -> Iterator[str]:
    """The graph as an entity that its match, an activity, generated from the graphs that it used."""
    entity, activity = _iri(graph), _iri(f"{graph}#match")
    yield f"{entity} {_TYPE} {_prov('Entity')} ."
    yield f"{entity} {_prov('wasGeneratedBy')} {activity} ."
    yield from (f"{entity} {_prov('wasDerivedFrom')} {_iri(home)} ." for home in used)
    yield f"{activity} {_TYPE} {_prov('Activity')} ."
    yield f"{activity} {_prov('startedAtTime')} {to_ntriples(time_literal(start))} ."
    yield f"{activity} {_prov('endedAtTime')} {to_ntriples(time_literal(end))} ."
    yield from (f"{activity} {_prov('used')} {_iri(home)} ." for home in used)


def _prov(name: str) -> str:
    return f"<{PROV}{name}>"


def _iri(text: str) -> str:
    return to_ntriples(IRI(text))
