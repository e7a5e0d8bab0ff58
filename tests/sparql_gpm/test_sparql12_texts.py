"""Texts with what SPARQL 1.2 adds, read by our grammar and by pyoxigraph's: the same solutions over Turtle 1.2."""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from sparql_gpm.algebra.rewrite import filtered
from sparql_gpm.parse import parse_group
from sparql_gpm.reading.document_terms import to_term
from sparql_gpm.terms import IRI, Literal, Term
from tests.drawn import drawn
from tests.reference.graph import Dataset, solutions
from tests.sparql_gpm.matcher_strategies import batch_of
from tests.sparql_gpm.test_matcher import Engine

PREFIXES = {"": "http://x/"}
IRIS = (":a", ":b")
LITERALS = ('"x"', "1", '"x"@ar--rtl')
VARIABLES = ("?v", "?w", "?x", "?y")
EXTRAS = (
    "", "", "FILTER (isTRIPLE(?v))", "FILTER (?v != <<( :a :p 1 )>>)", "BIND (SUBJECT(?v) AS ?s)",
    "BIND (<<( ?v :p ?w )>> AS ?t)", "VALUES ?v { <<( :a :p 1 )>> :a :b <<( :b :q <<( :a :p 1 )>> )>> }",
    "BIND (LANGDIR(?w) AS ?d)", "OPTIONAL { << ?v :p ?w >> :by ?who }", "MINUS { ?r :by ?v }",
    "FILTER EXISTS { ?r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ?v ?p ?w )>> }",
    "{ ?v :p ?w } UNION { ?v :q ?w {| :by :a |} }",
)  # fmt: skip


@st.composite
def statements(draw: st.DrawFn, names: Sequence[str], objects: Sequence[str], reifiers: Sequence[str]) -> str:
    """One in any of the forms of SPARQL 1.2 and Turtle 1.2."""

    def one(choices: Sequence[str]) -> str:
        return draw(st.sampled_from(choices))

    def term(depth: int) -> str:
        inner = term(depth + 1) if depth < 2 and draw(st.booleans()) else one(objects)
        return f"<<( {one(names)} {one((':p', ':q'))} {inner} )>>"

    object_ = term(1) if draw(st.booleans()) else one(objects)
    subject, predicate, reifier = one(names), one((":p", ":q")), one(reifiers)
    match draw(st.integers(0, 4)):
        case 0:
            return f"{subject} {predicate} {object_} ."
        case 1:
            return f"{subject} {predicate} {object_} {reifier} {{| :by {one(names)} |}} ."
        case 2:
            return f"<< {subject} {predicate} {object_} {reifier} >> :by {one(names)} ."
        case 3:
            return f"{subject} {predicate} << {one(names)} :p {one(objects)} {reifier} >>, {object_} ."
    return f"{subject} {predicate} {object_} {reifier} {reifier} {{| :by {one(names)} ; :q {one(objects)} |}} ."


graphs = st.lists(statements(IRIS, (*IRIS, *LITERALS), ("~ :r1", "~ :r2")), min_size=1, max_size=5).map("\n".join)
patterns = st.tuples(
    st.lists(
        statements((*VARIABLES, *IRIS), (*VARIABLES, *VARIABLES, *IRIS, *LITERALS), ("", "~ ?r", "~ :r1")),
        min_size=1, max_size=2,
    ).map(" ".join),
    st.sampled_from(EXTRAS),
).map(" ".join)  # fmt: skip


@settings(max_examples=drawn(120), deadline=None)
@given(graphs, patterns)
def test_a_text_has_the_solutions_of_the_reference_and_of_pyoxigraph(graph: str, text: str) -> None:
    quads = list(ox.parse(f"@prefix : <{PREFIXES['']}> .\n{graph}".encode(), ox.RdfFormat.TURTLE))
    store = ox.Store()
    store.extend(quads)
    answer = store.query(f"PREFIX : <{PREFIXES['']}> SELECT * {{ {text} }}")
    assert isinstance(answer, ox.QuerySolutions)
    names = [variable.value for variable in answer.variables]
    try:
        theirs = {frozenset((n, to_term(row[n])) for n in names if row[n] is not None) for row in answer}
    except RuntimeError:  # it fails where the subject in a triple term is bound to a triple term or literal
        reject()
    group = parse_group(text, PREFIXES, None)
    pattern = filtered([each.expression for each in group.filters], group.pattern)
    triples: frozenset[tuple[Term, Term, Term]] = frozenset(
        (to_term(quad.subject), to_term(quad.predicate), to_term(quad.object)) for quad in quads
    )
    literal = solutions(pattern, Dataset(triples, {}, (IRI("urn:g"), Literal("now"))))
    assert {frozenset(solution) for solution in literal} == theirs
    engine = Engine({})
    found = engine.rows(engine.compile(pattern).match(batch_of([triples], engine.dictionary)))
    assert {row for _, row in found} == theirs
