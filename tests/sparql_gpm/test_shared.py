"""Patterns that queries share: the same solutions as apart, whatever the summary leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.base import KnowledgeBases
from sparql_gpm.algebra.canonical import canonical
from sparql_gpm.columns import Solutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.matching import bgp, summary
from sparql_gpm.parse import parse_group
from sparql_gpm.pattern import Pattern
from sparql_gpm.shared import PatternPool, Slice, StreamPattern
from sparql_gpm.terms import IRI, Term
from tests.drawn import drawn
from tests.sparql_gpm.matcher_strategies import KBS, batch_of, graphs, patterns

SETS = drawn(250)
worlds = st.tuples(st.lists(graphs, min_size=1, max_size=4), graphs, graphs)
EX = "http://ex.org/"


@pytest.fixture(scope="module", params=("one by one", "at once"))
def grouping(request: pytest.FixtureRequest) -> Iterator[None]:
    """Batches of any size are grouped the one way or the other; a scan narrows the next one whenever it can."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "_FEW_TRIPLES_MAX", 1000 if request.param == "one by one" else -1)
        patch.setattr(bgp, "_FEW_FACTOR", 0)
        yield


def rows(
    found: Solutions, names: dict[str, str], dictionary: Dictionary
) -> set[tuple[int, frozenset[tuple[str, Term]]]]:
    """The solutions as terms; a set, since a batch's solutions are distinct within each event."""
    columns = {own: found.columns[name].tolist() for own, name in names.items()}
    return {
        (event, frozenset((own, dictionary.term(ids[row])) for own, ids in columns.items() if ids[row]))
        for row, event in enumerate(found.events.tolist())
    }


@pytest.mark.usefixtures("grouping")
@given(asked=st.lists(patterns(), min_size=1, max_size=4), world=worlds)
@settings(max_examples=SETS)
def test_shared_patterns_have_the_solutions_that_each_has_alone(
    asked: list[Pattern], world: tuple[list[frozenset[tuple[Term, Term, Term]]], object, object]
) -> None:
    events, *known = world
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    kbs = {iri: batch_of([graph], dictionary) for iri, graph in zip(KBS, known, strict=True)}
    background = KnowledgeBases(kbs, dictionary, evaluator)
    pool = PatternPool(dictionary, evaluator)
    named = [pool.add(pattern, background) for pattern in asked]
    slice_ = Slice(batch_of(events, dictionary))
    for pattern, mine in zip(asked, named, strict=True):
        matcher = compile_pattern(pattern, dictionary, evaluator, background)
        names = {name: mine.names[name] for name in matcher.variables}
        alone = rows(matcher.match(slice_.batch), {name: name for name in names}, dictionary)
        assert rows(slice_.solutions(StreamPattern(mine.shared, (0,))), names, dictionary) == alone
    pool.give_up_summary()
    unsummarised = Slice(slice_.batch)
    for mine in named:
        summarised = slice_.solutions(StreamPattern(mine.shared, (0,)))
        found = unsummarised.solutions(StreamPattern(mine.shared, (0,)))
        names = {name: name for name in found.columns}
        assert rows(found, names, dictionary) == rows(summarised, names, dictionary)


def pattern(text: str) -> Pattern:
    return parse_group(text, {"": EX}, "").pattern


def test_names_of_variables_do_not_tell_patterns_apart() -> None:
    text = "{ ?a :p ?b FILTER(?b > 2 && EXISTS { ?b :q ?a }) } OPTIONAL { ?b :r ?c . BIND(?c + 1 AS ?d) }"
    other = re.sub(r"\?([abcd])", lambda name: "?" + {"a": "z", "b": "y", "c": "a", "d": "b"}[name[1]], text)
    one, two = canonical(pattern(text)), canonical(pattern(other))
    assert one is not None and two is not None
    assert one.pattern == two.pattern
    assert one.names["a"] == two.names["z"]


@pytest.mark.parametrize("other", ["?a :p ?a", "?a :q ?b", "?b :p ?a . ?a :p ?b", "?a :p 2"])
def test_patterns_that_differ_in_more_than_names_are_apart(other: str) -> None:
    one, two = canonical(pattern("?a :p ?b")), canonical(pattern(other))
    assert one is not None and two is not None
    assert one.pattern != two.pattern


def test_a_pattern_that_draws_by_lot_is_shared_with_none() -> None:
    assert canonical(pattern("?a :p ?b . BIND(UUID() AS ?c)")) is None


def touched(texts: list[str], event: list[tuple[str, str, str]]) -> set[int]:
    dictionary = Dictionary()
    pool = PatternPool(dictionary, ExpressionEvaluator(dictionary))
    numbers = [pool.add(pattern(text), None).shared.number for text in texts]
    graph = frozenset((IRI(EX + s), IRI(EX + p), IRI(EX + o)) for s, p, o in event)
    slice_ = Slice(batch_of([graph], dictionary))
    return {place for place, number in enumerate(numbers) if slice_.touches(pool, frozenset((number,)))}


@pytest.mark.usefixtures("grouping")
def test_only_patterns_whose_constants_occur_are_asked() -> None:
    texts = [
        ":h1 :p ?x",
        ":h2 :p ?x",
        "?s :p :x",
        "{ ?s :p ?x FILTER(?s = :h2) }",
        "{ ?s :p ?x FILTER(sameTerm(:h1, ?s)) }",
        "{ ?s :q ?x } UNION { :h1 :p ?x }",
        "{ ?s :q ?x } UNION { :h2 :p ?x }",
        "?s :p ?x OPTIONAL { ?s :q ?y }",
        "?s :p/:q ?x",
        "?s (:p|:q)+ ?x",
        "?s :p* ?x",
        "?s ?p ?x",
        "OPTIONAL { :h2 :p ?x }",
    ]
    assert touched(texts, [("h1", "p", "x")]) == {0, 2, 4, 5, 7, 9, 10, 11, 12}


def test_without_the_summary_every_pattern_is_asked() -> None:
    dictionary = Dictionary()
    pool = PatternPool(dictionary, ExpressionEvaluator(dictionary))
    shared = pool.add(pattern(":h1 :p ?x"), None).shared
    pool.give_up_summary()
    assert Slice(batch_of([frozenset()], dictionary)).touches(pool, frozenset((shared.number,)))


def test_a_pattern_in_many_queries_is_compiled_once() -> None:
    dictionary = Dictionary()
    pool = PatternPool(dictionary, ExpressionEvaluator(dictionary))
    mine = [pool.add(pattern(f"?a{n} :p ?b{n}"), None) for n in range(5)]
    assert len(pool) == 1
    assert {id(named.shared) for named in mine} == {id(mine[0].shared)}
