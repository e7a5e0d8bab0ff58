"""The reference finds the triple terms that pyoxigraph finds."""

from __future__ import annotations

import pyoxigraph
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from sparql_gpm.pattern import BGP, Node, TermParts, Triple, Variable
from sparql_gpm.terms import IRI, BlankNode, Literal, Term, TripleTerm, blank_nodes, to_ntriples
from tests.drawn import drawn
from tests.reference.graph import Dataset, solutions

nodes = st.sampled_from((IRI("urn:a"), IRI("urn:b"), BlankNode("n")))
predicates = st.sampled_from((IRI("urn:p"), IRI("urn:q")))
plain: st.SearchStrategy[Term] = nodes | st.just(Literal("x"))
once = st.builds(TripleTerm, nodes, predicates, plain)
graphs = st.frozensets(
    st.tuples(nodes, predicates, st.one_of(once, once, st.builds(TripleTerm, nodes, predicates, once), plain)),
    min_size=2,
    max_size=6,
)


@st.composite
def patterns(draw: st.DrawFn) -> tuple[frozenset[tuple[Term, Term, Term]], BGP, str]:
    """A graph, a basic graph pattern made of its triples, the parts of triple terms in any place, and its text."""
    graph = draw(graphs)
    members: list[Triple | TermParts] = []
    usual: dict[Term, Variable] = {}

    def node(term: Term) -> tuple[Node, str]:
        if isinstance(term, TripleTerm) and draw(st.integers(0, 3)):
            parts, texts = zip(*map(node, (term.subject, term.predicate, term.object)), strict=True)
            found = Variable(f"_:t{len(members)}")
            members.append(TermParts(found, *parts))
            return found, f"<<( {' '.join(texts)} )>>"
        if not any(blank_nodes(term)) and draw(st.booleans()):
            return term, to_ntriples(term)
        another = Variable(draw(st.sampled_from((f"v{len(usual)}", f"v{len(usual)}", "v0"))))
        variable = usual.setdefault(term, another)
        return variable, f"?{variable.name}"

    texts = []
    for triple in draw(st.lists(st.sampled_from(sorted(graph, key=str)), min_size=1, max_size=2)):
        parts, text = zip(*map(node, triple), strict=True)
        members.append(Triple(*parts))
        texts.append(f"{' '.join(text)} .")
    return graph, BGP(tuple(draw(st.permutations(members)))), " ".join(texts)


@settings(max_examples=drawn(300))
@given(patterns())
def test_patterns_have_the_solutions_of_pyoxigraph(
    pattern: tuple[frozenset[tuple[Term, Term, Term]], BGP, str],
) -> None:
    graph, algebra, text = pattern
    store = pyoxigraph.Store()
    for triple in graph:
        store.add(pyoxigraph.Quad(*(term.to_pyoxigraph() for term in triple)))
    answer = store.query(f"SELECT * {{ {text} }}")
    names = [variable.value for variable in answer.variables]
    try:
        theirs = {tuple(sorted((name, str(row[name])) for name in names)) for row in answer}
    except RuntimeError:  # it fails where the subject in a triple term is bound to a triple term or literal
        reject()
    ours = solutions(algebra, Dataset(graph, {}, (IRI("urn:g"), Literal("now"))))
    assert {tuple((name, str(term.to_pyoxigraph())) for name, term in solution) for solution in ours} == theirs
