"""Expected results of the W3C tests, and when two results are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path

import pyoxigraph as ox

from kb.local import FORMATS
from sparql_gpm.reading.document_terms import to_term
from sparql_gpm.terms import IRI, RDF, XSD, Literal, Term, blank_nodes, relabelled
from tests.w3c.manifests import Graph, graph_of, text_of

Row = Mapping[str, Term]
Answer = bool | Sequence[Row]

_RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_FORMATS = {
    ".srx": ox.QueryResultsFormat.XML,
    ".srj": ox.QueryResultsFormat.JSON,
    ".tsv": ox.QueryResultsFormat.TSV,
}
_BLANK_NODES_MAX = 6
"""Renamings of up to this many blank nodes are tried one by one; more are only compared as "a blank node"."""


def expected(path: Path, base: str) -> Answer:
    """The rows of a result file, or its yes or no."""
    if path.suffix not in _FORMATS:
        return _result_set(graph_of(path, base))
    results = ox.parse_query_results(path.read_bytes(), format=_FORMATS[path.suffix])
    if isinstance(results, ox.QueryBoolean):
        return bool(results)
    assert isinstance(results, ox.QuerySolutions)
    names = [variable.value for variable in results.variables]
    return [{n: to_term(t) for n, t in zip(names, row, strict=True) if t is not None} for row in results]


def _result_set(graph: Graph) -> Answer:
    (root,) = [properties for properties in graph.values() if IRI(_RS + "ResultSet") in properties[RDF + "type"]]
    if _RS + "boolean" in root:
        return text_of(root[_RS + "boolean"][0]) == "true"
    bindings = [[graph[node] for node in graph[row][_RS + "binding"]] for row in root[_RS + "solution"]]
    return [{text_of(b[_RS + "variable"][0]): b[_RS + "value"][0] for b in row} for row in bindings]


def quads_in(path: Path, base: str) -> list[ox.Quad]:
    """The quads of a file."""
    return list(ox.parse(path.read_bytes(), format=FORMATS[path.suffix], base_iri=base))


def same_quads(found: Iterable[ox.Quad], wanted: Iterable[ox.Quad]) -> bool:
    """True if two datasets are isomorphic."""
    return _canonical(found) == _canonical(wanted)


def _canonical(quads: Iterable[ox.Quad]) -> set[str]:
    """The quads with canonical labels; the case of language tags does not count."""
    dataset = ox.Dataset(
        ox.Quad(quad.subject, quad.predicate, to_term(quad.object).to_pyoxigraph(), quad.graph_name) for quad in quads
    )
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(map(str, dataset))


def same_rows(found: Sequence[Row], wanted: Sequence[Row], lax: bool) -> bool:
    """Equal as multisets (lax: sets) under some renaming of blank nodes; numbers compare by datatype and value."""
    ours, theirs = _labels(found), _labels(wanted)
    if len(ours) != len(theirs):
        return False
    if len(ours) > _BLANK_NODES_MAX:
        return _counted(found, lambda label: "b", lax) == _counted(wanted, lambda label: "b", lax)
    target = _counted(wanted, str, lax)
    renamings = (dict(zip(ours, order, strict=True)) for order in permutations(theirs))
    return any(_counted(found, renamed.__getitem__, lax) == target for renamed in renamings)


def _labels(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(node.label for row in rows for term in row.values() for node in blank_nodes(term)))


def _counted(rows: Sequence[Row], label: Callable[[str], str], lax: bool) -> Counter[frozenset[object]]:
    counted = Counter(frozenset((v, _value(relabelled(term, label))) for v, term in row.items()) for row in rows)
    return Counter(set(counted)) if lax else counted


def _value(term: Term) -> object:
    if isinstance(term, Literal) and term.datatype in (XSD + "decimal", XSD + "double", XSD + "float"):
        try:
            return term.datatype, float(term.lexical)
        except ValueError:
            return term
    return term
