"""The matcher against rdflib's evaluator, from the text of a query on, where rdflib follows SPARQL."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Graph as RdflibGraph
from rdflib import Literal as RdflibLiteral
from rdflib import URIRef
from rdflib.term import Identifier

from sparql_gpm.algebra.expression_text import path_text
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.parse import parse_group
from sparql_gpm.pattern import Link
from sparql_gpm.terms import IRI, Literal, Term, to_ntriples
from tests.drawn import drawn
from tests.sparql_gpm.matcher_oracle import Triples
from tests.sparql_gpm.matcher_strategies import NODES, PREDICATES, batch_of, graphs, paths

Solution = frozenset[tuple[str, str]]

ends = st.sampled_from(("?x", "?y", "?z", *(to_ntriples(node) for node in NODES if isinstance(node, IRI))))
rows = st.sampled_from(("UNDEF", *map(to_ntriples, NODES)))
links = st.sampled_from([to_ntriples(predicate) for predicate in PREDICATES])
walks = (
    paths.filter(lambda path: not isinstance(path, Link))
    .map(path_text)
    .filter(lambda text: "!()" not in text and "!(^" not in text)
)


@st.composite
def groups(draw: st.DrawFn) -> str:
    """Triples and paths, with one further clause that shares variables with them."""

    def triples(predicates: st.SearchStrategy[str], least: int) -> str:
        return " ".join(f"{draw(ends)} {draw(predicates)} {draw(ends)} ." for _ in range(draw(st.integers(least, 2))))

    base = triples(links | st.just("?p"), 1)
    kinds = ("plain", "path", "optional", "union", "minus", "exists", "filter", "values", "bind", "aggregate")
    match draw(st.sampled_from(kinds)):
        case "path":
            return f"{base} {draw(ends)} {draw(walks)} {draw(ends)}"
        case "optional":
            return f"{base} OPTIONAL {{ {triples(links, 1)} }}"
        case "union":
            return f"{{ {base} }} UNION {{ {triples(links, 1)} }}"
        case "minus":
            return f"?x {draw(links)} ?y . {base} MINUS {{ ?x {draw(links)} ?w }}"
        case "exists":
            return f"{base} FILTER {draw(st.sampled_from(('EXISTS', 'NOT EXISTS')))} {{ {triples(links, 1)} }}"
        case "filter":
            return f"{base} FILTER({draw(st.sampled_from(('?x < ?y', '?x = ?y', '!(?x < 2)', 'isIRI(?x) || ?y > 1')))})"
        case "values":
            return f"{base} VALUES (?x ?y) {{ ({draw(rows)} {draw(rows)}) ({draw(rows)} {draw(rows)}) }}"
        case "bind":
            return f"{base} BIND({draw(st.sampled_from(('?x', '?y + 1', 'isIRI(?z)', 'IF(BOUND(?x), 1, 2)')))} AS ?b)"
        case "aggregate":
            counted = draw(st.sampled_from(("COUNT(?y)", "COUNT(DISTINCT ?y)", "COUNT(*)")))
            return f"{{ SELECT ?x ({counted} AS ?n) {{ ?x {draw(links)} ?y . {base} }} GROUP BY ?x }}"
    return base


def ours(text: str, graph: Triples) -> set[Solution]:
    dictionary = Dictionary()
    group = parse_group("SELECT * { " + text + " }", {}, None)
    solutions = compile_pattern(group.pattern, dictionary, ExpressionEvaluator(dictionary)).match(
        batch_of([graph], dictionary)
    )
    columns = {v: column.tolist() for v, column in solutions.columns.items()}
    rows = range(len(solutions))
    return {frozenset((v, to_ntriples(dictionary.term(ids[i]))) for v, ids in columns.items() if ids[i]) for i in rows}


def theirs(text: str, graph: Triples) -> set[Solution]:
    store = RdflibGraph()
    for triple in graph:
        subject, predicate, object_ = map(rdflib_term, triple)
        store.add((subject, predicate, object_))
    rows = store.query("SELECT * { " + text + " }").bindings
    found = {frozenset((str(v), ours_text(term)) for v, term in row.items()) for row in rows}
    return found - {frozenset()} if "GROUP BY" in text else found  # rdflib makes a group of nothing, with keys and all


def rdflib_term(term: Term) -> Identifier:
    if isinstance(term, IRI):
        return URIRef(term.value)
    assert isinstance(term, Literal)
    return RdflibLiteral(term.lexical, datatype=URIRef(term.datatype))


def ours_text(term: Identifier) -> str:
    if isinstance(term, RdflibLiteral):
        return to_ntriples(Literal(str(term), str(term.datatype)))
    return to_ntriples(IRI(str(term)))


@settings(max_examples=drawn(400))
@given(groups(), graphs)
def test_the_solutions_of_a_text_are_those_that_rdflib_finds(text: str, graph: Triples) -> None:
    assert ours(text, graph) == theirs(text, graph)
