"""The edges that runs have taken under skip-till-next, where a position has more of them than a column has bits."""

from __future__ import annotations

from random import Random

import pytest

from automata.chains import table
from automata.chains.table import Layout
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.physical.program import compile_program
from tests import pairs
from tests.pairs import Pair, Tally, compare, difference, expected_rows, shown
from tests.restarted_pairs import run_restarted
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import drawn_cuts, drawn_streams

BITS = 2
PAIRS = 60
SEQUENCES = (
    "A ; M0? ; M1? ; M2? ; M3? ; M4",
    "A , M0? ; M1? ; M2? ; M3? ; M4?",
    "A : M0? ; M1? ; M2? , M3? : M4?",
    "A ; (M0 | M1 | M2 | M3) ; M4?",
    "A ; (M0 | M1 | M2 | M3):{1,3} ; M4",
    "A ; (M0? ; M1? ; M2 ; M3?);{1,3} ; M4?",
    "ALL(A, (M0 ; M1? ; M2? ; M3? ; M4))",
    "ALL((A ; M0? ; M1? ; M2? ; M3), M4) : M2",
    "(A & M0) ; M1? ; M2? ; M3? ; M4?",
    "A ; M0! ; M1? ; M2? ; M3? ; M4",
)


@pytest.fixture(autouse=True)
def few_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CLOSED_BITS", BITS)


def drawn_pair(number: int) -> Pair:
    dice = SeededDice(Random(f"closed edges {number}"))
    sequence = SEQUENCES[number % len(SEQUENCES)]
    key, value = ("?x :k ?k .", "") if dice.chance(50) else ("", "FILTER(?v%d >= ?vA)")
    defines = " ".join(
        f"DEFINE GPM M{n} ON S1 {{ ?x{n} a :{dice.pick('A', 'B', 'C')} ; :v ?v{n} . {key.replace('?x', f'?x{n}')} "
        f"{value % n if value and n in (1, 3) else ''} }}"
        for n in range(5)
    )
    window = dice.pick("8 SECONDS SLIDING", "10 SECONDS", "6 EVENTS SLIDING")
    text = (
        f"PREFIX : <http://ex.org/> SELECT * WITHIN {window} FROM STREAM S1 <http://ex.org/s1> WHERE {{ "
        f"SEQ({sequence}) DEFINE GPM A ON S1 {{ ?x a :A ; :v ?vA . {key} }} {defines} }}"
    )
    arrived = tuple(("S1", *event) for event in drawn_streams(dice, 6, 10)["S1"])
    sizes = tuple(drawn_cuts(dice, len(arrived))) if dice.chance(60) else (len(arrived),)
    return Pair(parse(text, "q"), arrived, sizes)


@pytest.mark.parametrize("restarted", [False, True])
def test_runs_with_several_columns_of_closed_edges_equal_the_reference(
    monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:

    if restarted:
        monkeypatch.setattr(pairs, "run_engine", run_restarted)
    columns, rows = 0, 0
    for number in range(PAIRS):
        pair = drawn_pair(number)
        columns += len(Layout.of(compile_program(build(pair.query)).plan).closed)
        expected = expected_rows(pair)
        rows += len(expected)
        assert not difference("runs", pair, expected), f"pair {number}:\n{shown(pair)}"
    assert columns > 2 * PAIRS and rows > PAIRS


def test_the_usual_pairs_equal_the_reference_with_few_bits() -> None:
    assert compare({"runs": Tally()}, 60, 13, 0) is None
