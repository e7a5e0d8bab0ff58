"""An event of the register automaton visits the runs of its own join key, inside a repetition as well."""

from __future__ import annotations

import numpy as np

from automata.plan.expression import Contiguity, Repetition, Sequence, Step
from automata.plan.plan import compile_plan
from automata.plan.program import Program, Selector, Skip, Symbol, Window
from automata.registers.register_evaluator import RegisterEvaluator
from automata.slices.events import Events, SymbolSolutions
from benchmarks.lazy_patterns import Comparisons

EVENTS, KEYS, WINDOW = 3_000, 100, 1_000


class Unconditional(Comparisons):
    """Evaluates no condition: the ids have no numbers."""

    numbers = np.full(KEYS + 1, np.nan)


def test_an_event_visits_only_the_runs_of_its_own_key_inside_a_repetition() -> None:
    """`SEQ(A ; B;+ ; C)` joined on one variable: the loop keeps the value that A has bound."""
    random = np.random.default_rng(7)
    times = np.arange(EVENTS)
    symbols, keys = random.integers(0, 3, EVENTS), random.integers(1, KEYS + 1, EVENTS)
    some_b = Repetition(Step(1), 1, None, Contiguity.NEXT)
    sequence = Sequence((Step(0), some_b, Step(2)), (Contiguity.NEXT, Contiguity.NEXT))
    kinds = tuple(Symbol(name, frozenset({0}), frozenset({0}), frozenset({0})) for name in "ABC")
    window = Window(WINDOW, in_events=False, sliding=True)
    program = Program(sequence, kinds, 1, (), window, (), Selector.ALL, Skip.NO_SKIP, (), streams=1)
    solutions = {
        symbol: SymbolSolutions(np.flatnonzero(symbols == symbol), {0: keys[symbols == symbol]}) for symbol in range(3)
    }
    evaluator = RegisterEvaluator(compile_plan(program), Unconditional(()))
    matches = evaluator.on_batch(Events(times, np.zeros(EVENTS, dtype=np.int64)), solutions)
    assert len(matches) > EVENTS // 10
    assert evaluator.visits < 5 * EVENTS
