"""The matches that explanations look into are those of the reference."""

from __future__ import annotations

from spaseq.runtime.why.reasons import absences, matches_of, steps_taken
from tests.driving import comparable, run_engine
from tests.random_pairs import drawn, expected_rows
from tests.why_evidence import evidence_of
from tests.why_pairs import check_matches, checked, merged_events

PAIRS = 72
ROWS = 2
"""Rows of a pair that are looked at."""


def test_complete_runs_that_are_matches_are_the_matches_of_the_reference() -> None:
    assert checked(check_matches, 11, range(PAIRS))["matches"] > PAIRS
    assert checked(check_matches, 41, (552,)), "a partition of a blank node"


def test_a_step_does_not_bind_the_variables_of_using_again() -> None:
    """A FILTER of the match that has been decided in one iteration is not decided in one that binds none of it."""
    assert checked(check_matches, 104, (515,))["matches"] == 3
    pair = drawn(104, 515)
    assert pair is not None
    rows = [comparable(row) for row in run_engine(pair.query, [pair.arrived])]
    assert rows == expected_rows(pair) and len(rows) == 2


def test_every_row_is_found_again_with_its_events_and_values() -> None:
    seen = 0
    for number in range(PAIRS // 2):
        pair = drawn(12, number)
        if pair is None or pair.query.over_matches:
            continue
        evidence = evidence_of(pair.query, merged_events(pair))
        for row in run_engine(pair.query, [pair.arrived])[:ROWS]:
            first = next(matches_of(evidence, row))
            steps = steps_taken(evidence, first)
            for name, events in row.events:
                assert tuple(dict.fromkeys(step.event for step in steps if step.step == name)) == events
            assert all(condition.holds for step in steps for condition in step.conditions)
            assert all(absent.start <= absent.end for absent in absences(evidence, first))
            seen += 1
    assert seen > PAIRS // 6
