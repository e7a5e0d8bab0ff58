"""Products: partial matches that only keys relate are one row an event, told by counts; and they lose no match."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from automata.plan.expression import Choice, Contiguity, Expression, Negation, Optional, Repetition, Sequence, Step
from automata.plan.plan import Plan, compile_plan
from automata.plan.products import all_products, product_positions
from automata.plan.program import Condition, ConditionEvaluator, Program, Selector, Skip, Symbol, Window
from automata.runs.columns import held_steps
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.runs.rows import live_evaluator
from automata.slices import step_buffer
from automata.slices.events import Events, SymbolSolutions
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.physical.plan import Form
from spaseq.physical.planner import plan_query
from spaseq.physical.program import compile_program
from tests import pairs
from tests.pairs import difference
from tests.random_pairs import PRODUCTS, drawn, expected_rows, shown
from tests.restarted_pairs import run_restarted

ANY, NEXT = Contiguity.ANY, Contiguity.NEXT
A, B, C, D = (Step(symbol) for symbol in range(4))
KEY, NO_CONDITION = frozenset({0}), None
KEYS, BATCH = 50, 100


def planned(expression: Expression, window: int = 100, conditions: tuple[Condition, ...] = (), **other: object) -> Plan:
    """Over steps with one key; `other` are fields of the program."""
    symbols = tuple(Symbol(name, KEY, KEY, frozenset({0})) for name in "ABCD")
    given = {"partition": (), "selector": Selector.ALL, "skip": Skip.NO_SKIP} | other
    whole = Window(window, in_events=False, sliding=True)
    return compile_plan(
        Program(expression, symbols, 1, conditions, whole, outputs=(), streams=1, **given)  # type: ignore[arg-type]
    )


CHAIN = Sequence((A, B, C), (ANY, ANY))


@pytest.mark.parametrize(
    ("expression", "products", "whole"),
    [
        (CHAIN, "AB", True),
        (Sequence((A, B), (ANY,)), "A", False),
        (Sequence((A, B, C), (ANY, NEXT)), "A", False),
        (Sequence((A, B, C), (NEXT, ANY)), "", False),
        (Sequence((A, Repetition(B, 1, None, ANY), C), (ANY, ANY)), "AB", True),
        (Sequence((A, Repetition(B, 1, None, NEXT), C), (ANY, ANY)), "A", False),
        (Sequence((A, Choice((B, D)), C), (ANY, ANY)), "ABD", True),
        (Sequence((A, B, Optional(C)), (ANY, ANY)), "A", False),
        (Sequence((Repetition(Sequence((A, B), (ANY,)), 1, None, ANY), C), (ANY,)), "", False),
    ],
)
def test_steps_that_any_later_event_follows_are_products(expression: Expression, products: str, whole: bool) -> None:
    plan = planned(expression)
    named = {"ABCD"[plan.positions[position].symbols[0]] for position in product_positions(plan)}
    assert named == set(products)
    assert all_products(plan) == whole


def test_what_chooses_among_runs_or_looks_at_them_leaves_no_products() -> None:
    for other in ({"conditions": (Condition(1, (0,)),)}, {"partition": (0,), "selector": Selector.STRICT}):
        assert not all_products(planned(CHAIN, **other))
    assert not all_products(planned(Sequence((A, B, Negation(D), C), (ANY, ANY, ANY))))
    assert len(product_positions(planned(Sequence((A, B, Negation(D), C), (ANY, ANY, ANY))))) == 2
    subsets = Sequence((A, Repetition(B, 1, None, ANY), C), (ANY, ANY))
    assert not product_positions(planned(subsets, selector=Selector.MAX))


def feed(runs: RunEvaluator, first: int, count: int, dice: Random, matched: bool) -> int:
    """Events a second apart in batches: A, B and, with keys of their own unless `matched`, some C. Counts matches."""
    found = 0
    for begin in range(first, first + count, BATCH):
        kinds = np.array([dice.choice("AABBC") for _ in range(BATCH)])
        keys = np.array([1 + dice.randrange(KEYS) for _ in range(BATCH)], dtype=np.int64)
        if not matched:
            keys[kinds == "C"] += KEYS
        events = Events(np.arange(begin, begin + BATCH, dtype=np.int64), np.zeros(BATCH, dtype=np.int64))
        places = {symbol: np.flatnonzero(kinds == name) for symbol, name in enumerate("ABC")}
        found += len(
            runs.on_batch(events, {symbol: SymbolSolutions(at, {0: keys[at]}) for symbol, at in places.items()})
        )
    return found


def runs_of(window: int) -> RunEvaluator:
    nothing: ConditionEvaluator = NO_CONDITION  # type: ignore[assignment]
    return RunEvaluator(planned(CHAIN, window), nothing)


@pytest.mark.parametrize("window", [1_000, 8_000])
def test_without_a_match_no_run_is_made_and_nothing_is_looked_at(window: int) -> None:
    runs = runs_of(window)
    assert runs.held is not None
    assert not feed(runs, 0, 2 * window, Random(3), matched=False)
    assert runs.operations == 1
    assert runs.held.looked_at == 0
    assert 0.7 * window < len(runs.held) < 0.9 * window + BATCH
    rows = sum(buffer._columns.nbytes for buffer in runs.held._buffers.values())
    assert rows < 100 * window + 8 * 2 * window


def test_an_event_is_looked_at_where_a_match_has_it() -> None:
    runs = runs_of(400)
    found = feed(runs, 0, 3_000, Random(4), matched=True)
    assert runs.held is not None
    assert found > 3_000
    assert runs.operations < 3 * found
    assert runs.held.looked_at < 2 * found


def test_events_to_which_no_run_comes_are_kept_no_longer_than_they_are_not_found() -> None:
    runs, dice = runs_of(100_000), Random(5)
    assert runs.held is not None
    kept, looked = [], []
    for number in range(3 * held_steps._PERIOD):
        begin = number * BATCH
        events = Events(np.arange(begin, begin + BATCH, dtype=np.int64), np.zeros(BATCH, dtype=np.int64))
        keys = np.array([1 + dice.randrange(KEYS) for _ in range(BATCH)], dtype=np.int64)
        places = {0: np.arange(number == 0), 1: np.arange(1, BATCH // 2), 2: np.arange(BATCH // 2, BATCH)}
        runs.on_batch(events, {symbol: SymbolSolutions(at, {0: keys[at]}) for symbol, at in places.items()})
        kept.append(len(runs.held))
        looked.append(runs.held.looked_at)
    assert kept[held_steps._PERIOD] > 40 * held_steps._PERIOD
    assert kept[-1] < kept[held_steps._PERIOD] + 2 * held_steps._PERIOD * BATCH / 2 / KEYS * 2
    assert looked[-1] > looked[held_steps._PERIOD]


@pytest.mark.parametrize(("steps", "evaluator"), [("A : B : C", "nfa"), ("A : B", "adaptive")])
def test_auto_measures_no_rates_where_runs_are_products(steps: str, evaluator: str) -> None:
    names = steps.split(" : ")
    defined = " ".join(f"DEFINE GPM {name} ON S {{ ?k <http://ex.org/{name}> ?v{name} }}" for name in names)
    text = f"SELECT * WITHIN 9 SECONDS SLIDING FROM STREAM S <http://ex.org/s> WHERE {{ SEQ({steps}) {defined} }}"
    chosen = plan_query(compile_program(build(parse(text, "q"))), kernels=False)
    assert chosen.evaluator == evaluator
    assert any("one row an event" in reason for _, reason in chosen.others) == (evaluator == "nfa")


def test_long_input_without_one_key_is_evaluated_in_columns_that_keep_products() -> None:
    keys = {"A": "?x", "B": "?x ; <http://ex.org/y> ?y", "C": "?y"}
    defined = " ".join(
        f"DEFINE GPM {name} ON S {{ ?{name} <http://ex.org/{name}> {key} }}" for name, key in keys.items()
    )
    for steps, form in (("A : B : C", Form.ROWS), ("A ; B ; C", Form.KERNELS)):
        text = f"SELECT * WITHIN 9 SECONDS SLIDING FROM STREAM S <http://ex.org/s> WHERE {{ SEQ({steps}) {defined} }}"
        chosen = plan_query(compile_program(build(parse(text, "q"))))
        assert (chosen.evaluator, chosen.form) == ("nfa", form)


@pytest.mark.parametrize("way", ["batches", "restarted", "single events"])
def test_random_pairs_with_products_equal_the_reference(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_buffer, "_TAIL_MAX", 0)
    monkeypatch.setattr(step_buffer, "_ROWS_INITIAL", 1)
    monkeypatch.setattr(held_steps, "_PERIOD", 1)
    if way == "restarted":
        monkeypatch.setattr(pairs, "run_engine", run_restarted)
    elif way == "batches":
        monkeypatch.setattr(live_evaluator, "_PRODUCTS_MAX", -1)
    rows = compared = 0
    for number in range(120):
        pair = drawn(21, number, PRODUCTS)
        if pair is None or len(product_positions(compile_program(build(pair.query)).plan)) < 2:
            continue
        expected = expected_rows(pair)
        rows, compared = rows + len(expected), compared + 1
        assert not difference("runs", pair, expected), shown(pair)
    assert compared > 25
    assert rows > 25
