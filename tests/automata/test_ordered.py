"""Complex events come as matches in report order, however small the pieces into which they are divided."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import numpy as np

from automata.cea import ordered
from automata.cea.applicability import why_not_cea
from automata.cea.cea_evaluator import CeaEvaluator
from automata.plan.plan import Plan
from automata.plan.program import Selector, Skip
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.slices.events import Events, SymbolSolutions
from automata.values import Match
from tests.automata.test_kernels_later import NoConditions, drawn_plan
from tests.drawn import drawn

EVENTS = 24


def drawn_slice(dice: Random, plan: Plan) -> tuple[Events, dict[int, SymbolSolutions]]:
    """Events of which some have several solutions of a symbol."""
    often = dice.choice((1, 1, 2))
    times = np.cumsum([dice.choice((0, 1, 1, 2)) for _ in range(EVENTS)]).astype(np.int64)
    found = {}
    for symbol in range(len(plan.program.symbols)):
        at = np.array([n for n in range(EVENTS) for _ in range(often) if dice.random() < 0.6], dtype=np.int64)
        found[symbol] = SymbolSolutions(at, {0: np.array([dice.randrange(1, 3) for _ in at], dtype=np.int64)})
    return Events(times, np.zeros(EVENTS, dtype=np.int64)), found


def taken(match: Match) -> list[tuple[int, int]]:
    """The steps and events of a match."""
    return [(symbol, position) for symbol, position, _ in match.entries]


def test_small_pieces_are_together_what_runs_report() -> None:
    conditions, tried, divided, mixed = NoConditions(), 0, 0, 0
    for number in range(6 * drawn(60)):
        dice = Random(f"ordered {number}")
        plan = drawn_plan(dice)
        program = plan.program
        if why_not_cea(plan) is not None or program.skip is not Skip.NO_SKIP or program.selector is not Selector.ALL:
            continue
        events, solutions = drawn_slice(dice, plan)
        with patch.object(ordered, "ROWS_MAX", dice.choice((1, 3, 8))):
            pieces = list(CeaEvaluator(plan, conditions).pieces(events, solutions))
        found = [match._replace(partition=0) for piece in pieces for match in piece]
        runs = [match._replace(partition=0) for match in RunEvaluator(plan, conditions).on_batch(events, solutions)]
        assert list(map(taken, found)) == list(map(taken, runs)), number
        assert sorted(found) == sorted(runs), number  # the values decide among the same events
        tried, divided = tried + 1, divided + (len(pieces) > 2)
        mixed += len({len(match.entries) for match in found}) > 1
    assert tried > 10 and divided > tried // 4 and mixed > 0
