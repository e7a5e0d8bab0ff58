"""Expected results of the W3C tests, and when two results are the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path

import pyoxigraph

from kb.local import FORMATS
from sparql_gpm.terms import IRI, XSD, BlankNode, Literal, Term

Row = Mapping[str, Term]
Answer = bool | Sequence[Row]
Graph = Mapping[Term, Mapping[str, list[Term]]]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_FORMATS = {
    ".srx": pyoxigraph.QueryResultsFormat.XML,
    ".srj": pyoxigraph.QueryResultsFormat.JSON,
    ".tsv": pyoxigraph.QueryResultsFormat.TSV,
}
_BLANK_NODES_MAX = 6
"""Renamings of up to this many blank nodes are tried one by one; more are only compared as "a blank node"."""


def term_of(parsed: object) -> Term:
    match parsed:
        case pyoxigraph.NamedNode(value=value):
            return IRI(value)
        case pyoxigraph.BlankNode(value=value):
            return BlankNode(value)
        case pyoxigraph.Literal(value=value, datatype=datatype, language=language):
            return Literal(value, datatype.value, (language or "").lower())
    raise AssertionError(parsed)


def text_of(term: Term) -> str:
    match term:
        case IRI(text) | BlankNode(text) | Literal(text):
            return text


def graph_of(path: Path, base: str) -> Graph:
    """Subject → predicate IRI → objects."""
    found: dict[Term, dict[str, list[Term]]] = defaultdict(lambda: defaultdict(list))
    for quad in pyoxigraph.parse(path.read_bytes(), format=FORMATS[path.suffix], base_iri=base):
        found[term_of(quad.subject)][quad.predicate.value].append(term_of(quad.object))
    return found


def expected(path: Path, base: str) -> Answer:
    """The rows of a result file, or its yes or no."""
    if path.suffix not in _FORMATS:
        return _result_set(graph_of(path, base))
    results = pyoxigraph.parse_query_results(path.read_bytes(), format=_FORMATS[path.suffix])
    if isinstance(results, pyoxigraph.QueryBoolean):
        return bool(results)
    assert isinstance(results, pyoxigraph.QuerySolutions)
    names = [variable.value for variable in results.variables]
    return [{n: term_of(t) for n, t in zip(names, row, strict=True) if t is not None} for row in results]


def _result_set(graph: Graph) -> Answer:
    (root,) = [properties for properties in graph.values() if IRI(_RS + "ResultSet") in properties[RDF + "type"]]
    if _RS + "boolean" in root:
        return text_of(root[_RS + "boolean"][0]) == "true"
    bindings = [[graph[node] for node in graph[row][_RS + "binding"]] for row in root[_RS + "solution"]]
    return [{text_of(b[_RS + "variable"][0]): b[_RS + "value"][0] for b in row} for row in bindings]


def same_rows(found: Sequence[Row], wanted: Sequence[Row], lax: bool) -> bool:
    """Equal as multisets (lax: sets) under some renaming of blank nodes; numbers compare by datatype and value."""
    ours, theirs = _blank_nodes(found), _blank_nodes(wanted)
    if len(ours) != len(theirs):
        return False
    if len(ours) > _BLANK_NODES_MAX:
        anyone = dict.fromkeys((*ours, *theirs), BlankNode("b"))
        return _counted(found, anyone, lax) == _counted(wanted, anyone, lax)
    target = _counted(wanted, {}, lax)
    return any(_counted(found, dict(zip(ours, order, strict=True)), lax) == target for order in permutations(theirs))


def _blank_nodes(rows: Sequence[Row]) -> list[Term]:
    return list(dict.fromkeys(term for row in rows for term in row.values() if isinstance(term, BlankNode)))


def _counted(rows: Sequence[Row], renamed: Mapping[Term, Term], lax: bool) -> Counter[frozenset[object]]:
    counted = Counter(frozenset((v, _value(renamed.get(term, term))) for v, term in row.items()) for row in rows)
    return Counter(set(counted)) if lax else counted


def _value(term: Term) -> object:
    if isinstance(term, Literal) and term.datatype in (XSD + "decimal", XSD + "double", XSD + "float"):
        try:
            return term.datatype, float(term.lexical)
        except ValueError:
            return term
    return term
