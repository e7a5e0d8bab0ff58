"""Queries that are propagated together against the enumerated matches of each, in random groups that fall apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from automata.plan.expression import Repetition, Step
from automata.plan.expression import Sequence as Steps
from automata.plan.keys import key_of
from automata.plan.plan import Plan, compile_plan
from automata.plan.program import Program, Selector, Skip, Symbol, Window
from automata.propagation import limbed_cells
from automata.propagation.applicability import why_not_propagated
from automata.propagation.measures import Kind, Measured
from automata.propagation.propagating_evaluator import PropagatingEvaluator
from automata.propagation.shared import group_cells
from automata.propagation.shared.members import Member, why_not_shared
from automata.propagation.shared.shared_propagation import Left, SharedPropagation
from automata.propagation.windows import Found
from tests.automata.test_propagation import (
    ANY,
    COMPILED,
    KEY,
    Drawn,
    Quarters,
    X,
    agree,
    drawn_pair,
    numbers_only,
    sequences,
    slices,
    windows,
)
from tests.drawn import drawn

GROUPS = drawn(30)
SYMBOLS = 4


def drawn_group(random: Random) -> list[tuple[Drawn, tuple[Measured, ...]]]:
    """Queries over one stream with one key, some of them the same or with the same windows."""
    members: list[tuple[Drawn, tuple[Measured, ...]]] = []
    base = shareable(random, None)
    for _ in range(random.randint(2, 6)):
        own = shareable(random, base)
        if members and random.random() < 0.4:
            own = replace(own, program=replace(own.program, expression=members[-1][0].program.expression))
        if able(own) and key_of(compile_plan(own.program)) == key_of(compile_plan(base.program)):
            members.append((own, tuple(random.sample(COMPILED, random.randint(0, 3)))))
    return members


def shareable(random: Random, base: Drawn | None) -> Drawn:
    """A pair that can be in a group; over the stream and with the symbols of `base`."""
    for _ in range(400):
        own = drawn_pair(random) if base is None else another(random, base)
        if able(own) and (base is None or key_of(compile_plan(own.program)) == key_of(compile_plan(base.program))):
            return own
    assert base is not None
    return base


def another(random: Random, base: Drawn) -> Drawn:
    """Another query over the same stream."""
    partition = (KEY,) if KEY in base.program.symbols[0].scope and random.random() < 0.5 else ()
    window = base.program.window if random.random() < 0.5 else replace(windows(random), in_events=False, sliding=False)
    own = replace(base.program, expression=sequences(random), window=window, partition=partition)
    return replace(base, program=own)


def able(own: Drawn) -> bool:
    plan = compile_plan(own.program)
    return why_not_propagated(plan, key_of(plan), COMPILED) is None and why_not_shared(plan, COMPILED) is None


def member(plan: Plan, measured: tuple[Measured, ...]) -> Member:
    """A member whose symbols and variables have other numbers in the group: the key comes first."""
    key = key_of(plan)
    symbols = {symbol: SYMBOLS - 1 - symbol for symbol in range(SYMBOLS)}
    return Member(plan, key, measured, symbols, {X: len(key)})


class Driver:
    """A group, and the queries that have left it."""

    def __init__(self, members: Sequence[tuple[Drawn, tuple[Measured, ...]]]) -> None:
        self.plans = [compile_plan(own.program) for own, _ in members]
        self.measured = [measured for _, measured in members]
        self.key = key_of(self.plans[0])
        given = [member(plan, measured) for plan, measured in zip(self.plans, self.measured, strict=True)]
        self.group = SharedPropagation(given, SYMBOLS, len(self.key), Quarters())
        self.alone: dict[int, PropagatingEvaluator] = {}
        self.found: list[list[Found]] = [[] for _ in members]

    def leave(self, left: dict[int, Left]) -> None:
        """Lets queries go on alone, with exact values."""
        for number, state in left.items():
            alone = PropagatingEvaluator(self.plans[number], self.key, self.measured[number], Quarters())
            alone.take(state.cells)
            alone.position = state.position
            self.alone[number] = alone

    def run(self, random: Random, stream: Sequence[tuple[int, object]], leaving: float = 0.2) -> None:
        """The stream in random slices; at times a query leaves between two."""
        cuts = sorted(random.sample(range(1, len(stream)), random.randrange(len(stream))))
        for events, solutions in slices(stream, cuts):
            shared = {
                SYMBOLS - 1 - symbol: replace(table, values={n: table.values[v] for n, v in enumerate((*self.key, X))})
                for symbol, table in solutions.items()
            }
            self.leave(self.group.on_batch(events, shared))
            for number, alone in self.alone.items():
                self.found[number] += alone.on_batch(events, solutions)
            time = int(events.times[-1]) - 1
            self.group.on_watermark(time)
            for number, alone in self.alone.items():
                self.found[number] += alone.on_watermark(time)
            if random.random() < leaving and self.group.members:
                number = random.choice(sorted(self.group.members))
                self.leave({number: self.group.leave(number)})
        self.group.finish()
        for number, found in enumerate(self.found):
            found += self.group.take(number)
        for number, alone in self.alone.items():
            self.found[number] += alone.finish()

    def by_unit(self, number: int) -> dict[tuple[int, tuple[int, ...]], Found]:
        """What a query has found, its parts together."""
        plus = PropagatingEvaluator(self.plans[number], self.key, self.measured[number], Quarters()).measures.plus
        found: dict[tuple[int, tuple[int, ...]], Found] = {}
        for each in self.found[number]:
            known = found.get((each.unit, each.key))
            vector = each.vector if known is None else plus(known.vector, each.vector)
            found[each.unit, each.key] = each._replace(vector=vector)
        return found


@given(st.integers(0, 1 << 40))
@settings(max_examples=GROUPS, phases=(Phase.reuse, Phase.generate))
def test_each_query_of_a_group_has_the_aggregates_of_its_own_matches(seed: int) -> None:
    random = Random(seed)
    members = drawn_group(random)
    if random.random() < 0.8:
        stream = tuple((time, numbers_only(rows)) for time, rows in members[0][0].stream)
        members = [(replace(own, stream=stream), measured) for own, measured in members]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_cells, "_SLOTS_FIRST", 1)
        patch.setattr(group_cells, "_OUTPUT_FIRST", 2)
        patch.setattr(limbed_cells, "ONE_LIMB", 1 << random.choice((2, 4, 8, 35, 61)))
        driver = Driver(members)
        driver.run(random, members[0][0].stream)
    for number, (own, measured) in enumerate(members):
        agree(own, driver.by_unit(number), measured)


def chain(at_least: int, size: int) -> Plan:
    """`A : B:{n,} : C` in tumbling windows, without a key; B binds X."""
    symbols = tuple(Symbol("ABC"[n], s := frozenset({X} if n == 1 else ()), s, frozenset({0})) for n in range(3))
    steps = Steps((Step(0), Repetition(Step(1), at_least, None, ANY), Step(2)), (ANY, ANY))
    window = Window(size, in_events=False, sliding=False)
    return compile_plan(Program(steps, symbols, 3, (), window, (), Selector.ALL, Skip.NO_SKIP, (), 1))


def test_what_is_equal_for_several_queries_is_kept_once() -> None:
    """Iterations up to the least number are those of other queries; so is all of a query with another aggregate."""
    members = [Member(chain(n, 200), (), (), {0: 0, 1: 1, 2: 2}, {}) for n in (3, 1, 2, 3)]
    members.append(Member(chain(3, 200), (), (Measured(Kind.COUNT, X),), {0: 0, 1: 1, 2: 2}, {X: 0}))
    (widths,) = SharedPropagation(members, 3, 0, Quarters())._cells.program.widths
    assert widths == (2 + 2 + 3 + 3, 0, 0)  # the start and A, B once and twice, from n on, and the ends


def test_windows_of_several_lengths_of_equal_patterns_are_advanced_together() -> None:
    """Windows of one pattern have one set of quantities, each with a place for every window that may be open."""
    hopping = compile_plan(replace(chain(1, 200).program, window=Window(200, False, False, hop=50)))
    plans = [chain(1, 200), chain(2, 200), hopping, chain(1, 400), chain(2, 400)]
    members = [Member(plan, (), (), {0: 0, 1: 1, 2: 2}, {}) for plan in plans]
    program = SharedPropagation(members, 3, 0, Quarters())._cells.program
    assert sorted(frame.open_max for frame in program.frames) == [1, 1, 4]
    assert sorted(program.bundles) == [1, 2]


def test_numbers_of_a_group_that_were_large_become_small_again() -> None:
    """Windows of 2^90 matches and of few take turns."""
    measured = Measured(Kind.SUM, X), Measured(Kind.MAX, X), Measured(Kind.SUM, X, Kind.SUM)
    plans = [chain(1, 200), chain(2, 200), chain(1, 400)]
    stream = []
    for number, size in enumerate((90, 1, 90, 2, 1, 5)):
        kinds = [0, *[1] * size, 2]
        stream += [(200 * number + at, {k: [(0, 3 + at % 7 * 4, 0)]}) for at, k in enumerate(kinds)]
    own = [Drawn(plan.program, tuple(stream)) for plan in plans]
    driver = Driver([(each, measured) for each in own])
    exact = [PropagatingEvaluator(plan, (), measured, Quarters()) for plan in plans]
    driver.run(Random(3), stream, leaving=0)
    for number, evaluator in enumerate(exact):
        found = [each for events, solutions in slices(stream, ()) for each in evaluator.on_batch(events, solutions)]
        found += evaluator.finish()
        told = [(each.unit, each.vector[0], each.vector[3]) for each in found]
        assert told == [(each.unit, each.vector[0], each.vector[3]) for each in driver.found[number]]
    assert driver.group._cells._widths[0] < 4
