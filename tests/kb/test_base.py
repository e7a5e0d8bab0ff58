"""Knowledge bases as the background of patterns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from kb.base import KnowledgeBases
from kb.errors import KnowledgeBaseError
from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.pattern import BGP, Graph, Join, Pattern, Service, Triple, Variable
from sparql_gpm.terms import IRI, Literal

CITIES, OWNERS = "http://kb.example/cities", "http://kb.example/owners"
NEAR, OF, HERE = IRI("http://x/near"), IRI("http://x/of"), IRI("http://x/here")
X, Y, G = Variable("x"), Variable("y"), Variable("g")


class Setting:
    """Two knowledge bases on disk, and what reads them."""

    def __init__(self, folder: Path) -> None:
        self.dictionary = Dictionary()
        self.evaluator = ExpressionEvaluator(self.dictionary)
        (folder / "cities.ttl").write_text("@prefix : <http://x/> . :a :near :b, :c . :b :near :c .")
        (folder / "owners.ttl").write_text("@prefix : <http://x/> . :a :of 'Ann' . :b :near :a .")
        sources = {CITIES: folder / "cities.ttl", OWNERS: folder / "owners.ttl"}
        self.kbs = KnowledgeBases.load(sources, self.dictionary, self.evaluator)

    def event(self, *names: str) -> EventBatch:
        ids = [self.dictionary.intern(IRI(f"http://x/{name}")) for name in names]
        here = np.full(len(ids), self.dictionary.intern(HERE))
        zero = np.zeros(1, dtype=np.int64)
        return EventBatch(zero, zero, ["urn:e"], np.array([0, len(ids)]), np.array(ids), here, np.array(ids))

    def rows(self, pattern: Pattern, batch: EventBatch) -> set[tuple[str, ...]]:
        solutions = compile_pattern(pattern, self.dictionary, self.evaluator, self.kbs).match(batch)
        return set(zip(*(self.texts(column) for column in solutions.columns.values()), strict=True))

    def texts(self, column: Ids) -> list[str]:
        terms = (self.dictionary.term(i) for i in column.tolist())
        return [
            t.lexical if isinstance(t, Literal) else t.value.rsplit("/", 1)[1]
            for t in terms
            if isinstance(t, IRI | Literal)
        ]


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


def bgp(subject: Variable, predicate: IRI, object_: Variable) -> BGP:
    return BGP((Triple(subject, predicate, object_),))


def test_an_event_joins_its_knowledge_base_in_as_many_ways_as_there_are(setting: Setting) -> None:
    pattern = Join(bgp(X, HERE, X), Graph(IRI(CITIES), bgp(X, NEAR, Y)))
    assert setting.rows(pattern, setting.event("a", "d")) == {("a", "b"), ("a", "c")}


def test_a_graph_variable_ranges_over_all_knowledge_bases_and_is_bound(setting: Setting) -> None:
    pattern = Join(bgp(X, HERE, X), Graph(G, bgp(X, NEAR, Y)))
    assert setting.rows(pattern, setting.event("b")) == {("cities", "b", "c"), ("owners", "b", "a")}


def test_only_the_named_knowledge_bases_of_a_query_are_ranged_over(setting: Setting) -> None:
    setting.kbs = setting.kbs.named([OWNERS])
    assert setting.kbs.names() == [OWNERS]
    assert setting.rows(Graph(G, bgp(X, NEAR, Y)), setting.event()) == {("owners", "b", "a")}


def test_two_knowledge_bases_join_each_other_through_the_event(setting: Setting) -> None:
    pattern = Join(Join(Graph(IRI(CITIES), bgp(X, NEAR, Y)), Graph(IRI(OWNERS), bgp(X, OF, G))), bgp(Y, HERE, Y))
    assert setting.rows(pattern, setting.event("c", "a")) == {("Ann", "a", "c")}


def test_a_knowledge_base_that_was_not_supplied_is_named_before_anything_runs(setting: Setting) -> None:
    with pytest.raises(KnowledgeBaseError, match=r"http://kb\.example/none: .* was not supplied .*cities"):
        compile_pattern(
            Graph(IRI("http://kb.example/none"), BGP(())), setting.dictionary, setting.evaluator, setting.kbs
        )


def test_a_service_that_a_file_is_supplied_for_is_answered_from_it(setting: Setting) -> None:
    setting.kbs = setting.kbs.named([], services=[CITIES])
    assert setting.kbs.names() == []
    pattern = Join(bgp(X, HERE, X), Service(IRI(CITIES), bgp(X, NEAR, Y), silent=False))
    assert setting.rows(pattern, setting.event("a", "d")) == {("a", "b"), ("a", "c")}


def test_an_endpoint_that_is_a_variable_is_refused(setting: Setting) -> None:
    from sparql_gpm.background import BackgroundError

    with pytest.raises(BackgroundError, match="must be written as an IRI"):
        setting.rows(Service(G, bgp(X, NEAR, Y), silent=False), setting.event("a"))


def test_given_values_are_substituted_row_by_row(setting: Setting) -> None:
    given: Mapping[str, Ids] = {"x": np.array([setting.dictionary.find(IRI(f"http://x/{name}")) for name in "aab"])}
    solutions = setting.kbs.solve(CITIES, bgp(X, NEAR, Y), given, 3)
    found = sorted(zip(solutions.events.tolist(), setting.texts(solutions.columns["y"]), strict=True))
    assert found == [(0, "b"), (0, "c"), (1, "b"), (1, "c"), (2, "c")]


def test_the_knowledge_base_is_solved_once_however_many_batches_follow(setting: Setting) -> None:
    asked = []

    class Counting(KnowledgeBases):
        def solve(self, name: str, pattern: Pattern, given: Mapping[str, Ids] | None = None, rows: int = 1):  # type: ignore[no-untyped-def]
            asked.append(name)
            return setting.kbs.solve(name, pattern, given, rows)

    counting = Counting({CITIES: setting.event()}, setting.dictionary, setting.evaluator)
    pattern = Join(bgp(X, HERE, X), Graph(IRI(CITIES), bgp(X, NEAR, Y)))
    matcher = compile_pattern(pattern, setting.dictionary, setting.evaluator, counting)
    for _ in range(3):
        assert len(matcher.match(setting.event("a"))) == 2
    assert asked == [CITIES]
