"""The patterns that events touch: every pattern with a solution is among them, and numbers out of range are not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sparql_gpm.columns import EventBatch, RowEvent
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matching.ranges import Range, RangeIndex
from sparql_gpm.parse import parse_group
from sparql_gpm.shared import NamedPattern, PatternPool, Slice
from sparql_gpm.terms import IRI, Literal, Term
from tests.drawn import drawn
from tests.sparql_gpm.matcher_strategies import batch_of

EX, XSD = "http://ex.org/", "http://www.w3.org/2001/XMLSchema#"
SETS = drawn(60)
_PREFIXES = {"": EX, "xsd": XSD}
_CONSTANTS = ("1", "2.0", "2.5", "3e0", '"2"', '"NaN"^^xsd:double', "9007199254740993", "-1", ":a")
_TEMPLATES = (
    "?s :v ?x FILTER(?x {op} {c})",
    ":s1 :v ?x FILTER({c} {op} ?x)",
    "?s :v ?x ; :w ?y FILTER(?x {op} {c} && ?y {op2} {d})",
    "?s :v ?x ; :v ?y FILTER(?x {op} {c}) FILTER(?y {op2} {d})",
    "?s a :T ; :v ?x FILTER(?x {op} {c}) FILTER(?x {op2} {d})",
    "?s :v ?x FILTER(?x {op} {c}) OPTIONAL {{ ?s :w ?y FILTER(?y {op2} {d}) }}",
    "?s :w ?z OPTIONAL {{ ?s :v ?x FILTER(?x {op} {c}) }}",
    "{{ ?s :v ?x FILTER(?x {op} {c}) }} UNION {{ ?s :w ?x FILTER(?x {op2} {d}) }}",
    "?s :v ?x FILTER(?x {op} {c} || ?x {op2} {d})",
    "?s :v ?x FILTER(!(?x {op} {c}))",
    "{{ SELECT ?s (MAX(?x) AS ?m) WHERE {{ ?s :v ?x FILTER(?x {op} {c}) }} GROUP BY ?s }}",
)
_OPERATORS = ("<", "<=", ">", ">=", "=", "!=")
_NUMBERS = [Literal(text, XSD + kind) for text, kind in (
    ("1", "integer"), ("2", "integer"), ("2.0", "decimal"), ("2.5", "decimal"), ("3", "double"), ("-1", "byte"),
    ("NaN", "double"), ("INF", "double"), ("9007199254740992", "integer"), ("9007199254740993", "integer"),
    ("no", "integer"), ("2", "string"),
)]  # fmt: skip
TYPE = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_triples = st.tuples(
    st.sampled_from([IRI(f"{EX}s1"), IRI(f"{EX}s2")]),
    st.sampled_from([IRI(f"{EX}v"), IRI(f"{EX}v"), IRI(f"{EX}w")]),
    st.sampled_from([*_NUMBERS, IRI(f"{EX}a")]),
) | st.just((IRI(f"{EX}s1"), TYPE, IRI(f"{EX}T")))


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A pattern that compares numbers."""
    op, op2 = draw(st.sampled_from(_OPERATORS)), draw(st.sampled_from(_OPERATORS))
    c, d = draw(st.sampled_from(_CONSTANTS)), draw(st.sampled_from(_CONSTANTS))
    return draw(st.sampled_from(_TEMPLATES)).format(op=op, op2=op2, c=c, d=d)


def pool_of(written: Sequence[str]) -> tuple[PatternPool, list[int]]:
    """The patterns in a pool, and their numbers."""
    dictionary = Dictionary()
    pool = PatternPool(dictionary, ExpressionEvaluator(dictionary))
    parsed = [parse_group(f"{{ {text} }}", _PREFIXES, "").pattern for text in written]
    return pool, [pool.add(pattern, None).shared.number for pattern in parsed]


def slices(batch: EventBatch) -> list[Slice]:
    """The batch in columns and as rows, and its events one by one."""
    events = RowEvent.each_of(batch)
    return [Slice(batch), Slice(events), *map(Slice, events)]


@given(st.lists(texts(), min_size=1, max_size=5), st.lists(st.frozensets(_triples, max_size=4), min_size=1, max_size=3))
@settings(max_examples=SETS)
def test_a_pattern_with_a_solution_is_touched(
    written: list[str], graphs: list[frozenset[tuple[Term, Term, Term]]]
) -> None:
    pool, numbers = pool_of(written)
    for number, text in zip(numbers, written, strict=True):
        alone, _ = pool_of([text])
        batch = batch_of(graphs, alone.dictionary)
        pattern = parse_group(f"{{ {text} }}", _PREFIXES, "").pattern
        matcher = alone.add(pattern, None).shared.matcher
        solved = set(matcher.match(batch).events.tolist())
        columns, rows, *each = slices(batch_of(graphs, pool.dictionary))
        if solved:
            assert number in columns.touched(pool)
            assert number in rows.touched(pool)
        for event in solved:
            assert number in each[event].touched(pool), (text, event)


@given(st.data())
@settings(max_examples=SETS)
def test_a_pool_of_which_patterns_were_removed_is_as_one_that_never_had_them(data: st.DataObject) -> None:
    dictionary = Dictionary()
    pool = PatternPool(dictionary, ExpressionEvaluator(dictionary))
    held: list[tuple[str, NamedPattern]] = []
    for _ in range(data.draw(st.integers(2, 12))):
        if held and data.draw(st.booleans()):
            pool.remove(held.pop(data.draw(st.integers(0, len(held) - 1)))[1])
        else:
            text = data.draw(texts())
            held.append((text, pool.add(parse_group(f"{{ {text} }}", _PREFIXES, "").pattern, None)))
    fresh, numbers = pool_of([text for text, _ in held])
    assert len(pool) == len(fresh) and len(pool.summary) == len(fresh.summary)
    graphs = data.draw(st.lists(st.frozensets(_triples, max_size=4), min_size=1, max_size=3))
    mine, theirs = (slices(batch_of(graphs, each.dictionary)) for each in (pool, fresh))
    for one, other in zip(mine, theirs, strict=True):
        touched, wanted = one.touched(pool), other.touched(fresh)
        same = [named.shared.number in touched for _, named in held]
        assert same == [number in wanted for number in numbers]
        assert touched <= {named.shared.number for _, named in held}
    for _, named in held:
        pool.remove(named)
    dictionary.retain([])
    assert (len(pool), len(pool.summary), len(dictionary)) == (0, 0, 2), "true and false"


def test_the_number_of_a_constant_is_known_even_where_its_id_made_the_column_longer() -> None:
    pattern = parse_group("{ ?s :v ?x FILTER(?x > 7) }", _PREFIXES, "").pattern
    for terms in range(4_085, 4_097):
        dictionary = Dictionary()
        pool = PatternPool(dictionary, ExpressionEvaluator(dictionary))
        for number in range(terms - len(dictionary)):
            dictionary.intern(IRI(f"{EX}{number}"))
        (bounds,) = pool.add(pattern, None).shared.matcher.ranges.values()
        assert bounds.low == 7


def test_of_patterns_that_differ_in_a_number_those_are_touched_in_whose_range_it_is() -> None:
    written = [f"?s a :T ; :v ?x FILTER(?x > {n})" for n in range(200)]
    written += [f":s1 :v ?x FILTER({n} >= ?x)" for n in range(200)]
    written += [f"?s :v ?x FILTER(?x >= {n} && ?x < {n + 3})" for n in range(200)]
    pool, numbers = pool_of(written)
    graph = frozenset(
        {(IRI(f"{EX}s1"), IRI(f"{EX}v"), Literal("5", XSD + "integer")), (IRI(f"{EX}s1"), TYPE, IRI(f"{EX}T"))}
    )
    for slice_ in slices(batch_of([graph], pool.dictionary)):
        touched = sorted(numbers.index(number) for number in slice_.touched(pool))
        assert touched == [*range(6), *range(205, 400), *range(402, 406)]  # both bounds are included


@given(
    st.lists(
        st.tuples(st.sampled_from([-1.0, 0.0, 2.0, -float("inf")]), st.sampled_from([0.0, 1.0, 2.0, float("inf")]))
    ),
    st.lists(st.sampled_from([-2.0, 0.0, 0.5, 1.0, 2.0, 9.0, float("nan")]), min_size=1, max_size=4),
)
def test_an_index_gives_the_ranges_that_have_a_number(bounds: list[tuple[float, float]], values: list[float]) -> None:
    index = RangeIndex()
    for number, (low, high) in enumerate(bounds):
        index.add(Range(low, high), number)
    by_value = [
        {n for n, (low, high) in enumerate(bounds) if value != value or low <= value <= high} for value in values
    ]
    for value, wanted in zip(values, by_value, strict=True):
        assert wanted <= set(index.over(value))
        if value == value:
            assert set(index.over(value)) == wanted
    found = set(index.over_some(np.array(values)))
    assert set.union(*by_value) <= found
