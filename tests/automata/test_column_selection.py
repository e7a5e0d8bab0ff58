"""Selection in columns: as that of values, and without a value for each match."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.matches import match_table
from automata.matches.column_selection import selected
from automata.matches.match_table import MatchTable
from automata.matches.selection import Candidate, candidate_of, select
from automata.plan.expression import Contiguity, Repetition, Sequence, Step
from automata.plan.plan import compile_plan
from automata.plan.program import ConditionEvaluator, Program, Selector, Skip, Symbol, Window
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.slices.events import Events, SymbolSolutions
from automata.values import Match

POSITIONS = st.frozensets(st.integers(0, 6), min_size=1, max_size=5)
FOUND = st.lists(st.tuples(POSITIONS, st.integers(0, 1), st.integers(0, 1)), max_size=12)
NOTHING: frozenset[int] = frozenset()


def _match(positions: frozenset[int], partition: int, symbol: int) -> Match:
    places = sorted(positions)
    entries = tuple((symbol if n == 0 else 2, position, 0) for n, position in enumerate(places))
    return Match(entries, (), (), places[0], places[-1], places[0], places[-1], partition)


def _table(matches: list[Match]) -> MatchTable:
    facts = np.array([match[3:8] for match in matches], dtype=np.int64).reshape(-1, 5)
    entries = np.array([entry for match in matches for entry in match.entries], dtype=np.int64).reshape(-1, 3)
    none, ends = (
        np.zeros((len(matches), 0), dtype=np.int64),
        np.cumsum([len(m.entries) for m in matches], dtype=np.int64),
    )
    return MatchTable(facts, none, none, entries, ends)


@given(FOUND, st.sampled_from(Selector))
def test_columns_keep_the_matches_that_values_keep(found: list[tuple[frozenset[int], int, int]], by: Selector) -> None:
    matches = [_match(*one) for one in found]
    groups: dict[tuple[int, int], list[Candidate]] = {}
    for match in matches:
        ranks = match.last - match.first + 1
        groups.setdefault((match.partition, match.last), []).append(candidate_of(match, ranks))
    expected = {id(candidate.match) for group in groups.values() for candidate in select(by, group)}
    ranks = np.array([match.last - match.first + 1 for match in matches], dtype=np.int64)
    table = selected(_table(matches), by, ranks)
    assert table is not None or len(matches) > 1
    if table is not None:
        assert list(table) == [match for match in matches if id(match) in expected]


def test_a_match_that_takes_an_event_twice_is_left_to_values() -> None:
    twice = Match(((0, 3, 0), (1, 3, 0)), (), (), 3, 3, 3, 3, 0)
    assert selected(_table([twice, twice]), Selector.MAX) is None


@pytest.mark.parametrize("selector", Selector)
@pytest.mark.parametrize("repeated", [False, True])
def test_no_match_becomes_a_value(selector: Selector, repeated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(*_: Any) -> None:
        raise AssertionError

    symbols = tuple(Symbol(name, NOTHING, NOTHING, frozenset({0})) for name in "ABC")
    middle = Repetition(Step(1), 1, 3, Contiguity.ANY) if repeated else Step(1)
    sequence = Sequence((Step(0), middle, Step(2)), (Contiguity.ANY, Contiguity.ANY))
    window = Window(12, in_events=False, sliding=True)
    program = Program(sequence, symbols, 0, (), window, (), selector, Skip.NO_SKIP, (), 1)
    conditions: ConditionEvaluator = None  # type: ignore[assignment]
    runs = RunEvaluator(compile_plan(program), conditions)
    monkeypatch.setattr(match_table, "Match", made)
    found = 0
    for begin in range(0, 300, 60):
        at = np.arange(60, dtype=np.int64)
        solved = {symbol: SymbolSolutions(at[symbol::3], {}) for symbol in range(3)}
        found += len(runs.on_batch(Events(begin + at, np.zeros(60, dtype=np.int64)), solved))
    assert found > 90
