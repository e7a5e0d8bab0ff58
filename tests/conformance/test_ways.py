"""A match that is reached in several ways is one, seen by the first of them: inner iterations before outer ones."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from spaseq.lang.parse import parse
from tests.driving import comparable, run_engine
from tests.reference.api import evaluate
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import batches, drawn_cuts, drawn_streams, interleaved

SEQUENCES = ["(P0+ ; N1!){2}", "(P0+ ; N1!)+", "(P0:{1,2} : N1!):{2,3}", "((P0 : P0?)+ ; N1!)+", "((P0+)+ ; N1!){1,2}"]
HEAD = """PREFIX : <http://ex.org/>
SELECT ?k (PREV(?k) AS ?before) (COUNT(?k) AS ?n) (FIRST(?k) AS ?first) WITHIN 8 SECONDS FROM STREAM S1 <http://ex.org/s1>
WHERE { SEQ(%s) DEFINE GPM P0 ON S1 { ?s a :A ; :k ?k } DEFINE GPM N1 ON S1 { ?t a :B ; :k ?k } }"""


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_all_batches_see_the_first_way(sequence: str) -> None:
    found = 0
    for seed in range(8):
        dice = SeededDice(Random(f"{sequence} {seed}"))
        query = parse(HEAD % sequence, "q")
        arrivals = {"S1": drawn_streams(dice)["S1"]}
        expected = Counter(map(comparable, evaluate(query, arrivals)))
        found += len(expected)
        arrived = interleaved(arrivals)
        for pieces in ([arrived], [[each] for each in arrived], batches(arrived, drawn_cuts(dice, len(arrived)))):
            assert Counter(map(comparable, run_engine(query, pieces))) == expected, seed
    assert found
