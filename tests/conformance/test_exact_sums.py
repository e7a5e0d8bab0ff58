"""Sums of doubles OVER MATCHES are exact and rounded once, those inside of others too, whichever way they are found."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from sparql_gpm.terms import IRI, XSD, Literal, Term
from spaseq.lang.parse import parse
from tests.driving import run_engine
from tests.pairs import applies, difference
from tests.random_pairs import Pair, expected_rows, shown
from tests.strategies.planted import planted_streams
from tests.strategies.propagated import PropagatedText
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import Arrived, drawn_cuts, interleaved

DOUBLES = {"0": "0.1", "1": "0.2", "2": "0.7", "3": "1.0E16"}
QUERY = """PREFIX : <http://ex.org/>
SELECT OVER MATCHES ({aggregate} AS ?x) WITHIN 100 SECONDS FROM STREAM S1 <http://ex.org/s1>
WHERE {{ SEQ(A;+) DEFINE GPM A ON S1 {{ ?a :v ?v }} }}"""
VALUES = (0.1, 0.2, 0.3, 1e16, -1e16)
SUMS = [sum(map(Fraction, VALUES[first:last])) for first in range(5) for last in range(first + 1, 6)]


@pytest.mark.parametrize("evaluator", ["auto", "nfa"])
@pytest.mark.parametrize(
    ("aggregate", "value"),
    [
        ("SUM(SUM(?v))", sum(SUMS)),
        ("AVG(SUM(?v))", sum(SUMS) / len(SUMS)),
        ("MIN(SUM(?v))", min(SUMS)),
        ("MAX(SUM(?v))", max(SUMS)),
    ],
)
def test_a_sum_of_sums_is_rounded_once(aggregate: str, value: Fraction, evaluator: str) -> None:
    thing, predicate = IRI("urn:x"), IRI("http://ex.org/v")
    arrived = [
        ("S1", number, f"urn:e{number}", frozenset({(thing, predicate, Literal(str(each), XSD + "double"))}))
        for number, each in enumerate(VALUES)
    ]
    (row,) = run_engine(parse(QUERY.format(aggregate=aggregate), "q"), [arrived], evaluator=evaluator)
    assert [float(getattr(term, "lexical", "nan")) for _, term in row.bindings] == [float(value)]


class SummedText(PropagatedText):
    """Draws one query with sums, of sums where a step is repeated."""

    def aggregate(self) -> str:
        """See `PropagatedText`."""
        values = [step.value for step in self.steps if step.value]
        if not self.repeated():
            return f"{self.dice.pick('SUM', 'AVG')}({self.dice.pick(*values)})" if values else "COUNT(*)"
        return f"{self.dice.pick('SUM(SUM', 'AVG(SUM', 'MIN(SUM', 'MAX(SUM')}({self.dice.pick(*self.repeated())}))"


def test_random_pairs_with_doubles_equal_the_reference_with_and_without_matches() -> None:
    compared = 0
    for number in range(80):
        dice = SeededDice(Random(f"doubles {number}"))
        query = parse(SummedText(dice).keyed(), "q")
        arrived = tuple(map(in_doubles, interleaved(planted_streams(dice, query, 3))))
        pair = Pair(query, arrived, tuple(drawn_cuts(dice, len(arrived))))
        if "SUM" not in query.text or not applies("propagation", pair):
            continue
        expected = expected_rows(pair)
        compared += bool(expected)
        for evaluator in ("runs", "propagation"):
            assert not difference(evaluator, pair, expected), (evaluator, shown(pair))
    assert compared > 10


def in_doubles(arrived: Arrived) -> Arrived:
    stream, time, name, triples = arrived
    return stream, time, name, frozenset((s, p, doubled(o)) for s, p, o in triples)


def doubled(term: Term) -> Term:
    if isinstance(term, Literal) and term.lexical in DOUBLES:
        return Literal(DOUBLES[term.lexical], XSD + "double")
    return term
