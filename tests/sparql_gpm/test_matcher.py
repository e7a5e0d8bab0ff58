"""The matcher against nested loops, and against itself under batching and sharing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.base import KnowledgeBases
from sparql_gpm.algebra.scope import in_scope
from sparql_gpm.background import BackgroundError
from sparql_gpm.columns import EventBatch, Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import Matcher, compile_pattern
from sparql_gpm.matching import bgp
from sparql_gpm.matching.bgp_view import BatchView
from sparql_gpm.pattern import (
    BGP,
    Aggregate,
    Call,
    Exists,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Link,
    OrderBy,
    PathTriple,
    Pattern,
    Project,
    Repeat,
    Slice,
    Triple,
    Values,
    Variable,
)
from sparql_gpm.terms import IRI, Term
from tests.drawn import drawn
from tests.sparql_gpm.matcher_oracle import Mu, Triples, World, integer
from tests.sparql_gpm.matcher_strategies import KBS, NODES, OUTSIDE, PREDICATES, batch_of, bgps, graphs, patterns

Row = tuple[int, frozenset[tuple[str, Term]]]
worlds = st.tuples(st.lists(graphs, min_size=1, max_size=3), graphs, graphs)
A, B = NODES[:2]
P, Q = PREDICATES


class Engine:
    """A dictionary with everything that hangs on it."""

    def __init__(self, kbs: Mapping[str, Triples]) -> None:
        self.dictionary = Dictionary()
        self.evaluator = ExpressionEvaluator(self.dictionary)
        batches = {iri: batch_of([graph], self.dictionary) for iri, graph in kbs.items()}
        self.background = KnowledgeBases(batches, self.dictionary, self.evaluator)
        for term in OUTSIDE:
            self.dictionary.pin(term)

    def compile(self, pattern: Pattern) -> Matcher:
        return compile_pattern(pattern, self.dictionary, self.evaluator, self.background)

    def rows(self, solutions: Solutions) -> list[Row]:
        return [
            (
                event,
                frozenset(
                    (v, self.dictionary.term(int(column[i]))) for v, column in solutions.columns.items() if column[i]
                ),
            )
            for i, event in enumerate(solutions.events.tolist())
        ]


def expected(pattern: Pattern, events: Sequence[Triples], kbs: Mapping[str, Triples]) -> list[Row]:
    return [(i, frozenset(m.items())) for i, graph in enumerate(events) for m in World(graph, kbs).solve(pattern)]


@settings(max_examples=drawn(600))
@given(patterns(), worlds)
def test_matches_are_those_of_nested_loops(pattern: Pattern, world: tuple[list[Triples], Triples, Triples]) -> None:
    events, first, second = world
    kbs = dict(zip(KBS, (first, second), strict=True))
    engine = Engine(kbs)
    matcher = engine.compile(pattern)
    assert matcher.variables == tuple(sorted(in_scope(pattern)))
    batch = batch_of(events, engine.dictionary)
    wanted = expected(pattern, events, kbs)
    assert Counter(engine.rows(matcher.solve(batch))) == Counter(wanted)
    found = engine.rows(matcher.match(batch))
    assert Counter(found) == Counter(set(wanted))
    assert [event for event, _ in found] == sorted(event for event, _ in found)


named = st.builds(
    Triple,
    st.sampled_from((Variable("x"), NODES[0])),
    st.sampled_from(PREDICATES),
    st.sampled_from((Variable("x"), Variable("y"), *NODES[:2])),
)


@settings(max_examples=drawn(200))
@given(st.lists(named, min_size=2, max_size=4), st.lists(graphs, min_size=2, max_size=6))
def test_a_scan_narrows_the_next_one_whatever_constants_that_names(
    triples: list[Triple], events: list[Triples]
) -> None:
    engine, pattern = Engine({}), BGP(tuple(triples))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bgp, "_FEW_FACTOR", 0)
        found = engine.rows(engine.compile(pattern).match(batch_of(events, engine.dictionary)))
    assert Counter(found) == Counter(set(expected(pattern, events, {})))


@settings(max_examples=drawn(300))
@given(patterns(), worlds, st.data())
def test_batching_does_not_change_matches(
    pattern: Pattern, world: tuple[list[Triples], Triples, Triples], data: st.DataObject
) -> None:
    events, first, second = world
    engine = Engine(dict(zip(KBS, (first, second), strict=True)))
    matcher = engine.compile(pattern)
    batch = batch_of(events, engine.dictionary)
    whole = engine.rows(matcher.match(batch))
    single = []
    for i in range(len(events)):
        alone = matcher.match(batch.take(np.array([i])))
        single += [(i, row) for _, row in engine.rows(alone)]
    assert Counter(whole) == Counter(single)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(events), max_size=len(events))))
    masked = engine.rows(matcher.match(BatchView(batch), mask))
    assert Counter(masked) == Counter(row for row in whole if mask[row[0]])


@settings(max_examples=drawn(300))
@given(
    patterns(),
    worlds,
    st.lists(st.dictionaries(st.sampled_from("xyzw"), st.sampled_from(OUTSIDE)), max_size=4),
    st.data(),
)
def test_exists_of_a_later_condition_substitutes_the_bindings_of_its_row(
    pattern: Pattern, world: tuple[list[Triples], Triples, Triples], rows: list[Mu], data: st.DataObject
) -> None:
    events, first, second = world
    kbs = dict(zip(KBS, (first, second), strict=True))
    engine = Engine(kbs)
    matcher = engine.compile(BGP(()))
    places = [data.draw(st.integers(0, len(events) - 1)) for _ in rows]
    columns = {
        v: np.array([engine.dictionary.intern(m[v]) if v in m else 0 for m in rows], dtype=np.int64) for v in "xyzw"
    }
    batch = batch_of(events, engine.dictionary)
    found = matcher.exists(batch, np.array(places, dtype=np.int64), Exists(pattern, False), columns, len(rows))
    wanted = [bool(World(events[i], kbs, m).solve(pattern)) for i, m in zip(places, rows, strict=True)]
    assert found.tolist() == wanted


@settings(max_examples=drawn(300))
@given(bgps, bgps, graphs, graphs)
def test_a_knowledge_base_joins_as_if_its_triples_stood_in_the_event(
    left: BGP, right: BGP, event: Triples, kb: Triples
) -> None:
    def rename(triples: Triples) -> Triples:
        return frozenset((s, IRI(p.value + "-kb") if isinstance(p, IRI) else p, o) for s, p, o in triples)

    def renamed(bgp: BGP) -> BGP:
        plain = [t for t in bgp.triples if isinstance(t, Triple) and isinstance(t.predicate, IRI)]
        return BGP(tuple(Triple(t.subject, IRI(t.predicate.value + "-kb"), t.object) for t in plain))

    simple = BGP(tuple(t for t in left.triples if isinstance(t, Triple) and isinstance(t.predicate, IRI)))
    other = renamed(BGP(tuple(t for t in right.triples if Variable("_:n") not in (t.subject, t.object))))
    engine = Engine({KBS[0]: rename(kb)})
    split = engine.compile(Join(simple, Graph(IRI(KBS[0]), other)))
    inlined = engine.compile(BGP(simple.triples + other.triples))
    apart = split.match(batch_of([event], engine.dictionary))
    together = inlined.match(batch_of([event | rename(kb)], engine.dictionary))
    assert Counter(engine.rows(apart)) == Counter(engine.rows(together))


def test_a_constant_unknown_when_compiled_matches_once_it_occurs() -> None:
    engine = Engine({})
    name = IRI("http://x/later")
    matcher = engine.compile(BGP((Triple(name, Variable("p"), Variable("o")),)))
    batch = batch_of([frozenset({(name, name, NODES[0])}), frozenset()], engine.dictionary)
    assert engine.rows(matcher.match(batch)) == [(0, frozenset({("p", name), ("o", NODES[0])}))]


def test_the_empty_pattern_has_one_solution_in_every_event() -> None:
    engine = Engine({})
    batch = batch_of([frozenset(), frozenset()], engine.dictionary)
    assert engine.compile(BGP(())).match(batch).events.tolist() == [0, 1]


def test_a_pattern_that_asks_knowledge_bases_cannot_be_compiled_without_any() -> None:
    dictionary = Dictionary()
    with pytest.raises(BackgroundError, match="no knowledge base"):
        compile_pattern(Graph(IRI(KBS[0]), BGP(())), dictionary, ExpressionEvaluator(dictionary))


def test_a_variable_that_a_subquery_does_not_select_is_another_one() -> None:
    engine = Engine({})
    outer = BGP((Triple(Variable("x"), Q, Variable("z")),))
    hidden = Project(BGP((Triple(Variable("x"), P, Variable("y")),)), ("y",))
    matcher = engine.compile(Filter(Exists(Join(outer, hidden), negated=False), outer))
    batch = batch_of([frozenset({(A, Q, A), (B, P, B)})], engine.dictionary)
    assert len(matcher.match(batch)) == 1


def test_a_filter_inside_graph_does_not_see_the_event_but_one_inside_exists_does() -> None:
    kb = frozenset({(A, P, integer(1)), (A, P, integer(5))})
    smaller = Filter(Call("<", (Variable("k"), Variable("x"))), BGP((Triple(A, P, Variable("k")),)))
    known = Graph(IRI(KBS[0]), smaller)
    event = BGP((Triple(A, Q, Variable("x")),))
    engine = Engine({KBS[0]: kb})
    batch = batch_of([frozenset({(A, Q, integer(3))}), frozenset({(A, Q, integer(1))})], engine.dictionary)
    assert len(engine.compile(Join(event, known)).match(batch)) == 0
    tested = Filter(Exists(known, negated=False), event)
    assert engine.rows(engine.compile(tested).match(batch)) == [(0, frozenset({("x", integer(3))}))]
    outside = Filter(smaller.condition, Join(event, Graph(IRI(KBS[0]), smaller.inner)))
    wanted = [(0, frozenset({("x", integer(3)), ("k", integer(1))}))]
    assert engine.rows(engine.compile(outside).match(batch)) == wanted


def test_the_same_triple_twice_in_an_event_counts_once() -> None:
    engine = Engine({})
    count = Group(BGP((Triple(Variable("x"), P, Variable("y")),)), (), (("agg", Aggregate("COUNT", None)),))
    matcher = engine.compile(Project(Extend(count, "n", Variable("agg")), ("n",)))
    batch = batch_of([frozenset({(A, P, B)}), frozenset()], engine.dictionary)
    twice = EventBatch.concatenate([batch, batch])
    doubled = replace(twice, offsets=np.array([0, 2, 2, 2, 2]))
    found = engine.rows(matcher.match(doubled))
    assert found == [(0, frozenset({("n", integer(1))})), *((i, frozenset({("n", integer(0))})) for i in (1, 2, 3))]


def test_a_slice_is_taken_in_every_event_and_ties_do_not_depend_on_the_batch() -> None:
    engine = Engine({})
    triples = BGP((Triple(Variable("x"), P, Variable("y")),))
    matcher = engine.compile(Slice(OrderBy(triples, ((Variable("y"), True),)), 0, 1))
    events = [frozenset({(A, P, integer(1)), (B, P, integer(2)), (A, P, integer(2))}), frozenset({(B, P, integer(1))})]
    found = engine.rows(matcher.match(batch_of(events, engine.dictionary)))
    assert found == [
        (0, frozenset({("x", A), ("y", integer(2))})),
        (1, frozenset({("x", B), ("y", integer(1))})),
    ]


def test_terms_computed_in_a_static_part_outlive_a_release() -> None:
    engine = Engine({})
    static = Extend(Values(("x",), ((A,),)), "y", Call("BOUND", (Variable("x"),)))
    matcher = engine.compile(Join(static, BGP((Triple(Variable("x"), P, Variable("z")),))))
    event = frozenset({(A, P, B)})
    before = engine.rows(matcher.match(batch_of([event], engine.dictionary)))
    engine.dictionary.retain([])
    assert engine.rows(matcher.match(batch_of([event], engine.dictionary))) == before


def test_a_value_substituted_into_a_path_of_length_zero_need_not_be_a_node_of_the_graph() -> None:
    stay = BGP((PathTriple(Variable("y"), Repeat(Link(Q), False, True), Variable("x")),))
    outer = BGP((Triple(Variable("x"), P, Variable("x")),))
    batch_triples = frozenset({(A, P, A)})
    engine = Engine({KBS[0]: frozenset()})
    matcher = engine.compile(Filter(Exists(Graph(IRI(KBS[0]), stay), negated=False), outer))
    assert len(matcher.match(batch_of([batch_triples], engine.dictionary))) == 1
