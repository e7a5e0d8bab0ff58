"""Evaluators that are exchanged at random while a program runs, against one that runs from beginning to end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from automata.adaptive.adaptive_evaluator import AdaptiveEvaluator, why_not_adaptive
from automata.lazy.lazy_evaluator import LazyEvaluator, TreeEvaluator
from automata.plan.expression import Contiguity, Negation, Sequence, Step
from automata.plan.plan import compile_plan
from automata.plan.program import ConditionEvaluator, Program, Selector, Skip, Symbol, Window
from automata.protocol import Evaluator, RowEvaluator
from automata.runs.columns.negated_groups import NegatedGroups
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.runs.rows.live_evaluator import has_row_form, runs_of
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids, Match
from tests.automata.test_lazy import Stretches
from tests.drawn import drawn
from tests.strategies.lazy import AtMost, lazy_programs, lazy_streams

PAIRS = drawn(100)
WINDOWS = (
    Window(2, False, True),
    Window(3, False, True),
    Window(4, False, False),
    Window(4, False, False, start=2, anchored=True),
    Window(3, True, True),
    Window(4, True, False),
)
"""Small beside the streams: exchanged in the middle, an evaluator takes over after two windows."""
NAMES = ("nfa", "lazy", "tree")


class Moody:
    """Now this evaluator, now that."""

    observes = True

    def __init__(self, random: Random, steadiness: float, names: tuple[str, ...] = NAMES) -> None:
        self._random = random
        self._names = names
        self._steadiness = steadiness
        self._mood = "nfa"

    def observe(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> None: ...

    def skip(self, gap: Gap) -> None: ...

    def wanted(self, current: str, alone: bool, operations: int) -> tuple[str, str]:
        if self._random.random() >= self._steadiness:
            self._mood = self._random.choice(self._names)
        return self._mood, "a mood"

    def live_ids(self) -> list[Ids]:
        return []

    def snapshot(self) -> dict[str, Any]:
        """With what tells the policy in whose place it is (`spaseq.physical.going_on`)."""
        if set(self._names) <= set(NAMES):
            return {"mood": self._mood}
        return {"mood": self._mood, "slices": 0, "other": {} if len(self._names) > 2 else None}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._mood = state["mood"]


def moody(
    program: Program, condition_evaluator: ConditionEvaluator, random: Random, steadiness: float
) -> AdaptiveEvaluator:
    makers = {
        "nfa": lambda: runs_of(compile_plan(program), condition_evaluator),
        "lazy": lambda: LazyEvaluator(compile_plan(program), condition_evaluator, NegatedGroups),
        "tree": lambda: TreeEvaluator(compile_plan(program), condition_evaluator, NegatedGroups),
    }
    return AdaptiveEvaluator(compile_plan(program), makers, random.choice(NAMES), Moody(random, steadiness))


def reported(evaluator: Evaluator, stretches: Stretches) -> list[tuple[object, ...]]:
    """All matches in the order of their report; numbers of partitions and solutions are opaque."""
    matches: list[Match] = []
    for events, solutions in stretches:
        if len(events) == 1 and isinstance(evaluator, RowEvaluator) and evaluator.prefers_rows():
            matches += evaluator.on_event(int(events.times[0]), int(events.streams[0]), in_rows(solutions))
        else:
            matches += evaluator.on_batch(events, solutions)
        matches += evaluator.on_watermark(int(events.times[-1]))
    matches += evaluator.finish()
    plain = [m._replace(partition=0, entries=tuple((s, p, 0) for s, p, _ in m.entries)) for m in matches]
    return [(match.last, match.first, match.entries, match.registers, match.outputs) for match in plain]


def in_rows(solutions: Mapping[int, SymbolSolutions]) -> dict[int, list[tuple[int, ...]]]:
    """The solutions of one event, those of symbols that have any, in ascending order of their variables."""
    tables = {symbol: [table.values[v].tolist() for v in sorted(table.values)] for symbol, table in solutions.items()}
    return {symbol: list(zip(*columns, strict=True)) for symbol, columns in tables.items() if columns[0]}


def long_streams(data: st.DataObject, program: Program) -> Stretches:
    """Several windows of events."""
    found: list[tuple[Events, dict[int, SymbolSolutions]]] = []
    time = 0
    for _ in range(data.draw(st.integers(1, 4))):
        for events, solutions in data.draw(lazy_streams(program)):
            found.append((Events(events.times + time, events.streams), solutions))
        time = int(found[-1][0].times[-1]) + data.draw(st.sampled_from([0, 1, 1, 3]))
        if compile_plan(program).whole_slots:
            time += 1
    return found


@given(st.data())
@settings(max_examples=PAIRS)
def test_no_match_is_lost_doubled_or_moved_when_evaluators_are_exchanged(data: st.DataObject) -> None:
    program, condition_evaluator = data.draw(lazy_programs())
    program = replace(program, window=data.draw(st.sampled_from(WINDOWS)))
    assume(why_not_adaptive(compile_plan(program)) is None)
    stretches = long_streams(data, program)
    random = Random(data.draw(st.integers(0, 1000)))
    steadiness = data.draw(st.sampled_from([0.5, 0.9]))
    expected = reported(RunEvaluator(compile_plan(program), condition_evaluator), stretches)
    actual = reported(moody(program, condition_evaluator, random, steadiness), stretches)
    assert sorted(map(repr, actual)) == sorted(map(repr, expected))


@given(st.data())
@settings(max_examples=PAIRS)
def test_runs_take_events_that_come_alone_as_they_take_batches(data: st.DataObject) -> None:
    program, condition_evaluator = data.draw(lazy_programs())
    assume(has_row_form(compile_plan(program)))
    stretches = long_streams(data, program)
    actual, expected = (
        reported(make(compile_plan(program), condition_evaluator), stretches) for make in (runs_of, RunEvaluator)
    )
    assert sorted(map(repr, actual)) == sorted(map(repr, expected))


class ThenLazy(Moody):
    """Lazy, once two slices have been seen."""

    seen = 0

    def observe(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> None:
        self.seen += 1

    def wanted(self, current: str, alone: bool, operations: int) -> tuple[str, str]:
        return ("lazy" if self.seen > 1 else "nfa"), "seen"


def test_a_match_whose_window_passes_while_nothing_comes_is_reported_by_the_evaluator_that_knows_it() -> None:
    """The first event waits for the end of its window, in a gap in which the newcomer becomes old enough."""
    symbols = tuple(Symbol(name, frozenset({n}), frozenset({n}), frozenset({0})) for n, name in enumerate("AB"))
    sequence = Sequence((Step(0), Negation(Step(1))), (Contiguity.ANY,))
    window = Window(3, False, True)
    program = Program(sequence, symbols, 2, (), window, (), Selector.ALL, Skip.NO_SKIP, (), 1)
    none, one = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    a, b = SymbolSolutions(one, {0: one + 7}), SymbolSolutions(none, {1: none})
    nothing = SymbolSolutions(none, {0: none})
    condition_evaluator = AtMost(())
    makers = {
        "nfa": lambda: RunEvaluator(compile_plan(program), condition_evaluator),
        "lazy": lambda: LazyEvaluator(compile_plan(program), condition_evaluator, NegatedGroups),
    }
    evaluator = AdaptiveEvaluator(compile_plan(program), makers, "nfa", ThenLazy(Random(0), 1.0))
    found: list[Match] = []
    for time, some in ((0, a), (1, nothing), (2, nothing), (10, nothing)):
        found += evaluator.on_batch(Events(np.array([time]), one), {0: some, 1: b})
    assert evaluator.name == "lazy"
    assert [match.first for match in found] == [0]
