"""Lazy chains and trees against run-based evaluation, on random programs, streams, slices and orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata.lazy.join import Bound
from automata.lazy.lazy_evaluator import LazyEvaluator, TreeEvaluator
from automata.plan.plan import compile_plan
from automata.protocol import Evaluator
from automata.runs.columns.negated_groups import NegatedGroups
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.slices import step_buffer
from automata.slices import step_table as steps
from automata.slices.events import Events, SymbolSolutions
from automata.values import Match
from tests.drawn import drawn
from tests.strategies.lazy import lazy_programs, lazy_streams

# Programs, split over the orders; fewer in the `ci` profile, which tries the whole engine on many more.
PAIRS = drawn(100)
Stretches = Sequence[tuple[Events, dict[int, SymbolSolutions]]]


class AnyPlan:
    """Any unit next, and another one at any time."""

    def __init__(self, units: int, random: Random) -> None:
        self._units = units
        self._random = random

    def observe(self, counts: Sequence[int], at_boundary: bool) -> None: ...

    def following(self, bound: Bound, current: int | None) -> int:
        if current is not None and self._random.random() < 0.5:
            return current
        return self._random.choice([unit for unit in range(self._units) if unit not in bound])


def found(evaluator: Evaluator, stretches: Stretches) -> Counter[Match]:
    """All matches; the number of a partition is opaque, its key is among the registers."""
    matches: list[Match] = []
    for events, solutions in stretches:
        matches += evaluator.on_batch(events, solutions)
        matches += evaluator.on_watermark(int(events.times[-1]))
    matches += evaluator.finish()
    return Counter(match._replace(partition=0) for match in matches)


@pytest.fixture(scope="module")
def smallest() -> Iterator[None]:
    """Every index and block as small as it can be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_buffer, "_TAIL_MAX", 0)
        patch.setattr(step_buffer, "_ROWS_INITIAL", 1)
        patch.setattr(steps, "_PAIRS_MAX", 16)
        yield


@pytest.mark.usefixtures("smallest")
@given(st.data())
@settings(max_examples=PAIRS // 2)
def test_any_order_changed_at_any_time_gives_the_matches_of_runs(data: st.DataObject) -> None:
    program, condition_evaluator = data.draw(lazy_programs())
    stretches = data.draw(lazy_streams(program))
    seed = data.draw(st.integers(0, 1000))
    plan = compile_plan(program)
    expected = found(RunEvaluator(plan, condition_evaluator), stretches)
    random = Random(seed)
    assert (
        found(
            LazyEvaluator(plan, condition_evaluator, NegatedGroups, lambda related: AnyPlan(len(related), random)),
            stretches,
        )
        == expected
    )


@pytest.mark.parametrize("make", [LazyEvaluator, TreeEvaluator])
@given(data=st.data())
@settings(max_examples=PAIRS // 4)
def test_chain_and_tree_give_the_matches_of_runs(make: Callable[..., LazyEvaluator], data: st.DataObject) -> None:
    program, condition_evaluator = data.draw(lazy_programs())
    stretches = data.draw(lazy_streams(program))
    assert found(make(compile_plan(program), condition_evaluator, NegatedGroups), stretches) == found(
        RunEvaluator(compile_plan(program), condition_evaluator), stretches
    )
