"""A match that is reached in several ways is one, seen by the first of them: by place, then inner iterations first."""

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
TWICE = ["(P0? : P0+){2}", "(P0 | (P0 : P0)):{1,3}", "P0:{2,3} : P0?", "P0:{2,3} : P0? : N1!"]
SELECTIONS = {"": "", "MAX": "AFTER MATCH SKIP TO NEXT EVENT"}
HEAD = """PREFIX : <http://ex.org/>
SELECT ?k (PREV(?k) AS ?before) (COUNT(?k) AS ?n) (FIRST(?k) AS ?first) WITHIN 8 SECONDS FROM STREAM S1 <http://ex.org/s1>
WHERE { SEQ(%s) DEFINE GPM P0 ON S1 { ?s a :A ; :k ?k } DEFINE GPM N1 ON S1 { ?t a :B ; :k ?k } }"""


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_all_batches_see_the_first_way(sequence: str) -> None:
    assert check(sequence, HEAD % sequence)


@pytest.mark.parametrize("selector", SELECTIONS)
@pytest.mark.parametrize("sequence", TWICE)
def test_all_batches_see_the_first_way_where_a_step_is_written_twice(sequence: str, selector: str) -> None:
    assert check(sequence, (HEAD % sequence).replace("SELECT", f"SELECT {selector}") + SELECTIONS[selector])


def check(sequence: str, text: str) -> int:
    """Compares rows in several batchings with those of the reference, and returns their number."""
    found = 0
    for seed in range(8):
        dice = SeededDice(Random(f"{sequence} {seed}"))
        query = parse(text, "q")
        arrivals = {"S1": drawn_streams(dice)["S1"]}
        expected = Counter(map(comparable, evaluate(query, arrivals)))
        found += len(expected)
        arrived = interleaved(arrivals)
        for pieces in ([arrived], [[each] for each in arrived], batches(arrived, drawn_cuts(dice, len(arrived)))):
            assert Counter(map(comparable, run_engine(query, pieces))) == expected, seed
    return found
