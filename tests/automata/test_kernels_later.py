"""Evaluators in kernels that take over between two slices: at once, with what they need to know, once they pay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

import spaseq
from automata import protocol
from automata.adaptive.adaptive_evaluator import AdaptiveEvaluator, why_not_adaptive
from automata.cea.applicability import why_not_cea
from automata.cea.cea_evaluator import CeaEvaluator
from automata.plan.expression import Contiguity, Repetition, Sequence, Step
from automata.plan.plan import Plan, compile_plan
from automata.plan.program import Program, Selector, Skip, Symbol, Window
from automata.protocol import EdgeCounter
from automata.registers.guard import Guard
from automata.registers.register_evaluator import RegisterEvaluator
from automata.registers.tables import why_not
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids, Match
from sparql_gpm.rdf_io import PROV_TIME
from sparql_gpm.terms import XSD
from spaseq.engine import kernels
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.lang.parse import parse
from spaseq.outputs.rows import Row
from spaseq.physical import kernels_later
from spaseq.physical.kernels_later import ALONE, COMPILE_MIN, LOAD_MIN, LONG_MIN, TAKEN, KernelsLater
from tests.automata.test_adaptive import WINDOWS, Stretches, reported
from tests.drawn import drawn

NUMBERS = drawn(45)
SKIPS = (Skip.NO_SKIP, Skip.NO_SKIP, Skip.TO_NEXT, Skip.PAST_LAST, Skip.CONSUME_ALL)


class NoConditions:
    """Nothing but keys relates the steps."""

    numbers: NDArray[np.float64] = np.zeros(64)

    def holds(self, condition: int, columns: Mapping[object, Ids], count: int) -> NDArray[np.bool_]:
        raise AssertionError(condition)

    def texts(self, values: Ids) -> list[str]:
        return [str(value) for value in values.tolist()]

    def guard(self, condition: int) -> Guard | None:
        raise AssertionError(condition)


class Then:
    """Another evaluator after so many slices, if it takes them."""

    observes = False

    def skip(self, gap: Gap) -> None: ...

    def __init__(self, name: str, after: int) -> None:
        self.name, self.left = name, after

    def observe(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> None:
        self.left -= 1

    def wanted(self, current: str, alone: bool, operations: int) -> tuple[str, str]:
        return ("nfa", "") if self.left > 0 else (self.name, "now")

    def live_ids(self) -> list[Ids]:
        return []


class Between(Then):
    """Runs after so many slices; once they have taken over, the other evaluator again."""

    taken = False

    def wanted(self, current: str, alone: bool, operations: int) -> tuple[str, str]:
        self.taken = self.taken or current == "nfa"
        return (self.name, "again") if self.left > 0 or self.taken else ("nfa", "between")


def drawn_plan(dice: Random) -> Plan:
    """Two or three steps joined on a key, repeated or not."""
    key = frozenset({0})
    count = dice.choice((2, 3))
    symbols = tuple(Symbol("ABC"[number], key, key, frozenset({0})) for number in range(count))
    operators = tuple(dice.choice(tuple(Contiguity)) for _ in range(count - 1))
    steps: list[Step | Repetition] = [Step(number) for number in range(count)]
    if dice.random() < 0.3:
        steps[1] = Repetition(steps[1], 1, 2, dice.choice((Contiguity.NEXT, Contiguity.ANY)))
    partition = (0,) if dice.random() < 0.3 else ()
    selector = dice.choice((Selector.ALL, Selector.ALL, Selector.NEXT, Selector.LAST, Selector.STRICT))
    sequence = Sequence(tuple(steps), operators)
    window, skip = dice.choice(WINDOWS), dice.choice(SKIPS)
    return compile_plan(Program(sequence, symbols, 1, (), window, partition, selector, skip, (), 1))


def drawn_slices(dice: Random, symbols: int) -> Stretches:
    """Forty events, some at one time, in slices of one to five; each may match several steps."""
    found, time, left = [], 0, 40
    while left > 0:
        size = min(left, dice.randrange(1, 6))
        left -= size
        times = []
        for _ in range(size):
            time += dice.choice((0, 1, 1, 2))
            times.append(time)
        time += 1  # a watermark follows
        share = 0.5 if dice.random() < 0.8 else 0.0
        events = Events(np.array(times, dtype=np.int64), np.zeros(size, dtype=np.int64))
        solved = {}
        for symbol in range(symbols):
            at = np.array([n for n in range(size) if dice.random() < share], dtype=np.int64)
            solved[symbol] = SymbolSolutions(at, {0: np.array([dice.randrange(1, 3) for _ in at], dtype=np.int64)})
        found.append((events, solved))
    return found


class Gaps:
    """An evaluator that is told of events without solutions by their number alone, where it allows that."""

    def __init__(self, evaluator: AdaptiveEvaluator) -> None:
        self._evaluator = evaluator
        self.gaps = 0

    def on_batch(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> Iterable[Match]:
        last = int(events.times[-1])
        if any(len(table.events) for table in solutions.values()) or self._evaluator.due() <= last:
            return self._evaluator.on_batch(events, solutions)
        self.gaps += 1
        self._evaluator.skip(Gap(len(events), len(np.unique(events.times)), last))
        return []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evaluator, name)


@pytest.mark.parametrize("name", ["cea", "registers"])
def test_no_match_is_lost_doubled_or_moved_when_kernels_take_over_at_once(name: str) -> None:
    made, conditions = {"cea": CeaEvaluator, "registers": RegisterEvaluator}[name], NoConditions()
    refusal = why_not_cea if name == "cea" else why_not
    tried = matches = at_once = gaps = counts = 0
    for number in range(NUMBERS):
        dice = Random(f"{name} {number}")
        plan = drawn_plan(dice)
        counted = name == "registers" and plan.program.window.in_events
        if refusal(plan) is not None or why_not_adaptive(plan) is not None or counted:
            continue
        slices = drawn_slices(dice, len(plan.program.symbols))
        makers = {"nfa": partial(RunEvaluator, plan, conditions), name: partial(made, plan, conditions)}
        policy = Then(name, dice.randrange(1, 12))
        with patch.object(protocol, "FEW_EVENTS_MAX", 0):
            evaluator = AdaptiveEvaluator(plan, makers, "nfa", policy, at_once=frozenset({name}))
            evaluator.count_edges(lost=False)
            sparing = Gaps(evaluator)
            actual = reported(sparing, slices)
        gaps += sparing.gaps
        runs = RunEvaluator(plan, conditions)
        runs.count_edges(lost=False)
        expected = reported(runs, slices)
        assert actual == expected, (number, plan.program)
        counts += same_edges(evaluator, runs) if evaluator.name == "registers" else evaluator.edges_taken() is None
        tried, matches, at_once = tried + 1, matches + len(expected), at_once + (evaluator.name == name)
    assert tried > NUMBERS // 3 and matches > NUMBERS // 4 and at_once > tried // 2 and gaps > tried // 2
    assert counts > tried // 3


@pytest.mark.parametrize("name", ["cea", "registers"])
def test_no_match_is_lost_when_runs_stand_in_for_kernels_between_slices(name: str) -> None:
    """Slices are remembered from when runs have taken over: what kernels have read is not among them."""
    made, conditions = {"cea": CeaEvaluator, "registers": RegisterEvaluator}[name], NoConditions()
    refusal, taken = why_not_cea if name == "cea" else why_not, 0
    for number in range(NUMBERS):
        dice = Random(f"between {name} {number}")
        program = replace(drawn_plan(dice).program, window=Window(12, False, True), skip=Skip.NO_SKIP)
        plan = compile_plan(program)
        if refusal(plan) is not None:
            continue
        slices = drawn_slices(dice, len(program.symbols))
        makers = {"nfa": partial(RunEvaluator, plan, conditions), name: partial(made, plan, conditions)}
        policy = Between(name, dice.randrange(1, 5))
        with patch.object(protocol, "FEW_EVENTS_MAX", 0):
            evaluator = AdaptiveEvaluator(plan, makers, name, policy, at_once=frozenset({name}))
            assert reported(Gaps(evaluator), slices) == reported(RunEvaluator(plan, conditions), slices), number
        taken += policy.taken
    assert taken > NUMBERS // 3


def same_edges(evaluator: EdgeCounter, runs: RunEvaluator) -> bool:
    """True if both evaluators count partial matches, the same ones on each edge; False if either counts none."""
    found, expected = evaluator.edges_taken(), runs.edges_taken()
    if found is None or expected is None:
        return False
    assert found == [mine if other is None else other for mine, other in zip(found, expected, strict=True)]
    return True


class Fake:
    """Kernels that are compiled after some questions."""

    def __init__(self, kept: bool, loaded: bool = False) -> None:
        self.answers: Iterator[bool] = iter([kept] * 3 + [True] * 9)
        self.compiled: list[str] = []
        self._loaded = loaded

    def loaded(self, evaluator: str) -> bool:
        return self._loaded

    def kept(self, evaluator: str) -> bool:
        return next(self.answers)

    def compile(self, evaluator: str) -> None:
        self.compiled.append(evaluator)


def test_kernels_are_loaded_once_a_query_has_cost_as_much() -> None:
    policy = KernelsLater(None, "cea", Fake(True))
    assert policy.wanted("nfa", False, LOAD_MIN - 1) == ("nfa", "")
    assert policy.wanted("nfa", False, LOAD_MIN) == ("cea", TAKEN)
    assert policy.wanted("cea", False, 0) == ("cea", TAKEN)
    assert policy.wanted("nfa", True, LOAD_MIN) == ("nfa", "")
    assert policy.wanted("cea", True, LOAD_MIN) == ("nfa", ALONE)


def test_kernels_that_are_loaded_are_taken_at_once_by_long_slices_alone() -> None:
    def taken(events: int, kernels: Fake, alone: bool = False) -> bool:
        policy, times = KernelsLater(None, "cea", kernels), np.arange(events)
        policy.observe(Events(times, np.zeros_like(times)), {})
        return policy.wanted("nfa", alone, 0)[0] == "cea"

    loaded = Fake(True, loaded=True)
    assert taken(LONG_MIN, loaded) and not taken(LONG_MIN - 1, loaded)
    assert not taken(LONG_MIN, loaded, alone=True) and not taken(LONG_MIN, Fake(True))


def test_kernels_are_compiled_once_a_query_has_cost_as_much_and_taken_when_they_are_there() -> None:
    kernels = Fake(False)
    policy = KernelsLater(None, "registers", kernels)
    assert policy.wanted("nfa", False, COMPILE_MIN - 1) == ("nfa", "")
    assert not kernels.compiled
    assert policy.wanted("nfa", False, COMPILE_MIN) == ("nfa", "")
    assert kernels.compiled == ["registers"]
    assert policy.wanted("nfa", False, COMPILE_MIN) == ("nfa", "")
    assert policy.wanted("nfa", False, COMPILE_MIN) == ("registers", TAKEN)


def test_short_slices_count_as_run_operations() -> None:
    policy, nothing = KernelsLater(None, "cea", Fake(True)), Events(np.zeros(0, dtype=np.int64), np.zeros(0, np.int64))
    slices = 0
    while policy.wanted("nfa", False, 0)[0] == "nfa":
        policy.observe(nothing, {})
        slices += 1
    assert 100 < slices < 1000
    again = KernelsLater(None, "cea", Fake(True))
    again.restore(policy.snapshot())
    assert again.wanted("nfa", False, 0)[0] == "cea"


def test_a_window_that_is_not_all_remembered_is_read_along() -> None:
    plan = compile_plan(
        Program(
            Sequence((Step(0), Step(1)), (Contiguity.ANY,)),
            tuple(Symbol(name, frozenset({0}), frozenset({0}), frozenset({0})) for name in "AB"),
            1, (), Window(10, False, True), (), Selector.ALL, Skip.NO_SKIP, (), 1,
        )
    )  # fmt: skip
    conditions, policy = NoConditions(), Then("cea", 6)
    makers = {"nfa": partial(RunEvaluator, plan, conditions), "cea": partial(CeaEvaluator, plan, conditions)}
    evaluator = AdaptiveEvaluator(plan, makers, "nfa", policy, at_once=frozenset({"cea"}))
    slices = drawn_slices(Random(2), 2)  # of few events, which are not remembered
    assert reported(evaluator, slices) == reported(RunEvaluator(plan, conditions), slices)
    (switch,) = evaluator.switches
    begun = int(slices[6][0].times[0])
    assert evaluator.name == "cea" and switch.time > begun + 10


def spo(n: int) -> str:
    """The triple of an event, without its end."""
    return f'<urn:k{n % 9}> <urn:{"ab"[n % 2]}> "{n}"'


def quads(n: int) -> str:
    """The event as N-Quads."""
    time = f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z"
    return f'<urn:e{n}> <{PROV_TIME}> "{time}"^^<{XSD}dateTime> .\n{spo(n)} <urn:e{n}> .\n'


@pytest.mark.parametrize("alone", [False, True])
def test_an_engine_takes_kernels_between_two_batches_but_not_for_single_events(alone: bool) -> None:
    query = """SELECT ?k WITHIN 1 HOURS SLIDING FROM STREAM S <urn:s> WHERE {
      SEQ(A : B) DEFINE GPM A ON S { ?k <urn:a> ?a } DEFINE GPM B ON S { ?k <urn:b> ?b } }"""
    found, engine = list[Row](), spaseq.Engine()
    with patch.object(kernels_later, "LOAD_MIN", 1500), patch.object(kernels, "_is_kept", lambda _: True):
        engine.register(parse(query, "q"), found.append)
        for begin in range(0, 200, 50):
            if alone:
                for n in range(begin, begin + 50):
                    engine.push("urn:s", f"{spo(n)} .", n)
            else:
                engine.push_batch("urn:s", "".join(quads(n) for n in range(begin, begin + 50)))
    engine.close()
    pairs = sum(1 for n in range(200) for m in range(n) if n % 2 and not m % 2 and n % 9 == m % 9)
    assert len(found) == pairs
    assert ("q" in engine.statistics.replanned) is not alone
    if not alone:
        (switch,) = engine.statistics.replanned["q"]
        assert "nfa → cea" in switch and TAKEN in switch


@pytest.mark.parametrize("analyze", [False, True])
def test_a_run_takes_kernels_that_are_loaded_from_its_first_batch_on_unless_partial_matches_are_counted(
    analyze: bool, tmp_path: Path
) -> None:
    (tmp_path / "s.nq").write_text("".join(quads(n) for n in range(400)))
    query = """SELECT ?k ?a ?b WITHIN 1 HOURS SLIDING FROM STREAM S <urn:s> WHERE {
      SEQ(A : B) DEFINE GPM A ON S { ?k <urn:a> ?a } DEFINE GPM B ON S { ?k <urn:b> ?b } }"""

    def rows(loaded: bool, operations: list[str]) -> list[Row]:
        made = CeaEvaluator.__init__

        def noted(*given: Any) -> None:
            operations.append("cea")
            made(*given)

        with (
            patch.object(kernels, "_is_loaded", lambda _: loaded),
            patch.object(kernels_later, "LONG_MIN", 100),
            patch.object(CeaEvaluator, "__init__", noted),
        ):
            job = Job([parse(query, "q")], {"S": str(tmp_path / "s.nq")}, options=RunOptions(analyze=analyze))
            found = [row for rows in job.rows() for row in rows]
            funnels = job.funnels()
            job.close()
        assert not analyze or [edge.took for edge in funnels[0].edges] == [200, len(found)]
        return found

    runs, cea = list[str](), list[str]()
    assert rows(False, runs) == rows(True, cea)
    assert not runs and bool(cea) is not analyze
