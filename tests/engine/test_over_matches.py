"""OVER MATCHES: groups survive a restart, sums are exact in any order and in parts, and what is held is bounded."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from math import fsum, inf, isnan
from random import Random
from unittest.mock import patch

import pytest

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.exact_sum import ExactSum
from sparql_gpm.expressions.accumulators import accumulator
from sparql_gpm.numeric import Number, NumericType
from sparql_gpm.pattern import Aggregate, Variable
from sparql_gpm.terms import IRI, XSD, Literal, Term
from spaseq.algebra.build import build
from spaseq.errors import RunError
from spaseq.lang.parse import parse
from spaseq.physical.plan import Form
from spaseq.physical.planner import plan_query
from spaseq.physical.program import compile_program
from spaseq.runtime.stages import grouping
from spaseq.runtime.stages.groups import TooManyGroups
from tests import random_pairs
from tests.driving import comparable, run_engine
from tests.random_pairs import drawn, expected_rows
from tests.reference.api import evaluate
from tests.restarting import Restarting
from tests.strategies.stream import batches

DOUBLE = NumericType.DOUBLE
TERMS: tuple[Term, ...] = (
    *(Literal(text, XSD + "double") for text in ("1.0E16", "1.0", "-1.0E16", "3.5E-300")),
    *(Literal(text, XSD + "decimal") for text in ("0.1", "2", "0.10")),
    *(Literal(text, XSD + "integer") for text in ("2", "-7", "02")),
)
OTHERS: tuple[Term, ...] = (IRI("urn:x"), Literal("a"), Literal("b"), Literal("true", XSD + "boolean"))
AGGREGATES = [
    Aggregate(name, Variable("v"), distinct)
    for name in ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")
    for distinct in (False, True)
]


def test_groups_survive_restarts_in_the_middle_of_their_windows() -> None:
    found, restarts = 0, 0
    for number in range(60):
        pair = drawn(77, number, (random_pairs.over, random_pairs.any_over))
        if pair is None:
            continue
        engine, dice = Restarting(pair.query, 0), Random(number)
        for piece in batches(pair.arrived, pair.sizes):
            engine.push(piece)
            if dice.random() < 0.6:
                engine.restart()
        engine.network.finish()
        expected = expected_rows(pair)
        assert Counter(map(comparable, engine.rows)) == Counter(expected), random_pairs.shown(pair)
        found, restarts = found + len(expected), restarts + engine.restarts
        if found > 30 and restarts > 8:
            break
    assert found > 30 and restarts > 8


@pytest.mark.parametrize("cut", range(1, 7))
def test_a_counted_window_is_one_unit_whatever_batch_its_last_match_is_decided_in(cut: int) -> None:
    """The match {a2} is decided by the first event past its window, and may be reported once a later time is."""
    query = parse(
        "PREFIX : <http://ex.org/> SELECT OVER MATCHES ?k (COUNT(*) AS ?n) WITHIN 4 EVENTS EVERY 2 EVENTS "
        "FROM STREAM S1 <http://ex.org/s1> { SEQ(A : B?) DEFINE GPM A ON S1 { [] :a ?a } "
        "DEFINE GPM B ON S1 { [] :k ?k } } GROUP BY ?k"
    )
    arrived = [
        ("S1", time * 10**9, f"urn:e{n}", frozenset({(IRI(f"urn:s{n}"), IRI(f"http://ex.org/{p}"), Literal(p))}))
        for n, (time, p) in enumerate([(1, "a"), (2, "k"), (3, "a"), (4, "z"), (5, "a"), (5, "z"), (6, "z")])
    ]
    expected = [comparable(row) for row in evaluate(query, {"S1": tuple(e[1:] for e in arrived)})]
    for compiled in (False, True):
        rows = run_engine(query, [arrived[:cut], arrived[cut:]], evaluator="nfa", compiled=compiled, few=0)
        assert [comparable(row) for row in rows] == expected
    assert len(expected) == 5


def test_sums_of_doubles_are_rounded_once() -> None:
    dice = Random(5)
    for _ in range(200):
        values = [dice.uniform(-1, 1) * 10.0 ** dice.randint(-300, 300) for _ in range(20)]
        total, other = ExactSum(), ExactSum()
        for number, value in enumerate(values):
            (total, other)[number % 2].add(Number(DOUBLE, value))
        total.merge(ExactSum.of(other.state()))
        assert total.total().value == fsum(values)


def test_numbers_of_all_types_are_summed_exactly() -> None:
    total = ExactSum()
    total.add(Number(NumericType.DECIMAL, Decimal("0.1")), 10**30)
    total.add(Number(NumericType.INTEGER, 1))
    assert total.total().value == Decimal(10**29 + 1)
    total.add(Number(DOUBLE, 0.5), 2)
    assert total.total() == Number(DOUBLE, float(10**29 + 2))
    total.add(Number(DOUBLE, inf))
    assert total.total().value == inf
    total.add(Number(DOUBLE, -inf))
    assert isnan(float(total.total().value))


@pytest.mark.parametrize("aggregate", AGGREGATES, ids=str)
@pytest.mark.parametrize("terms", [TERMS, (*TERMS, *OTHERS), OTHERS[1:3], OTHERS[:1] * 2, ()], ids=len)
def test_an_aggregate_is_the_same_in_parts_and_after_a_restart(aggregate: Aggregate, terms: tuple[Term, ...]) -> None:
    dictionary = Dictionary()
    values = [dictionary.intern(term) for term in terms]
    whole = accumulator(aggregate, dictionary)
    for value in (*values, 0):
        whole.add(value, 3)
    first, second, later = (accumulator(aggregate, dictionary) for _ in range(3))
    for value in values[: len(values) // 2]:
        first.add(value, 3)
    for value in values[len(values) // 2 :]:
        second.add(value, 3)
    first.merge(second)
    later.restore(first.state(), first.ids())
    assert whole.result() == first.result() == later.result()


def test_a_count_has_any_number_of_digits() -> None:
    dictionary = Dictionary()
    counted = accumulator(Aggregate("COUNT", None), dictionary)
    counted.add(1, 10**5000)
    assert dictionary.term(counted.result()) == Literal("1" + "0" * 5000, XSD + "integer")


def test_a_query_with_too_many_groups_is_stopped_with_the_way_out() -> None:
    query = parse(
        "PREFIX : <http://ex.org/> SELECT OVER MATCHES ?s (COUNT(*) AS ?n) WITHIN 1 DAY "
        "FROM STREAM S1 <http://ex.org/s1> { SEQ(A) DEFINE GPM A ON S1 { ?s :p ?o } } GROUP BY ?s"
    )
    arrived = [
        ("S1", n, f"urn:e{n}", frozenset({(IRI(f"urn:s{n}"), IRI("http://ex.org/p"), Literal("1"))})) for n in range(9)
    ]
    engine = Restarting(query, 0)
    bounded = patch.object(grouping.Grouping, "_check", _at_most_five)
    with bounded:
        engine.push(arrived)
        engine.network.finish()
    with pytest.raises(RunError) as caught:
        engine.network.raise_stopped()
    assert "groups" in str(caught.value) and "GROUP BY fewer variables" in (caught.value.hint or "")


def test_the_reason_says_that_overlapping_windows_are_evaluated_by_turns() -> None:
    text = (
        "PREFIX : <http://ex.org/> SELECT OVER MATCHES (COUNT(*) AS ?n) WITHIN 10 SECONDS EVERY 4 SECONDS "
        "FROM STREAM S1 <http://ex.org/s1> "
        "{ SEQ(A : B) DEFINE GPM A ON S1 { ?s :p ?o } DEFINE GPM B ON S1 { ?s :q ?o } }"
    )
    assert "take turns" not in plan_query(compile_program(build(parse(text)))).reason
    turns = plan_query(compile_program(build(parse(f"{text} AFTER MATCH SKIP PAST LAST EVENT"))))
    assert "3 of them take turns" in turns.reason and turns.form is not Form.ROWS


def _at_most_five(groups: grouping.Grouping) -> None:
    if groups._held > 5:
        raise TooManyGroups("more than 5 groups and values of OVER MATCHES")
