"""Random pairs at both ends of the range of times, across powers of two and all over it, against the reference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

import spaseq
from spaseq.algebra.build import build
from spaseq.engine.job import Job
from tests import pairs
from tests.driving import comparable
from tests.pairs import EVALUATORS, Tally, applies, compare, difference
from tests.placed import PLACES, placed
from tests.random_pairs import TEXTS, Pair, drawn, expected_rows
from tests.restarted_pairs import run_restarted
from tests.strategies.stream import to_trig
from tests.why_pairs import PROPERTIES, checked

DELAYS_NS = (0, 10**9 * 86_400 * 100_000, 2**63 - 2)


def files(pair: Pair, folder: Path) -> dict[str, str]:
    """The streams of a pair as files."""
    paths = {stream.name: folder / f"{stream.name}.trig" for stream in pair.query.streams}
    for name, path in paths.items():
        path.write_text(to_trig(tuple(each[1:] for each in pair.arrived if each[0] == name)), encoding="utf-8")
    return {name: str(path) for name, path in paths.items()}


def check_pairs(evaluators: Sequence[str], count: int, seed: int) -> None:
    assert compare({name: Tally() for name in evaluators}, count, seed, 0, at=PLACES) is None


def check_restarted(evaluators: Sequence[str], count: int, seed: int) -> None:
    with patch.object(pairs, "run_engine", run_restarted):
        check_pairs(evaluators, count, seed)


def check_surface(count: int, seed: int, folder: Path) -> None:
    """Rows from files whatever the delay, the reasons of a row, or of none, and the funnel."""
    for number in range(count):
        pair = drawn(seed, number)
        if pair is None or pair.reader:
            continue
        pair = placed(pair, PLACES[number % len(PLACES)])
        streams, query, expected = files(pair, folder), pair.query, expected_rows(pair)
        rows = spaseq.run(query, streams, max_delay_ns=DELAYS_NS[number % len(DELAYS_NS)])
        assert sorted(map(repr, map(comparable, rows))) == sorted(map(repr, expected)), number
        job = Job([build(query)], streams, None, spaseq.RunOptions(analyze=True))
        found = sum(len(some) for some in job.rows())
        assert bool(job.zero_rows()) is (found == 0), number
        job.close()
        if not expected:
            assert spaseq.why_not(query, streams).matches == 0, number
        elif query.window.hop is None or not query.window.in_events:
            assert str(spaseq.why(query, streams, len(expected))), number


@pytest.mark.parametrize("number", [10, 14, 18, 33, 170, 193, 206, 222, 233, 245, 402, 404, 423, 430, 440, 450, 473])
def test_pairs_of_which_rows_were_lost_at_their_place_equal_the_reference(number: int) -> None:
    pair = drawn(1, number)
    assert pair is not None
    pair = placed(pair, PLACES[number // len(TEXTS) % len(PLACES)])
    expected = expected_rows(pair)
    for name in EVALUATORS:
        if applies(name, pair):
            assert difference(name, pair, expected) is None, name


def test_a_few_pairs_equal_the_reference_everywhere() -> None:
    check_pairs(["runs", "lazy"], len(PLACES), 3)


def test_evaluators_go_on_from_their_states_everywhere() -> None:
    check_restarted(["runs", "lazy", "tree"], len(PLACES) // 2, 2)


@pytest.mark.parametrize("name", PROPERTIES)
def test_reasons_are_true_everywhere(name: str) -> None:
    assert checked(PROPERTIES[name], 31, range(len(PLACES)), PLACES)


def test_rows_delays_reasons_and_funnels_are_the_same_everywhere(tmp_path: Path) -> None:
    check_surface(len(PLACES), 5, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_many_pairs_are_the_same_everywhere(seed: int, tmp_path: Path) -> None:
    check_pairs(list(EVALUATORS), 300, seed)
    check_restarted([name for name, tried in EVALUATORS.items() if not tried.later], 60, seed)
    check_surface(150, seed, tmp_path)
    for holds in PROPERTIES.values():
        checked(holds, seed, range(200), PLACES)
