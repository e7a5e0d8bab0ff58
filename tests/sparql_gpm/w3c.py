"""A driver for the W3C SPARQL 1.0 and 1.1 evaluation tests that are about graph patterns.

A query's prologue becomes prefixes and base; what is left of a SELECT is a subquery, which is a group
graph pattern; an ASK is its group. The default graph is one event, the named graphs knowledge bases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kb.base import KnowledgeBases
from kb.local import graph_of as batch_of_graph
from kb.local import load_graph
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.iris import resolve_iri
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.parse import parse_group
from sparql_gpm.pattern import Filter, Pattern
from sparql_gpm.terms import IRI, Term
from tests.sparql_gpm.w3c_results import RDF, Answer, Graph, expected, graph_of, same_rows, text_of

FOLDERS_10 = """algebra ask basic bnode-coreference boolean-effective-value bound cast distinct expr-builtin expr-equals
    expr-ops graph i18n open-world optional optional-filter reduced regex solution-seq sort triple-match
    type-promotion"""
FOLDERS_11 = """aggregates bind bindings cast exists functions grouping negation project-expression property-path
    subquery"""

_BASE = "http://w3c.test/"
_MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
_PROLOGUE = re.compile(r"(?:\s|#[^\n]*\n)*(?:(?i:PREFIX)\s+([^\s:]*)\s*:\s*<([^>]*)>|(?i:BASE)\s*<([^>]*)>)")
_OTHER_FORMS = re.compile(r"(?im)^[^#<]*\b(FROM|CONSTRUCT|DESCRIBE)\b")


@dataclass(frozen=True, slots=True)
class Case:
    """One test and the files it is made of; lax: only the set of solutions is compared."""

    identifier: str
    query: Path
    data: tuple[Path, ...]
    graphs: tuple[Path, ...]
    result: Path
    lax: bool


def cases(root: Path) -> Iterator[Case]:
    """The tests that apply: SELECT and ASK without FROM, with a result that is not CSV, which has no terms."""
    for version, names in (("sparql10", FOLDERS_10), ("sparql11", FOLDERS_11)):
        for name in names.split():
            for case in _manifest(root / "sparql" / version / name, f"{version}/{name}"):
                if case.result.suffix != ".csv" and not _OTHER_FORMS.search(case.query.read_text("utf-8")):
                    yield case


def passes(case: Case) -> bool:
    """Whether the matcher's answer is the expected one, up to the names of blank nodes."""
    found, wanted = _answer(case), expected(case.result, _iri(case.result))
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return same_rows(found, wanted, case.lax)


def _answer(case: Case) -> Answer:
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    kbs = KnowledgeBases.load({_iri(path): path for path in case.graphs}, dictionary, evaluator)
    (event,) = [load_graph(path, _iri(path), dictionary) for path in case.data] or [_no_triples()]
    text, prefixes, base = split_prologue(case.query.read_text("utf-8"), _iri(case.query))
    asked = text.lstrip()[:3].upper() == "ASK"
    group = parse_group(text[text.index("{") + 1 : text.rindex("}")] if asked else text, prefixes, base)
    pattern: Pattern = group.pattern
    for condition in group.filters:
        pattern = Filter(condition.expression, pattern)
    solutions = compile_pattern(pattern, dictionary, evaluator, kbs).solve(event)
    if asked:
        return len(solutions) > 0
    columns = {variable: column.tolist() for variable, column in solutions.columns.items()}
    rows = range(len(solutions))
    return [{v: dictionary.term(ids[row]) for v, ids in columns.items() if ids[row]} for row in rows]


def _iri(path: Path) -> str:
    return _BASE + "/".join(path.parts[-3:])


def _no_triples() -> EventBatch:
    none = np.zeros(0, dtype=np.int64)
    return batch_of_graph(_BASE, none, none, none)


def split_prologue(text: str, base: str) -> tuple[str, dict[str, str], str]:
    """The query without its prologue, the prefixes, and the base."""
    prefixes: dict[str, str] = {}
    while found := _PROLOGUE.match(text):
        prefix, iri, declared = found.groups()
        if declared is not None:
            base = resolve_iri(declared, base)
        else:
            prefixes[prefix] = resolve_iri(iri, base)
        text = text[found.end() :]
    return text, prefixes, base


def _manifest(folder: Path, name: str) -> Iterator[Case]:
    graph = graph_of(folder / "manifest.ttl", _BASE)
    (node,) = [entry for properties in graph.values() for entry in properties.get(_MF + "entries", [])]
    while node != IRI(RDF + "nil"):
        test = graph[graph[node][RDF + "first"][0]]
        (node,) = graph[node][RDF + "rest"]
        if IRI(_MF + "QueryEvaluationTest") in test[RDF + "type"]:
            yield _case(folder, name, test, graph)


def _case(folder: Path, name: str, test: Mapping[str, list[Term]], graph: Graph) -> Case:
    action = graph[test[_MF + "action"][0]]

    def files(values: Sequence[Term]) -> tuple[Path, ...]:
        return tuple(folder / text_of(value).rsplit("/", 1)[-1] for value in values)

    (query,) = files(action[_QT + "query"])
    (result,) = files(test[_MF + "result"])
    lax = IRI(_MF + "LaxCardinality") in test.get(_MF + "resultCardinality", [])
    return Case(
        f"{name}/{query.stem}: {text_of(test[_MF + 'name'][0])}",
        query,
        files(action.get(_QT + "data", [])),
        files(action.get(_QT + "graphData", [])),
        result,
        lax,
    )
