"""Selection strategies and AFTER MATCH, against their definitions (B Section 4, specification 3.4)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from automata.matches.selection import AfterMatch, Candidate, report_order, select
from automata.plan.program import Selector, Skip
from automata.values import Match

LAST = 6


def candidate(positions: frozenset[int]) -> Candidate:
    ordered = sorted(positions)
    entries = tuple((0, position, 0) for position in ordered)
    match = Match(entries, (), (), ordered[0], ordered[-1], ordered[0], ordered[-1], 0)
    return Candidate(match, positions, ordered[-1] - ordered[0] + 1 == len(ordered), ordered[-1])


def groups() -> st.SearchStrategy[list[Candidate]]:
    """Complex events that end at one position."""
    events = st.frozensets(st.integers(0, LAST - 1)).map(lambda before: before | {LAST})
    return st.lists(events, min_size=1, max_size=6, unique=True).map(lambda found: [candidate(e) for e in found])


def kept(selector: Selector, group: list[Candidate]) -> set[frozenset[int]]:
    return {chosen.positions for chosen in select(selector, group)}


@given(groups())
def test_next_and_last_are_decided_by_the_outermost_difference(group: list[Candidate]) -> None:
    events = {c.positions for c in group}
    for selector, decisive in ((Selector.NEXT, min), (Selector.LAST, max)):
        expected = {e for e in events if all(decisive(e ^ other) in e for other in events if other != e)}
        assert kept(selector, group) == expected
        assert len(expected) == 1


@given(groups())
def test_max_keeps_what_no_other_contains(group: list[Candidate]) -> None:
    events = {c.positions for c in group}
    assert kept(Selector.MAX, group) == {e for e in events if not any(e < other for other in events)}


@given(groups())
def test_strict_keeps_intervals_and_all_keeps_all(group: list[Candidate]) -> None:
    events = {c.positions for c in group}
    assert kept(Selector.STRICT, group) == {e for e in events if max(e) - min(e) + 1 == len(e)}
    assert kept(Selector.ALL, group) == events


def anything() -> st.SearchStrategy[list[Candidate]]:
    events = st.frozensets(st.integers(0, 8), min_size=1, max_size=4)
    found = st.lists(events, max_size=8, unique=True).map(lambda chosen: [candidate(e) for e in chosen])
    return found.map(lambda candidates: sorted(candidates, key=report_order))


@given(anything())
def test_after_match_drops_what_an_earlier_reported_match_forbids(matches: list[Candidate]) -> None:
    for skip, forbids in (
        (Skip.TO_NEXT, lambda one, other: one.first == other.first),
        (Skip.PAST_LAST, lambda one, other: other.first <= one.last),
        (Skip.TO_FIRST, lambda one, other: other.first < min(p for symbol, p, _ in one.entries if symbol == 0)),
        (Skip.TO_LAST, lambda one, other: other.first < max(p for symbol, p, _ in one.entries if symbol == 0)),
    ):
        reported: list[Match] = []
        for found in matches:
            if not any(forbids(earlier, found.match) for earlier in reported):
                reported.append(found.match)
        assert [c.match for c in AfterMatch(skip, 0).admit(matches)] == reported


@given(anything())
def test_consume_all_lets_no_match_reach_back_over_a_trigger(matches: list[Candidate]) -> None:
    triggers: set[int] = set()
    expected = []
    for found in matches:
        if not any(found.match.first <= trigger < found.match.last for trigger in triggers):
            triggers.add(found.match.last)
            expected.append(found.match)
    assert [c.match for c in AfterMatch(Skip.CONSUME_ALL).admit(matches)] == expected


@given(anything(), st.integers(0, 8))
def test_what_after_match_forgets_no_longer_matters(matches: list[Candidate], before: int) -> None:
    early = [c for c in matches if c.match.last < before]
    late = [c for c in matches if c.match.first >= before]
    for skip in Skip:
        remembering, forgetting = AfterMatch(skip, 0), AfterMatch(skip, 0)
        remembering.admit(early)
        forgetting.admit(early)
        forgetting.forget(before)
        assert forgetting.admit(late) == remembering.admit(late)
