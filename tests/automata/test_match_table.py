"""Matches in columns: put in order as they are one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from automata.matches.match_table import MatchTable, in_order
from automata.matches.selection import Candidate, report_order
from automata.values import Match

ENTRIES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(0, 1)), min_size=1, max_size=4)
ALIKE = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 5), st.integers(0, 1)), min_size=3, max_size=3, unique_by=lambda e: e[1]
)
"""Entries of matches that have as many of them, each of another event."""
MATCHES = st.one_of(st.lists(ENTRIES.map(lambda e: _match(e)), max_size=12), st.lists(ALIKE.map(lambda e: _match(e))))


def _match(entries: list[tuple[int, int, int]]) -> Match:
    taken = tuple(sorted(set(entries), key=lambda entry: (entry[1], entry[0], entry[2])))
    first, last = taken[0][1], taken[-1][1]
    return Match(taken, (first, 7), (last,), first, last, 10 * first, 10 * last, 3)


def _table(matches: list[Match]) -> MatchTable:
    facts = [(m.first, m.last, m.start, m.time, m.partition) for m in matches]
    entries = [entry for match in matches for entry in match.entries]
    columns = (facts, 5), ([m.registers for m in matches], 2), ([m.outputs for m in matches], 1), (entries, 3)
    ends = np.cumsum([len(match.entries) for match in matches], dtype=np.int64)
    return MatchTable(*(np.array(rows, dtype=np.int64).reshape(-1, width) for rows, width in columns), ends)


def _key(match: Match) -> tuple[object, ...]:
    return report_order(Candidate(match, frozenset(position for _, position, _ in match.entries), False, (0,)))


def _far_apart(match: Match) -> Match:
    """The same where positions take so many bits that those of a match do not fit into a number."""
    return _match([(symbol, position << 40, solution) for symbol, position, solution in match.entries])


@given(MATCHES, st.booleans())
def test_a_table_is_put_in_report_order_and_holds_each_match_once(matches: list[Match], far: bool) -> None:
    matches = list(map(_far_apart, matches)) if far else matches
    assert list(_table(matches)) == matches == [_table(matches)[number] for number in range(len(matches))]
    distinct = {match.entries: match for match in reversed(matches)}
    first_found = [match for match in matches if distinct.pop(match.entries, None) is not None]
    assert list(in_order(_table(matches))) == sorted(first_found, key=_key)


@given(MATCHES)
def test_a_table_tells_matches_of_the_same_events(matches: list[Match]) -> None:
    steps = [[entry[:2] for entry in match.entries] for match in matches]
    expected = [number > 0 and steps[number] == steps[number - 1] for number in range(len(steps))]
    assert _table(matches).like_previous().tolist() == expected


@given(MATCHES.filter(bool), MATCHES)
def test_tables_are_joined_and_taken_from_by_match(first: list[Match], second: list[Match]) -> None:
    joined = MatchTable.concatenate([_table(first), _table(second)])
    assert list(joined) == first + second
    rows = np.arange(len(joined), dtype=np.int64)[::-2]
    assert list(joined.take(rows)) == (first + second)[::-2]
