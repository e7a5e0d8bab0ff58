"""One event in plain Python has the solutions that it has in columns."""

from __future__ import annotations

from itertools import product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sparql_gpm.columns import RowEvent, as_ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.aggregates import estimate, fold
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.matching.row_matcher import by_predicate
from sparql_gpm.parse import parse_expression, parse_group
from sparql_gpm.pattern import EMPTY, Aggregate, EventData, Pattern
from sparql_gpm.terms import XSD, Literal
from tests.drawn import drawn
from tests.sparql_gpm.matcher_oracle import Triples
from tests.sparql_gpm.matcher_strategies import batch_of, graphs
from tests.sparql_gpm.test_matcher_rdflib import ends, links

tests = st.sampled_from(
    ("?x < ?y", "?x = ?y", "!(?x < 2)", "?z >= 1 && ?x != ?z", "isIRI(?x) || ?y > 1", "?y IN (1, ?x)")
)
numbers = st.one_of(
    st.integers(-3, 3).map(lambda value: Literal(str(value), XSD + "integer")),
    st.sampled_from(("0.1", "1.0", "16777217", "16777216", "1e39", "2e39", "1e-50", "NaN", "INF")).flatmap(
        lambda text: st.sampled_from(("double", "float", "decimal")).map(lambda kind: Literal(text, XSD + kind))
    ),
    st.just(Literal("text")),
)

FIRST = (EMPTY, EventData("g", "t"), EventData(None, "t"), EventData("x", None))
"""Patterns at the beginning of the group; ?x is also a node of the graph."""


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Triples, some of them twice related, with filters and VALUES."""
    triples = " ".join(f"{draw(ends)} {draw(links)} {draw(ends)} ." for _ in range(draw(st.integers(1, 4))))
    filters = "".join(f" FILTER({draw(tests)})" for _ in range(draw(st.integers(0, 2))))
    values = draw(st.sampled_from(("", "", " VALUES ?x { 1 2 }", " VALUES (?x ?w) { (1 2) (1 3) }")))
    return f"{{ {triples}{values}{filters} }}"


@settings(max_examples=drawn(300))
@given(patterns(), st.lists(graphs, min_size=1, max_size=3), st.sampled_from(FIRST))
def test_one_event_has_the_solutions_that_it_has_in_columns(text: str, events: list[Triples], first: Pattern) -> None:
    dictionary = Dictionary()
    pattern = parse_group(text, {}, None, first).pattern
    matcher = compile_pattern(pattern, dictionary, ExpressionEvaluator(dictionary))
    single = matcher.row_matcher(matcher.variables)
    assume(single is not None)
    assert single is not None
    for graph in events:
        batch = batch_of([graph], dictionary)
        (event,) = RowEvent.each_of(batch)
        triples = by_predicate(event)
        found = single.solutions(triples, event) if single.predicates <= triples.keys() else []
        columns = matcher.match(batch)
        expected = zip(*(columns.columns[name].tolist() for name in matcher.variables), strict=True)
        assert found is not None
        assert len(set(found)) == len(found)
        assert sorted(found) == (sorted(expected) if matcher.variables else [()] * len(columns))


@settings(max_examples=drawn(300))
@given(
    st.sampled_from(
        (
            "?a < ?b",
            "?a <= ?b",
            "?a = ?b",
            "?a != ?b",
            "!(?a > ?b) || ?a > 1.0",
            "?a + 1 < ?b && BOUND(?a)",
            "COALESCE(?a, ?b) > 1",
            "?b >= COALESCE(?a, 1.0)",
            "COALESCE(?unbound, ?a) = ?b",
        )
    ),
    st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4),
)
def test_a_condition_decides_one_solution_as_it_decides_columns(
    text: str, pairs: list[tuple[Literal, Literal]]
) -> None:
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    expression = parse_expression(text, {}, None)
    rows = [(dictionary.intern(one), dictionary.intern(other)) for one, other in pairs] + [
        (0, dictionary.intern(pairs[0][0]))
    ]
    test = evaluator.test(expression, {"a": 0, "b": 1})
    columns = {"a": as_ids([one for one, _ in rows]), "b": as_ids([other for _, other in rows])}
    assert [test(row) for row in rows] == evaluator.holds(expression, columns, len(rows)).tolist()


@settings(max_examples=drawn(200))
@given(
    st.sampled_from(("?a", "?a + ?b", "?a < ?b", "!(?a = ?b)", "COALESCE(?unbound, ?b)", "?unbound", "3", "STR(?a)")),
    st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4),
)
def test_an_expression_has_the_value_in_one_solution_that_it_has_in_columns(
    text: str, pairs: list[tuple[Literal, Literal]]
) -> None:
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    expression = parse_expression(text, {}, None)
    rows = [(dictionary.intern(one), dictionary.intern(other)) for one, other in pairs] + [(0, 0)]
    value = evaluator.value(expression, {"a": 0, "b": 1})
    columns = {"a": as_ids([one for one, _ in rows]), "b": as_ids([other for _, other in rows])}
    assert [value(row) for row in rows] == evaluator.evaluate(expression, columns, len(rows)).tolist()
    dictionary.retain([])
    others = [dictionary.intern(Literal(str(100 + number), XSD + "integer")) for number in range(2 * len(pairs))]
    rows = list(product(others, others))
    columns = {"a": as_ids([one for one, _ in rows]), "b": as_ids([other for _, other in rows])}
    assert [value(row) for row in rows] == evaluator.evaluate(expression, columns, len(rows)).tolist()


@settings(max_examples=drawn(400))
@given(
    st.sampled_from(("?a < {}", "{} < ?a", "?a = {}", "{} >= ?a", "?a != {}", "COALESCE(?a, 1) > {}")),
    st.sampled_from(("SUM(?b)", "AVG(?b)")),
    st.one_of(numbers, st.none()),
    st.lists(numbers, min_size=1, max_size=10),
)
def test_a_condition_that_an_estimate_decides_is_decided_so_by_the_aggregate(
    text: str, aggregate: str, other: Literal | None, values: list[Literal]
) -> None:
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    node = parse_expression(aggregate, {}, None)
    assert isinstance(node, Aggregate)
    expression, given_ids = parse_expression(text.format(aggregate), {}, None), [dictionary.intern(v) for v in values]
    estimated = evaluator.estimate(expression, aggregate, {"a": 0})
    assert estimated is not None
    result = fold(node, given_ids, dictionary)
    known = result if other is None else dictionary.intern(other)
    decided = estimated([known], estimate(node, given_ids, dictionary))
    exact = evaluator.test(expression, {"a": 0, aggregate: 1})([known, result])
    assert decided in (None, exact)


def test_an_estimate_decides_where_numbers_differ() -> None:
    dictionary = Dictionary()
    node = parse_expression("AVG(?b)", {}, None)
    assert isinstance(node, Aggregate)
    ids = [dictionary.intern(Literal(text, XSD + "decimal")) for text in ("1.5", "2.5", "2.1")]
    estimated = ExpressionEvaluator(dictionary).estimate(
        parse_expression("?a < AVG(?b)", {}, None), "AVG(?b)", {"a": 0}
    )
    assert estimated is not None
    number = estimate(node, ids[:2], dictionary)
    assert [estimated([each], number) for each in ids] == [True, False, False]
    assert estimated([dictionary.intern(Literal("2.0", XSD + "float"))], number) is None
