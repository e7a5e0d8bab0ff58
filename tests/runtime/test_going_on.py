"""A query goes on with the evaluator that wrote its state, whichever the planner chooses now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import pytest

from automata.state import Unreadable
from spaseq.algebra.build import build
from spaseq.errors import RunError
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.physical import planner
from spaseq.physical.going_on import plan_of_state
from spaseq.physical.plan import PROPAGATION
from spaseq.physical.planner import plan_query
from spaseq.physical.program import compile_program
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.state.snapshot import loads
from tests.drawn import drawn as share
from tests.driving import comparable
from tests.pairs import EVALUATORS, applies
from tests.random_pairs import drawn, expected_rows, shown
from tests.restarting import Restarting
from tests.states.networks import put_back, size_of, taken
from tests.strategies.stream import batches

PAIRS = share(120)
SIMPLE = """PREFIX : <http://ex.org/> SELECT ?k WITHIN 9 SECONDS SLIDING FROM STREAM S1 <http://ex.org/s1>
    WHERE { SEQ(A : B) DEFINE GPM A ON S1 { ?x :a ?k } DEFINE GPM B ON S1 { ?y :b ?k } }"""


class Replanned(Restarting):
    """It is planned anew each time it starts, by the evaluator tried least so far, which is not asked for."""

    def __init__(self, choices: Sequence[str], tried: Counter[str], query: Query) -> None:
        self.choices, self.tried, self.kinds = choices, tried, list[tuple[str, str]]()
        super().__init__(query, 0)

    def _build(self) -> None:
        name = min(self.choices, key=self.tried.__getitem__)
        self.tried[name] += 1
        tried = EVALUATORS[name]
        self.options = replace(self.options, evaluator=tried.option, compiled=None if tried.later else tried.compiled)
        super()._build()
        self._own.physical = replace(self._own.physical, asked=False)

    def restart(self) -> int:
        before = self._own._sequence.state_kind
        size = super().restart()
        self.kinds.append((before, self._own._sequence.state_kind))
        return size

    @property
    def _own(self) -> QueryOperator:
        return next(each for each in self.network.operators if each.query.name == self.query.name)


def test_a_state_is_read_whatever_the_planner_chooses() -> None:
    found, kinds, tried = 0, Counter[tuple[str, str]](), Counter[str]()
    for number in range(PAIRS):
        pair = drawn(91, number)
        if pair is None or pair.reader is not None:
            continue
        choices = [name for name in EVALUATORS if applies(name, pair)]
        running = Replanned(choices, tried, pair.query)
        planned = list[str]()
        for piece in batches(pair.arrived, pair.sizes):
            running.push(piece)
            running.restart()
            planned.append(running.options.evaluator)
        running.network.finish()
        expected = expected_rows(pair)
        assert Counter(map(comparable, running.rows)) == Counter(expected), f"{planned}\n{shown(pair)}"
        found += len(expected)
        kinds.update(running.kinds)
    assert found > PAIRS and all(before == after for before, after in kinds)
    assert {before for before, _ in kinds} >= {"runs", "registers", "cea", "lazy", "adaptive", PROPAGATION}


def test_an_evaluator_that_does_not_run_the_query_any_more_fails_the_query_by_name() -> None:
    running = Restarting(parse(SIMPLE, "q"), 0, "cea", compiled=True)
    state = taken(running.network)
    kind = planner._KINDS["cea"]
    with patch.dict(planner._KINDS, cea=replace(kind, why_not=lambda plan: "it is tired")):
        other = Restarting(parse(SIMPLE, "q"), 0, "auto", compiled=True)
        with pytest.raises(RunError, match="of query 'q' cannot be read: evaluator 'cea' wrote it, which does not"):
            put_back(other.network, state)
    assert size_of(state) and loads(state.queries[0].blob, running.dictionary)[0]["kind"] == "cea"


@pytest.mark.parametrize(("kind", "told"), [("wishes", "does not have"), ("propagation", "does not run the query")])
def test_a_state_of_an_unknown_kind_says_so(kind: str, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        plan_of_state(plan_query(compile_program(build(parse(SIMPLE, "q")))), kind, {})


def test_a_policy_that_may_take_kernels_later_goes_on_and_still_may() -> None:
    """The state says so itself: whoever asked for `nfa` since then does not change it."""
    running = Restarting(parse(SIMPLE, "q"), 0, "auto", compiled=None)
    state = taken(running.network)
    known = loads(state.queries[0].blob, running.dictionary)[0]
    compiled = compile_program(build(parse(SIMPLE, "q")))
    other = replace(plan_query(compiled, "nfa", kernels=False), asked=False)
    plan = plan_of_state(other, known["kind"], known["sequence"])
    assert (known["kind"], other.later) == ("adaptive", None)
    assert plan.later is not None
    assert plan.later == plan_query(compiled, kernels=None).later
