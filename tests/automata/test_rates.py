"""What is measured of a stream, the run operations estimated from it, and what the policy makes of them."""

from __future__ import annotations

import pytest

from automata.adaptive.adaptive_evaluator import AdaptiveEvaluator
from automata.adaptive.costs import CostModel
from automata.adaptive.rates import Meter, Rates
from automata.lazy.lazy_evaluator import LazyEvaluator
from automata.plan.expression import Contiguity, Sequence, Step
from automata.runs.columns.negated_groups import NegatedGroups
from automata.runs.columns.run_evaluator import RunEvaluator
from benchmarks.lazy_patterns import VALUES, A, B, C, Stream, pattern, patterns, stream
from spaseq.physical.evaluators import adaptive_evaluator
from spaseq.physical.replanning import RatesDecide

SEQUENCE = patterns(100)[0]
EVEN = Rates({A: 50, B: 50, C: 50}, {})


def measured(events: Stream, batch: int) -> list[Rates]:
    meter = Meter(SEQUENCE.program, SEQUENCE.condition_evaluator, frozenset({A, B, C}))
    found = [meter.observe(*events.batch(at, min(at + batch, len(events)))) for at in range(0, len(events), batch)]
    return [rates for rates in found if rates is not None]


@pytest.mark.parametrize("batch", [1, 30, 1000])
def test_rates_are_those_of_the_stream_whatever_the_batches(batch: int) -> None:
    for rates in measured(stream([(5, 3, 2, 0)], 2000, seed=1), batch):
        assert rates.counts[A] == pytest.approx(50, rel=0.4)
        assert rates.counts[C] == pytest.approx(20, rel=0.5)


def test_selectivities_are_the_share_of_pairs_that_fulfil_the_conditions() -> None:
    last = measured(stream([(1, 1, 1, 1)], 2000, seed=2), 50)[-1]
    assert last.selectivity(A, C) == last.selectivity(C, A) == pytest.approx(0.02, abs=0.02)
    assert last.selectivity(A, B) == 1.0
    assert VALUES == 1000


def test_estimates_tell_how_many_fewer_run_operations_lazy_evaluation_makes() -> None:
    events = stream([(100, 100, 1, 1)], 3000, seed=3)
    pattern = patterns(100)[0]
    estimate = CostModel(pattern.plan).estimate(measured(events, 100)[-1])
    made = []
    for evaluator in (
        RunEvaluator(pattern.plan, pattern.condition_evaluator),
        LazyEvaluator(pattern.plan, pattern.condition_evaluator, NegatedGroups),
    ):
        for at in range(0, len(events), 100):
            evaluator.on_batch(*events.batch(at, at + 100))
        made.append(evaluator.operations / 30)
    assert estimate.eager == pytest.approx(made[0], rel=0.6)
    assert estimate.lazy < estimate.eager / 20
    assert made[1] < made[0] / 20


def test_the_rarest_step_comes_first_and_related_ones_before_others() -> None:
    model = CostModel(SEQUENCE.plan)
    assert model.estimate(Rates({A: 50, B: 40, C: 1}, {})).orders == ((C, B, A),)
    assert model.estimate(Rates({A: 50, B: 40, C: 1}, {(A, C): 0.01})).orders == ((C, A, B),)
    assert model.estimate(EVEN).lazy > model.estimate(EVEN).eager


def driven(evaluator: AdaptiveEvaluator, events: Stream) -> list[str]:
    """The names of the evaluators that have run, in turn."""
    names = [evaluator.name]
    for at in range(0, len(events), 50):
        evaluator.on_batch(*events.batch(at, at + 50))
        if evaluator.name != names[-1]:
            names.append(evaluator.name)
    return names


def test_lazy_evaluation_takes_over_where_the_last_step_is_rare_and_gives_way_where_all_is_a_match() -> None:
    rare, frequent = (100, 100, 1, 1), (1, 1, 1, 0)
    a, b, c = (Step(symbol) for symbol in (A, B, C))
    free = pattern("free", Sequence((a, b, c), (Contiguity.ANY, Contiguity.ANY)), (), 60)
    evaluator = adaptive_evaluator(free.plan, free.condition_evaluator)
    names = driven(evaluator, stream([rare, frequent], 2000, seed=4))
    assert names[0] == names[-1] == "nfa"
    assert {"lazy", "tree"} & set(names)
    first, *_, last = evaluator.switches
    assert (first.old, last.new) == ("nfa", "nfa")
    assert first.reason.startswith("solutions a window: A ")
    assert evaluator.operations > first.operations > 0


def test_a_wish_is_kept_while_the_new_evaluator_gets_to_know_the_stream() -> None:
    evaluator = adaptive_evaluator(SEQUENCE.plan, SEQUENCE.condition_evaluator)
    driven(evaluator, stream([(100, 100, 1, 1)], 1000, seed=5))
    assert evaluator.name != "nfa"
    assert evaluator.switches[0].time <= 150 + 100 + 50, "three batches tell enough, then one window passes"
    assert len(evaluator.switches) <= 2


def test_the_first_batch_says_what_to_begin_with() -> None:
    events = stream([(100, 100, 1, 1)], 1000, seed=5)
    evaluator = adaptive_evaluator(SEQUENCE.plan, SEQUENCE.condition_evaluator)
    lazy = LazyEvaluator(SEQUENCE.plan, SEQUENCE.condition_evaluator, NegatedGroups)
    for at in range(0, len(events), 200):
        slice_ = events.batch(at, at + 200)
        assert evaluator.on_batch(*slice_) == lazy.on_batch(*slice_)
    assert evaluator.name == "lazy" and not evaluator.switches
    assert evaluator.operations == lazy.operations


def test_rates_that_have_not_moved_are_not_made_anew() -> None:
    same = measured(stream([(5, 3, 2, 0)], 1500, seed=1), 100)
    assert len(same) > 10 and len(set(map(id, same))) == 1
    moved = measured(stream([(5, 3, 2, 0), (1, 1, 8, 0)], 3000, seed=1), 100)
    assert len(set(map(id, moved))) > 1
    assert moved[-1].counts[C] == pytest.approx(80, rel=0.3)
    assert len(set(map(id, measured(stream([(5, 3, 2, 0)], 4000, seed=1), 100)))) == 3, "selectivities age"


def test_nothing_is_wanted_before_anything_is_measured() -> None:
    assert RatesDecide(SEQUENCE.plan, SEQUENCE.condition_evaluator).wanted("nfa", False, 0) == (
        "nfa",
        "nothing is measured yet",
    )
