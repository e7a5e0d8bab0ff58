"""Triple terms in basic graph patterns, in columns and one event at a time, as nested loops take them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kb.base import KnowledgeBases
from kb.prepared_build import build
from kb.sparql_text import SparqlWriter, select_text
from sparql_gpm.algebra.canonical import canonical
from sparql_gpm.algebra.describe import describe
from sparql_gpm.algebra.parts import parts_of, with_parts
from sparql_gpm.algebra.predicates import predicates_of
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.algebra.stages import stages
from sparql_gpm.algebra.traversal import map_children, map_expressions, map_nodes, map_operands
from sparql_gpm.bounds import MatchBounds
from sparql_gpm.columns import RowEvent
from sparql_gpm.counted_matcher import Passed, compile_counted
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.lineage import lineage
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.matching.row_matcher import by_predicate
from sparql_gpm.pattern import (
    BGP,
    Exists,
    Expression,
    Graph,
    Member,
    Node,
    PathTriple,
    Pattern,
    TermParts,
    Triple,
    Variable,
)
from sparql_gpm.terms import IRI, RDF, BlankNode, Literal, TripleTerm, to_ntriples
from tests.drawn import drawn
from tests.reference.funnel import alone, left_over
from tests.sparql_gpm.matcher_oracle import Triples, World, compatible
from tests.sparql_gpm.matcher_strategies import KBS, NODES, PREDICATES, VARIABLES, batch_of, graphs, patterns
from tests.sparql_gpm.test_counted_matcher import solves
from tests.sparql_gpm.test_matcher import Engine, expected

IRIS = (IRI("http://x/a"), IRI("http://x/b"))


def terms_about(*subjects: IRI | BlankNode) -> st.SearchStrategy[TripleTerm]:
    """Triple terms with these subjects."""
    subject, predicate = st.sampled_from(subjects), st.sampled_from(PREDICATES)
    flat = st.builds(TripleTerm, subject, predicate, st.sampled_from(NODES))
    return st.one_of(flat, st.builds(TripleTerm, subject, predicate, flat))


constants = terms_about(*IRIS)


@st.composite
def reifying(draw: st.DrawFn) -> Triples:
    """Graphs some of whose objects are triple terms."""
    plain = draw(graphs)
    more = draw(
        st.lists(
            st.tuples(st.sampled_from(NODES), st.sampled_from(PREDICATES), terms_about(*IRIS, BlankNode("b"))),
            max_size=4,
        )
    )
    return plain.union(more)


World3 = tuple[list[Triples], Triples, Triples]
worlds = st.tuples(st.lists(reifying(), min_size=1, max_size=3), reifying(), reifying())
variables = st.sampled_from(VARIABLES).map(Variable)
parts = st.one_of(variables, variables, st.just(Variable("_:n")), st.sampled_from(IRIS))


@st.composite
def taken_apart(draw: st.DrawFn, term: Variable, depth: int) -> list[Member]:
    """The parts of a triple term, some of which are triple terms again."""
    target: Node = draw(st.one_of(parts, constants, st.sampled_from(NODES)))
    inner: list[Member] = []
    if depth and draw(st.booleans()):
        target = Variable(term.name + "i")
        inner = draw(taken_apart(target, depth - 1))
    own = TermParts(term, draw(parts), draw(st.one_of(variables, st.sampled_from(PREDICATES))), target)
    return [*inner, own]


@st.composite
def with_triple_terms(draw: st.DrawFn, of: st.SearchStrategy[Pattern], subjects: bool = True) -> Pattern:
    """A pattern in some of whose triples triple terms are objects, and subjects."""

    def bgp(pattern: BGP) -> BGP:
        members: list[Member] = []
        for number, triple in enumerate(pattern.triples):
            kind, term = draw(st.integers(0, 3)), Variable(f"_:t{number}")
            assert not isinstance(triple, TermParts)
            subject, target = term if subjects and kind == 3 and draw(st.booleans()) else triple.subject, term
            if kind == 0:
                subject, target = triple.subject, draw(st.one_of(st.just(triple.object), constants))
            members.append(
                PathTriple(subject, triple.path, target)
                if isinstance(triple, PathTriple)
                else Triple(subject, triple.predicate, target)
            )
            members += draw(taken_apart(term, 2)) if kind else []
        return BGP(tuple(draw(st.permutations(members))))

    return map_bgps(draw(of), bgp)


def map_bgps(pattern: Pattern, change: Callable[[BGP], BGP]) -> Pattern:
    if isinstance(pattern, BGP):
        return change(pattern)

    def inside(expression: Expression) -> Expression:
        if isinstance(expression, Exists):
            return Exists(map_bgps(expression.pattern, change), expression.negated)
        return map_operands(expression, inside)

    return map_expressions(map_children(pattern, lambda child: map_bgps(child, change)), inside)


bgps = st.lists(
    st.builds(Triple, variables, st.one_of(st.sampled_from(PREDICATES), variables), variables), min_size=1, max_size=3
).map(lambda triples: BGP(tuple(triples)))


@settings(max_examples=drawn(240))
@given(st.one_of(with_triple_terms(bgps), with_triple_terms(patterns())), worlds, st.integers(0, 7))
def test_triple_terms_match_as_in_nested_loops(pattern: Pattern, world: World3, table: int) -> None:
    events, first, second = world
    kbs = dict(zip(KBS, (first, second), strict=True))
    engine = Engine(kbs)
    if not table:
        engine.dictionary.table()
    matcher, batch = engine.compile(pattern), batch_of(events, engine.dictionary)
    wanted = expected(pattern, events, kbs)
    assert Counter(engine.rows(matcher.solve(batch))) == Counter(wanted)
    assert Counter(engine.rows(matcher.match(batch))) == Counter(set(wanted))
    parts = stages(pattern)
    counted = compile_counted(pattern, parts, engine.dictionary, engine.evaluator, engine.background)
    found, passed = counted.match(batch, None, MatchBounds(), lambda exceeded: None)
    literal = [solves(World(graph, kbs)) for graph in events]
    assert Counter(engine.rows(found)) == Counter(set(wanted))
    assert passed == Passed(tuple(alone(parts, literal)), tuple(left_over(parts, literal)))


@settings(max_examples=drawn(200))
@given(with_triple_terms(bgps), reifying(), st.booleans())
def test_one_event_has_the_solutions_that_it_has_in_nested_loops(pattern: Pattern, graph: Triples, table: bool) -> None:
    engine = Engine({})
    (event,) = RowEvent.each_of(batch_of([graph], engine.dictionary))
    matcher = engine.compile(pattern)
    single = matcher.row_matcher(matcher.variables)
    assume(single is not None)
    assert single is not None
    triples = by_predicate(event)
    found = single.solutions(triples, event) if single.predicates <= triples.keys() else []
    assert found is not None
    rows = [
        frozenset((name, engine.dictionary.term(i)) for name, i in zip(matcher.variables, row, strict=True) if i)
        for row in found
    ]
    assert Counter(rows) == Counter({frozenset(m.items()) for m in World(graph, {}).solve(pattern)})


@settings(max_examples=drawn(200))
@given(with_triple_terms(bgps), reifying())
def test_the_same_holds_under_canonical_names_and_without_triples_that_are_not_read(
    pattern: BGP, graph: Triples
) -> None:
    known, world = canonical(pattern), World(graph, {})
    assert known is not None
    wanted = Counter(frozenset((known.names[v], t) for v, t in m.items()) for m in world.solve(pattern))
    assert Counter(frozenset(m.items()) for m in world.solve(known.pattern)) == wanted
    predicates = predicates_of(pattern)
    read = graph if predicates is None else frozenset(t for t in graph if t[1] in predicates)
    assert Counter(frozenset(m.items()) for m in World(read, {}).solve(known.pattern)) == wanted


@settings(max_examples=drawn(100))
@given(with_triple_terms(bgps), reifying(), st.data())
def test_a_part_that_is_left_out_takes_its_triple_terms_along(
    pattern: BGP, graph: Triples, data: st.DataObject
) -> None:
    every = range(len(parts_of(pattern)))
    assert Counter(with_parts(pattern, set(every)).triples) == Counter(pattern.triples)
    kept = set(data.draw(st.lists(st.sampled_from(every), unique=True)))
    fewer = with_parts(pattern, kept)
    assert in_scope(fewer) <= in_scope(pattern)
    found = World(graph, {}).solve(fewer)
    assert all(any(compatible(m, one) for one in found) for m in World(graph, {}).solve(pattern))


@settings(max_examples=drawn(100))
@given(with_triple_terms(bgps), reifying())
def test_a_pattern_has_its_solution_in_its_lineage(pattern: BGP, graph: Triples) -> None:
    engine = Engine({})
    batch = batch_of([graph], engine.dictionary)
    for mu in World(graph, {}).solve(pattern)[:2]:
        traced = lineage(pattern, mu, batch, engine.dictionary, engine.evaluator)
        assert traced.triples.keys() <= graph
        assert mu in World(frozenset(traced.triples), {}).solve(pattern)


ABOUT = BGP(
    (
        Triple(Variable("r"), IRI(RDF + "reifies"), Variable("_:0")),
        TermParts(Variable("_:0"), Variable("s"), IRI("http://x/p"), Variable("_:1")),
        TermParts(Variable("_:1"), Variable("_:b"), Variable("q"), Literal("v")),
    )
)
REIFIES = f"<{RDF}reifies>"


def test_triple_terms_are_shown_in_their_places() -> None:
    assert describe(ABOUT) == f'scan ?r {REIFIES} <<( ?s <http://x/p> <<( _:b ?q "v" )>> )>>'
    assert SparqlWriter().group(ABOUT) == f'?r {REIFIES} <<( ?s <http://x/p> <<( ?_b0_b ?q "v" )>> )>> .'


def without_label(node: Node) -> Node:
    """A variable for a blank node, as lineage has it."""
    return Variable(node.name.replace("_:", "h")) if isinstance(node, Variable) else node


@settings(max_examples=drawn(150))
@given(with_triple_terms(bgps, subjects=False), reifying(), st.booleans())
def test_an_endpoint_is_asked_for_the_same_solutions(pattern: BGP, graph: Triples, opened: bool) -> None:
    if opened:
        pattern = BGP(tuple(map_nodes(member, without_label) for member in pattern.triples))
    valid = frozenset(triple for triple in graph if not isinstance(triple[0], Literal))
    store = ox.Store()
    store.extend(ox.Quad(*(term.to_pyoxigraph() for term in triple)) for triple in valid)
    names = sorted(in_scope(pattern))
    found = store.query(select_text(names, SparqlWriter().group(pattern)))
    assert isinstance(found, ox.QuerySolutions)
    rows = Counter(frozenset((name, str(row[name])) for name in names if row[name] is not None) for row in found)
    wanted = World(valid, {}).solve(pattern)
    assert rows == Counter(frozenset((name, str(t.to_pyoxigraph())) for name, t in m.items()) for m in wanted)


@pytest.mark.parametrize("prepared", [False, True])
def test_a_knowledge_base_is_asked_for_triple_terms_and_keeps_what_it_answers(tmp_path: Path, prepared: bool) -> None:
    """Nothing but the answer has the parts of the terms, and the terms of no event are kept."""
    term = TripleTerm(BlankNode("a"), IRI("http://x/p"), TripleTerm(BlankNode("b"), IRI("http://x/q"), Literal("v")))
    source = tmp_path / "kb.nt"
    source.write_text(f"<http://x/r> {REIFIES} {to_ntriples(term)} .\n<http://x/r> {REIFIES} <http://x/o> .\n")
    if prepared:
        build([str(source)], source := tmp_path / "kb.kb")
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    bases = KnowledgeBases.load({KBS[0]: source}, dictionary, evaluator)
    matcher = compile_pattern(Graph(IRI(KBS[0]), ABOUT), dictionary, evaluator, bases)
    for _ in range(2):
        dictionary.retain([])
        batch = batch_of([frozenset({(NODES[0], PREDICATES[0], Literal(str(n))) for n in range(9)})], dictionary)
        found = matcher.match(batch)
        rows = [[dictionary.term(i) for i in column.tolist()] for column in (found.columns["q"], found.columns["r"])]
        assert rows == [[IRI("http://x/q")], [IRI("http://x/r")]]
        assert isinstance(dictionary.term(int(found.columns["s"][0])), BlankNode)


def test_parts_whose_ids_were_released_are_found_anew(tmp_path: Path) -> None:
    term = TripleTerm(IRI("http://x/s"), IRI("http://x/p"), TripleTerm(BlankNode("b"), IRI("http://x/q"), Literal("v")))
    (tmp_path / "kb.nt").write_text(f"<http://x/r> {REIFIES} {to_ntriples(term)} .\n")
    dictionary = Dictionary()
    bases = KnowledgeBases.load({KBS[0]: tmp_path / "kb.nt"}, dictionary, ExpressionEvaluator(dictionary))
    for number in range(3):
        found = bases.solve(KBS[0], ABOUT)
        assert [dictionary.term(i) for i in found.columns["q"].tolist()] == [IRI("http://x/q")]
        dictionary.retain([])
        for other in range(9):
            dictionary.intern(Literal(f"{number} {other}"))
