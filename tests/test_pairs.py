"""The random pairs: what the script compares, and that it finds a difference and says what it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from spaseq.outputs.rows import Row
from tests import pairs
from tests.driving import run_engine
from tests.pairs import EVALUATORS, Tally, compare, drawn

FEW = 12


def test_a_few_pairs_of_each_evaluator_equal_the_reference() -> None:
    tallies = {name: Tally() for name in EVALUATORS}
    assert compare(tallies, FEW, 5, 0) is None
    assert {tally.pairs for tally in tallies.values()} == {FEW}
    assert all(tally.matched for tally in tallies.values()), tallies


def test_a_number_stands_for_one_pair() -> None:
    assert drawn(3, 42) == drawn(3, 42) != drawn(4, 42)


def test_an_evaluator_that_loses_rows_is_found_with_only_the_events_that_show_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forgetful(*arguments: Any, **options: Any) -> Sequence[Row]:
        return run_engine(*arguments, **options)[1:]

    monkeypatch.setattr(pairs, "run_engine", forgetful)
    tallies = {"runs": Tally()}
    found = compare(tallies, 50, 1, 0)
    assert found is not None and found.startswith("runs, pair ")
    (missing,) = [line for line in found.splitlines() if line.startswith("- (")]
    assert found.count("generatedAtTime") < 5 and "<urn:e" in found and "urn:e" in missing


def test_events_of_equal_batches_are_left_out_one_by_one() -> None:
    pair = next(p for number in range(100) if (p := drawn(1, number)) is not None and len(p.sizes) > 2)
    for number, event in enumerate(pair.arrived):
        less = pair.without(number)
        assert event not in less.arrived
        assert sum(less.sizes) == len(less.arrived) == len(pair.arrived) - 1
