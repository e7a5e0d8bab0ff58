"""Wide windows: what a slice does not touch costs nothing, told by the runs that are looked at, not by time."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from automata.chains import active_runs, columns, store
from automata.chains.sorted_runs import SortedRuns
from automata.plan.expression import Contiguity, Sequence, Step
from automata.plan.plan import compile_plan
from automata.plan.program import ConditionEvaluator, Program, Selector, Skip, Symbol, Window
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.runs.rows import live_evaluator
from automata.runs.rows import store as row_store
from automata.runs.rows.conditions import RowConditionEvaluator
from automata.runs.rows.live_evaluator import LiveRunEvaluator
from automata.slices.events import Events, SymbolSolutions
from automata.values import NONE
from tests import pairs
from tests.pairs import difference
from tests.random_pairs import drawn, expected_rows, shown
from tests.restarted_pairs import run_restarted

KEYS, BATCH = 2000, 100
NO_CONDITION: ConditionEvaluator = None  # type: ignore[assignment]
NO_ROW_CONDITION: RowConditionEvaluator = None  # type: ignore[assignment]


def evaluator(window: Window, operator: Contiguity, partitioned: bool) -> RunEvaluator:
    """Of A and B with one key."""
    key = frozenset({0})
    symbols = tuple(Symbol(name, key, key, frozenset({0})) for name in "AB")
    sequence = Sequence((Step(0), Step(1)), (operator,))
    partition = (0,) if partitioned else ()
    program = Program(sequence, symbols, 1, (), window, partition, Selector.ALL, Skip.NO_SKIP, (), 1)
    return RunEvaluator(compile_plan(program), NO_CONDITION)


def feed(runs: RunEvaluator, first: int, count: int, dice: Random, ends: float) -> None:
    """Events a second apart in batches; a share of them are B, whose key some A may have."""
    for begin in range(first, first + count, BATCH):
        kinds = np.array([dice.random() < ends for _ in range(BATCH)])
        keys = np.array([1 + dice.randrange(KEYS) for _ in range(BATCH)], dtype=np.int64)
        events = Events(np.arange(begin, begin + BATCH, dtype=np.int64), np.zeros(BATCH, dtype=np.int64))
        places = {0: np.flatnonzero(~kinds), 1: np.flatnonzero(kinds)}
        runs.on_batch(events, {symbol: SymbolSolutions(at, {0: keys[at]}) for symbol, at in places.items()})
        runs.oldest_position()


def looked_at(window: Window, operator: Contiguity, partitioned: bool, ends: float) -> tuple[float, int]:
    """The runs looked at for each event once the window is full, and those that are alive."""
    runs, dice = evaluator(window, operator, partitioned), Random(3)
    feed(runs, 0, 2 * window.size, dice, ends)
    before = sum(active.looked_at for active in runs.chains.active)
    feed(runs, 2 * window.size, 4000, dice, ends)
    return (sum(active.looked_at for active in runs.chains.active) - before) / 4000, len(runs.chains.active[1])


@pytest.mark.parametrize("in_events", [False, True])
def test_no_slice_looks_at_runs_that_it_neither_extends_nor_ends(in_events: bool) -> None:
    few, alive = looked_at(Window(1_500, in_events, sliding=True), Contiguity.NEXT, False, 0.002)
    many, more = looked_at(Window(12_000, in_events, sliding=True), Contiguity.NEXT, False, 0.002)
    assert more > 4 * alive > 4000
    assert many < 1.5 * few + 1


def test_runs_that_wait_for_the_next_event_of_their_partition_are_found_by_it() -> None:
    looked, alive = looked_at(Window(6_000, in_events=False, sliding=True), Contiguity.STRICT, True, 0.1)
    assert alive <= KEYS + 1
    assert looked < active_runs._UNSORTED_MAX / BATCH + 4


def test_a_window_leaves_no_run_behind() -> None:
    for in_events in (False, True):
        for sliding in (False, True):
            runs = evaluator(Window(3_000, in_events, sliding), Contiguity.ANY, False)
            feed(runs, 0, 12_100, Random(5), 0.0)
            assert runs.held is not None
            assert 12_100 - 2 * 3_000 <= runs.oldest_position() == runs.held.oldest_position(0)
            assert len(runs.held) <= 3_000 + 3_000 // 16 + BATCH
            runs = evaluator(Window(3_000, in_events, sliding), Contiguity.NEXT, False)
            feed(runs, 0, 12_100, Random(5), 0.0)
            rows = runs.chains.active[1].rows
            first = int(runs.chains.runs.column(rows, columns.FIRST).min())
            assert first >= 12_100 - 3_000 - 3_000 // 32 - BATCH
            assert runs.oldest_position() <= first
            assert runs.oldest_position() >= 12_100 - 2 * 3_000


def test_sorted_runs_are_found_by_their_numbers() -> None:
    dice = Random(7)
    for _ in range(60):
        index, known = SortedRuns(), dict[int, int]()
        for row in range(0, dice.randrange(80), 5):
            numbers = {row + n: dice.randrange(12) for n in range(dice.randrange(1, 6))}
            known |= numbers
            index.add(np.array(list(numbers.values())), np.array(list(numbers)))
            if dice.random() < 0.3:
                bound = dice.randrange(12)
                assert sorted(index.pop_below(bound)) == [r for r, n in known.items() if n < bound]
                known = {r: n for r, n in known.items() if n >= bound}
            if dice.random() < 0.3:
                standing = np.array([dice.random() < 0.7 for _ in range(100)])
                index.keep(standing)
                known = {r: n for r, n in known.items() if standing[r]}
        assert len(index) == len(known)
        wanted = sorted(dice.sample(range(12), 4))
        assert sorted(index.equal(np.array(wanted))) == [r for r, n in known.items() if n in wanted]
        assert sorted(index.at_least(wanted[0])) == [r for r, n in known.items() if n >= wanted[0]]
        gone = np.array([NONE if dice.random() < 0.5 else row + 100 for row in range(100)])
        index.renumber(gone)
        assert sorted(index.at_least(0)) == sorted(int(gone[row]) for row in known if gone[row] != NONE)


def test_single_events_after_batches_make_rows_of_the_runs_they_meet_alone() -> None:
    plan = evaluator(Window(1 << 40, in_events=False, sliding=True), Contiguity.NEXT, False).plan
    runs = LiveRunEvaluator(plan, NO_ROW_CONDITION)
    feed(runs, 0, 20_000, Random(3), 0.0)
    assert runs.prefers_rows()
    found = 0
    for second in range(20_000, 20_000 + 100):
        found += len(runs.on_event(second, 0, {second % 2: [(1 + second % KEYS,)]}))
    assert 300 < found < 1000
    made = dict.__len__(runs._rows._rows)
    assert made <= 2 * found + 100
    assert runs.oldest_position() == 0
    feed(runs, 20_100, 100, Random(4), 0.0)
    assert runs.prefers_rows()


@pytest.mark.parametrize("unread", [False, True])
def test_random_pairs_equal_the_reference_with_every_run_indexed(unread: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "COMPACT_MIN", 1)
    monkeypatch.setattr(active_runs, "_UNSORTED_MAX", 0)
    monkeypatch.setattr(active_runs, "_SCAN_FACTOR", 0)
    if unread:
        monkeypatch.setattr(row_store, "READ_MAX", 0)
        monkeypatch.setattr(live_evaluator, "READ_MAX", 0)
        monkeypatch.setattr(live_evaluator, "_NEW_MIN", 1)
    else:
        monkeypatch.setattr(pairs, "run_engine", run_restarted)
    rows = 0
    for number in range(24):
        pair = drawn(16, number)
        if pair is not None:
            expected = expected_rows(pair)
            rows += len(expected)
            assert not difference("runs", pair, expected), shown(pair)
    assert rows > 8
