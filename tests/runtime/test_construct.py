"""Templates with triple terms give the graphs that the reference gives."""

from __future__ import annotations

from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from sparql_gpm.columns import UNBOUND
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.pattern import Call, Node, TermParts, Triple, Variable
from sparql_gpm.terms import IRI, TRIPLE_TERM_DEPTH_MAX, XSD, BlankNode, Literal, Term, TripleTerm, relabelled
from spaseq.algebra.partitions import in_template
from spaseq.lang.ast import TemplateTriple
from spaseq.runtime.stages.construct import GraphTemplate
from tests.drawn import drawn
from tests.reference.expression import Scope
from tests.reference.output import construct

A, P, ONE = IRI("urn:a"), IRI("urn:p"), Literal("1", XSD + "integer")
VALUES: tuple[Term, ...] = (A, P, ONE, BlankNode("n"), TripleTerm(BlankNode("n"), P, ONE))
NAMES = ("x", "y", "z")
TERMS = ("_:t0", "_:t1", "_:t2")
"""The triple terms of a template; each may be the object of the next one."""
variables = st.sampled_from(NAMES).map(Variable)
ends: st.SearchStrategy[Node] = st.one_of(variables, st.sampled_from((A, ONE, Variable("_:b"))))
predicates: st.SearchStrategy[Node] = st.just(P) | variables


@st.composite
def templates(draw: st.DrawFn) -> list[TemplateTriple]:
    """Triples and the parts of triple terms, in any order; some objects are computed."""

    def target(terms: tuple[str, ...]) -> Node:
        return draw(ends | st.sampled_from(terms).map(Variable) if terms else ends)

    members: list[Triple | TermParts] = [
        TermParts(Variable(name), draw(ends), draw(predicates), target(TERMS[:place]))
        for place, name in enumerate(TERMS)
    ]
    members += [Triple(draw(ends), draw(predicates), target(TERMS)) for _ in range(draw(st.integers(1, 4)))]
    found = [TemplateTriple(cast("Triple", member), None) for member in members]
    if draw(st.booleans()):
        found.append(TemplateTriple(Triple(A, P, A), Call("OBJECT", (Variable("x"),))))
    return draw(st.permutations(found))


@settings(max_examples=drawn(400))
@given(templates(), st.tuples(*[st.none() | st.sampled_from(VALUES)] * len(NAMES)))
def test_a_template_gives_the_graph_of_the_reference(
    template: list[TemplateTriple], row: tuple[Term | None, ...]
) -> None:
    bindings = {name: term for name, term in zip(NAMES, row, strict=True) if term is not None}
    dictionary = Dictionary()
    made = GraphTemplate(template, dictionary)
    scope = Scope(bindings)
    values = {name: dictionary.intern(bindings[name]) if name in bindings else UNBOUND for name in NAMES}
    for name, expression in made.expressions().items():
        if isinstance(expression, Call):
            inner = bindings.get("x")
            values[name] = dictionary.intern(inner.object) if isinstance(inner, TripleTerm) else UNBOUND
    fresh = frozenset(
        tuple(relabelled(term, lambda label: "urn-g-b" if label == "b" else label) for term in triple)
        for triple in construct(template, scope)
    )
    found = made.triples(values, "urn:g")
    assert set(found) == fresh and len(found) == len(fresh)


@given(templates())
def test_variables_of_the_partition_are_renamed_in_triple_terms_too(template: list[TemplateTriple]) -> None:
    renamed = [in_template(each, {"x": "x#"}, over=False) for each in template]
    assert str(renamed).replace("name='x#'", "name='x'") == str(template)
    assert "name='x'" not in str(renamed)


def test_a_triple_that_needs_too_deep_a_term_is_left_out() -> None:
    deep: Term = ONE
    for _ in range(TRIPLE_TERM_DEPTH_MAX):
        deep = TripleTerm(A, P, deep)
    dictionary = Dictionary()
    parts = TermParts(Variable("_:t"), A, P, Variable("x"))
    members = (Triple(A, P, Variable("x")), Triple(A, P, Variable("_:t")), parts)
    template = GraphTemplate([TemplateTriple(cast("Triple", each), None) for each in members], dictionary)
    assert template.triples({"x": dictionary.intern(deep)}, "urn:g") == ((A, P, deep),)
    assert len(template.triples({"x": dictionary.intern(ONE)}, "urn:g")) == 2
