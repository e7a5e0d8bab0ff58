"""Runs meet the events of their window only, however many come in one slice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from automata.chains import bindings
from automata.chains.table import RunView
from automata.plan.plan import PlannedEdge, compile_plan
from automata.plan.program import Window
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.slices.pairs import Pairs
from automata.slices.step_table import StepTable
from automata.values import Mask
from benchmarks.lazy_patterns import patterns, stream

EVENTS, SIZE = 1200, 20


@pytest.mark.parametrize("in_events", [False, True])
def test_candidates_grow_with_the_window_not_with_the_stretch(in_events: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, met = patterns(SIZE)[0], []
    fits = bindings.fits

    def counting(runs: RunView, edge: PlannedEdge, table: StepTable, candidates: Pairs) -> Mask:
        met.append(len(candidates))
        return fits(runs, edge, table, candidates)

    monkeypatch.setattr(bindings, "fits", counting)
    program = replace(pattern.program, window=Window(SIZE, in_events, True))
    events = stream([(1, 1, 1, 1)], EVENTS, seed=1)
    found = []
    for batch in (EVENTS, SIZE):
        evaluator = RunEvaluator(compile_plan(program), pattern.condition_evaluator)
        met.clear()
        stretches = [events.batch(at, at + batch) for at in range(0, EVENTS, batch)]
        found.append([(m.first, m.last, m.registers) for slice_ in stretches for m in evaluator.on_batch(*slice_)])
        assert sum(met) < 3 * evaluator.operations
    assert found[0] == found[1] != []
