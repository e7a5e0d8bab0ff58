"""The rows that are there by now are the same however events were batched, not only those of a whole stream."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from spaseq.lang.parse import parse
from tests.driving import comparable, run_engine
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import SECOND, batches, drawn_cuts, drawn_streams, interleaved

SEQUENCES = (
    "P0+ ; N1! ; P2?",
    "P0 ; N1!",
    "P0+ : N1!",
    "P0 ; P2? ; N1!",
    "P0 ; (N1 ; N1)! ; P2?",
    "P0++ ; P2?",
    "N1! ; P0 ; P2?",
)
SELECTIONS = ("", "AFTER MATCH SKIP TO NEXT EVENT", "AFTER MATCH CONSUME ALL", "AFTER MATCH SKIP PAST LAST EVENT")
QUERY = """PREFIX : <http://ex.org/>
SELECT * WITHIN %s FROM STREAM S1 <http://ex.org/s1>
WHERE { SEQ(%s) DEFINE GPM P0 ON S1 { ?s a :A ; :k ?k } DEFINE GPM N1 ON S1 { ?t a :C ; :k ?k }
  DEFINE GPM P2 ON S1 { ?r a :B ; :k ?k } } %s"""
TIED = 6
"""So many seconds become one instant: what is decided then may be several matches, by several events."""


@pytest.mark.parametrize("window", ["4 EVENTS", "4 EVENTS STARTING AT 1", "3 EVENTS SLIDING", "2 SECONDS SLIDING"])
def test_rows_by_now_do_not_depend_on_batches(window: str) -> None:
    found = 0
    for seed in range(25):
        dice = SeededDice(Random(f"{window} {seed}"))
        within = window + (" PARTITION BY ?k" if dice.chance(30) else "")
        query = parse(QUERY % (within, dice.pick(*SEQUENCES), dice.pick(*SELECTIONS)), "q")
        arrived = interleaved({"S1": drawn_streams(dice, 6, 16)["S1"]})
        arrived = [(name, time // (TIED * SECOND) * SECOND, *event) for name, time, *event in arrived]
        each, cut = [[event] for event in arrived], batches(arrived, drawn_cuts(dice, len(arrived)))
        alone, *others = (
            Counter(map(comparable, run_engine(query, pieces, evaluator="nfa", compiled=False, few=few, finish=False)))
            for pieces, few in ((each, 1), ([arrived], 1), ([arrived], len(arrived)), (cut, 1))
        )
        assert others == len(others) * [alone], seed
        found += sum(alone.values())
    assert found
