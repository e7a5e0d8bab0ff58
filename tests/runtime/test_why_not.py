"""The attempts of why-not are the partial matches of the reference that come furthest, and their causes are true."""

from __future__ import annotations

from tests.why_pairs import check_furthest, check_repaired, checked

PAIRS = 40
"""Random pairs; `make thorough` has thousands."""


def test_the_attempts_are_the_partial_matches_of_the_reference_that_come_furthest() -> None:
    assert checked(check_furthest, 31, range(PAIRS))["furthest"] > PAIRS // 6
    assert checked(check_furthest, 2, (6,))["furthest"], "a search that ends early"


def test_an_attempt_goes_further_once_its_causes_are_repaired() -> None:
    seen = checked(check_repaired, 32, range(PAIRS))
    assert {"window", "condition", "pattern", "end", "order"} <= seen.keys(), seen


def test_causes_of_rare_pairs_are_true() -> None:
    """Steps at one time of which each event lacks something; an absence within what is absent; no partition at all.

    A join whose repair makes a condition false; a part of FILTER(a && b); a condition that kept others from being
    nearer; a step that binds another term than its partition; an event that is to come later than its window allows.
    """
    rare = {2: (175,), 6: (663, 1447), 35: (111, 239), 36: (37, 99, 221, 249), 41: (1360, 1926), 44: (439,)}
    for seed, numbers in rare.items():
        for number in numbers:
            assert checked(check_repaired, seed, (number,)), (seed, number)
