"""The random pairs: what the script compares, and that it finds a difference and says what it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from spaseq.outputs.rows import Row
from tests import pairs
from tests.constructs import constructs
from tests.driving import run_engine
from tests.pairs import EVALUATORS, KNOWN, Shares, Tally, compare
from tests.random_pairs import Pair, drawn
from tests.shrinking import smallest

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


def test_kinds_of_queries_that_an_evaluator_takes_rarely_are_known_after_some_pairs() -> None:
    shares = Shares()
    for _ in range(KNOWN - 1):
        shares.add(0, ["runs"])
        shares.add(1, ["runs", "cea"])
    assert not shares.rare(0, "cea")
    shares.add(0, ["runs"])
    assert shares.rare(0, "cea") and not shares.rare(0, "runs") and not shares.rare(0, "never taken")
    shares.add(0, ["cea"])
    assert not shares.rare(0, "cea")


def test_events_of_equal_batches_are_left_out_one_by_one() -> None:
    pair = next(p for number in range(100) if (p := drawn(1, number)) is not None and len(p.sizes) > 2)
    for number, event in enumerate(pair.arrived):
        less = pair.without(number)
        assert event not in less.arrived
        assert sum(less.sizes) == len(less.arrived) == len(pair.arrived) - 1


def test_constructs_are_counted_and_most_of_them_have_rows_in_few_pairs() -> None:
    tally = Tally()
    for number in range(120):
        pair = drawn(9, number)
        if pair is not None:
            rows = run_engine(pair.query, [pair.arrived], evaluator="nfa", reader=pair.reader)
            tally.add(len(rows), constructs(pair.query))
    assert tally.matched > tally.pairs * 0.4
    assert len(tally.having) >= 30, sorted(tally.having)
    assert {name for name, pairs in tally.having.items() if pairs > 15 and not tally.shown[name]} == set()
    assert len(tally.together) > 150


def test_a_difference_is_shown_without_the_clauses_that_it_does_not_need() -> None:
    pair = next(p for number in range(900) if (p := drawn(1, number)) and "AFTER MATCH" in p.query.text)

    def differs(less: Pair) -> bool:
        return bool(less.arrived) and "SEQ(" in less.query.text

    least = smallest(pair, differs)
    assert len(least.arrived) == 1 and "AFTER MATCH" not in least.query.text and "FILTER" not in least.query.text
