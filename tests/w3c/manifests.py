"""The manifests of the W3C's tests of SPARQL and RDF, as cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal as OneOf
from typing import cast

import pyoxigraph as ox

from kb.local import FORMATS
from sparql_gpm.reading.document_terms import ParsedTerm, to_term
from sparql_gpm.terms import IRI, RDF, BlankNode, Literal, Term, TripleTerm

PUBLISHED = "https://w3c.github.io/rdf-tests/"
"""The IRI of the folder of all tests, against which manifests, and the documents beside them, are resolved."""
_MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
_FOLDERS = ("sparql/sparql10", "sparql/sparql11", "sparql/sparql12", "rdf/rdf11", "rdf/rdf12")

Properties = Mapping[str, list[Term]]
Graph = Mapping[Term, Properties]
"""Subject → predicate IRI → objects."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict in the words of EARL, and the reason of one that is not `passed`."""

    verdict: OneOf["passed", "failed", "inapplicable", "untested"]
    reason: str = ""


PASSED, OTHER_ANSWER = Outcome("passed"), Outcome("failed", "another answer")


@dataclass(frozen=True, slots=True)
class Case:
    """One test, and the files that it is made of.

    iri         of the test, as a report names it
    suite       the folder of its manifest
    kind        the local name of its type
    action      the query or document; None: the test has another kind of action
    lax         only the set of solutions is compared
    """

    iri: str
    suite: str
    kind: str
    action: Path | None
    data: tuple[Path, ...]
    graphs: tuple[Path, ...]
    result: Path | None
    lax: bool

    @property
    def identifier(self) -> str:
        """The suite, and the name of the test in it."""
        return f"{self.suite}#{self.iri.rpartition('#')[2]}"

    def published(self, path: Path) -> str:
        """The IRI of a file of the suite."""
        return f"{PUBLISHED}{self.suite}/{path.name}"


def cases(root: Path) -> Iterator[Case]:
    """The tests of all manifests below a folder."""
    for folder in _FOLDERS:
        for manifest in sorted((root / folder).rglob("manifest.ttl")):
            yield from _manifest(manifest, manifest.parent.relative_to(root).as_posix())


def graph_of(path: Path, base: str) -> Graph:
    """The triples of a file."""
    found: dict[Term, dict[str, list[Term]]] = defaultdict(lambda: defaultdict(list))
    for quad in ox.parse(path.read_bytes(), format=FORMATS[path.suffix], base_iri=base):
        subject, value = to_term(cast(ParsedTerm, quad.subject)), to_term(quad.object)
        found[subject][quad.predicate.value].append(value)
    return found


def text_of(term: Term) -> str:
    """The IRI, label or lexical form of a term that is no triple term."""
    match term:
        case IRI(text) | BlankNode(text) | Literal(text):
            return text
        case TripleTerm():
            raise AssertionError(term)


def _manifest(path: Path, suite: str) -> Iterator[Case]:
    graph = graph_of(path, f"{PUBLISHED}{suite}/{path.name}")
    for node in [entry for properties in graph.values() for entry in properties.get(_MF + "entries", [])]:
        while node != IRI(RDF + "nil"):
            (test,) = graph[node][RDF + "first"]
            (node,) = graph[node][RDF + "rest"]
            yield _case(path.parent, suite, test, graph)


def _case(folder: Path, suite: str, test: Term, graph: Graph) -> Case:
    properties = graph[test]
    action = next(iter(properties.get(_MF + "action", [])), test)
    described: Properties = {_QT + "query": [action]} if isinstance(action, IRI) and action != test else graph[action]

    def files(values: Sequence[Term]) -> tuple[Path, ...]:
        return tuple(folder / text_of(value).rsplit("/", 1)[-1] for value in values if isinstance(value, IRI))

    return Case(
        text_of(test),
        suite,
        text_of(properties[RDF + "type"][0]).rpartition("#")[2],
        next(iter(files(described.get(_QT + "query", []))), None),
        files(described.get(_QT + "data", [])),
        files(described.get(_QT + "graphData", [])),
        next(iter(files(properties.get(_MF + "result", []))), None),
        IRI(_MF + "LaxCardinality") in properties.get(_MF + "resultCardinality", []),
    )
