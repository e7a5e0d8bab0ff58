"""The parts of lazy evaluation: input buffers, plans, ways through an automaton; and that it is worth it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrays.columns import hash_columns
from automata.lazy.path import paths
from automata.lazy.plan import ChainPlan, TreePlan
from automata.lazy.units import units_of
from automata.plan.expression import (
    AnyOrder,
    Choice,
    Contiguity,
    Expression,
    Negation,
    Optional,
    Repetition,
    Sequence,
    Step,
)
from automata.plan.plan import Plan, compile_plan
from automata.plan.program import Program, Selector, Skip, Symbol, Window
from automata.slices import step_buffer
from automata.slices.step_buffer import LOW, Buffer
from automata.slices.step_table import Part, StepTable
from automata.values import Ids
from benchmarks.lazy import SYSTEMS, measure
from benchmarks.lazy_patterns import patterns, stream

A, B, C = (Step(symbol) for symbol in range(3))
ANY = Contiguity.ANY
NOTHING: frozenset[int] = frozenset()
UNRELATED = (NOTHING,) * 3


def planned(expression: Expression) -> Plan:
    """Over steps without variables."""
    symbols = tuple(Symbol(name, NOTHING, NOTHING, frozenset({0})) for name in "ABC")
    window = Window(10, in_events=False, sliding=True)
    return compile_plan(Program(expression, symbols, 0, (), window, (), Selector.ALL, Skip.NO_SKIP, (), 1))


def step_table(lows: Ids, keys: Ids) -> StepTable:
    zeros = np.zeros_like(lows)
    return StepTable(
        lows, lows, lows, zeros, lows, zeros, zeros, zeros == 0, lows, lows, zeros, zeros, {0: keys},
        (Part(0, lows, lows),),
    )  # fmt: skip


@given(
    st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=5),
    st.integers(0, 8),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 25), st.integers(0, 25)), max_size=6),
    st.booleans(),
    st.sampled_from([0, 3, 256]),
)
def test_a_search_finds_the_events_of_the_key_in_the_stretch(
    stretches: list[list[int]], forgotten: int, asked: list[tuple[int, int, int]], early: bool, tail: int
) -> None:
    """Whatever was forgotten, and whether an index was made on the way."""
    buffer, keys = Buffer(0, [0]), [key for slice_ in stretches for key in slice_]
    wanted, begin, end = (np.array([row[i] for row in asked], dtype=np.int64) for i in range(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_buffer, "_TAIL_MAX", tail)
        for slice_ in stretches:
            lows = np.arange(buffer.end, buffer.end + len(slice_), dtype=np.int64)
            buffer.add(step_table(lows, np.array(slice_, dtype=np.int64)))
            if early:
                list(buffer.search(np.array([buffer.first]), np.array([buffer.end]), (0,), np.array([0]), False))
        buffer.forget(forgotten)
        begin, end = np.maximum(begin, buffer.first), np.minimum(end, buffer.end)
        hashes = hash_columns([wanted], len(wanted))
        pairs = [
            pair
            for which, numbers in buffer.search(begin, end, (0,), hashes, False)
            for pair in zip(which.tolist(), numbers.tolist(), strict=True)
        ]
    expected = [
        (row, n)
        for row in range(len(asked))
        for n in range(begin[row], max(begin[row], end[row]))
        if keys[n] == wanted[row]
    ]
    assert sorted(pairs) == expected


def test_a_number_is_found_by_position_and_outlives_forgetting() -> None:
    buffer = Buffer(0, [0])
    lows = np.array([3, 5, 5, 9], dtype=np.int64)
    buffer.add(step_table(lows, lows))
    buffer.forget(1)
    assert buffer.number(LOW, np.array([0, 5, 6, 10])).tolist() == [1, 1, 3, 4]
    assert buffer.number(LOW, np.array([5]), after=True).tolist() == [3]
    assert buffer.at(LOW, np.array([2, 3])).tolist() == [5, 9]


def test_a_chain_takes_the_rarest_first_and_keeps_its_order_within_a_window() -> None:
    plan = ChainPlan(UNRELATED)
    plan.observe([100, 10, 1], at_boundary=False)
    assert plan.order == [2, 1, 0]
    plan.observe([1, 10, 120], at_boundary=False)
    assert plan.order == [2, 1, 0]
    plan.observe([1, 10, 120], at_boundary=True)
    assert plan.order == [0, 1, 2]


def test_a_tree_changes_its_mind_only_for_a_unit_much_rarer() -> None:
    plan = TreePlan(UNRELATED)
    plan.observe([9, 10, 50], at_boundary=False)
    assert plan.following(NOTHING, None) == 0
    assert plan.following(frozenset({0}), None) == 1
    plan.observe([9, 8, 50], at_boundary=False)
    assert plan.following(NOTHING, 0) == 0
    plan.observe([9, 2, 50], at_boundary=False)
    assert plan.following(NOTHING, 0) == 1


def test_of_units_as_frequent_the_one_related_to_what_is_bound_comes_first() -> None:
    plan = TreePlan((frozenset({2}), frozenset({2}), frozenset({0, 1})))
    plan.observe([100, 1, 110], at_boundary=False)
    assert plan.following(NOTHING, None) == 1
    assert plan.following(frozenset({1}), None) == 2


@pytest.mark.parametrize(
    ("expression", "ways"),
    [
        (Sequence((A, B, C), (ANY, ANY)), 1),
        (Sequence((A, Negation(B), C), (ANY, ANY)), 1),
        (Sequence((A, Optional(B), Optional(C)), (ANY, ANY)), 4),
        (Sequence((A, Choice((B, C))), (ANY,)), 2),
        (Sequence((A, Repetition(B, 1, None, ANY), C), (ANY, ANY)), 1),
        (AnyOrder((A, Sequence((B, C), (ANY,)))), 1),
    ],
)
def test_there_is_a_way_for_each_choice(expression: Expression, ways: int) -> None:
    assert len(paths(planned(expression))) == ways


def test_members_of_all_are_not_ordered_and_the_steps_of_a_member_are() -> None:
    (way,) = paths(planned(Sequence((A, AnyOrder((B, Sequence((C, A), (ANY,))))), (ANY,))))
    units = units_of(way)
    assert [unit.symbol for unit in units.units] == [0, 1, 2, 0]
    assert np.argwhere(units.before).tolist() == [[0, 1], [0, 2], [0, 3], [2, 3]]
    assert np.argwhere(units.apart).tolist() == [[1, 2], [1, 3], [2, 1], [3, 1]]


def test_at_a_hundred_to_one_lazy_evaluation_makes_twenty_times_fewer_partial_matches() -> None:
    some = stream([(100, 100, 1, 1)], 1200, seed=1)
    for pattern in patterns(100):
        names = ("run-based", "lazy chain", "lazy tree")
        runs, chain, tree = (measure(name, SYSTEMS[name], pattern, some, 200, 1)[0] for name in names)
        assert runs.matches == chain.matches == tree.matches > 0
        assert 20 * max(chain.operations, tree.operations) < runs.operations
