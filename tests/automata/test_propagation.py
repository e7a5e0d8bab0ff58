"""Propagated aggregates against those over enumerated matches, on random programs, streams and slices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from automata.plan import expression as nodes
from automata.plan.expression import Choice, Contiguity, Expression, Optional, Repetition, Step
from automata.plan.keys import key_of
from automata.plan.plan import compile_plan
from automata.plan.program import FoldValue, Program, Reference, Selector, Skip, Symbol, Window
from automata.propagation import kernel_cells, limbed_cells
from automata.propagation.applicability import why_not_propagated
from automata.propagation.compiled import CompiledPropagation
from automata.propagation.measures import Addend, Kind, Measured, Scaled
from automata.propagation.overlapping import panes, queued_cells
from automata.propagation.propagating_evaluator import PropagatingEvaluator
from automata.propagation.windows import Found
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.slices.events import Events, SymbolSolutions
from automata.values import UNBOUND, Ids, Mask, Match
from tests.drawn import drawn

PAIRS = drawn(240)
KEY, X, Y = range(3)
ANY, NEXT, STRICT = Contiguity.ANY, Contiguity.NEXT, Contiguity.STRICT
ENDLESS = Window(1 << 60, in_events=False, sliding=True)
TEXTS = 30
"""Ids from here on are texts, those below numbers."""
MEASURED = (
    Measured(Kind.COUNT, X),
    Measured(Kind.SUM, X),
    Measured(Kind.MIN, X),
    Measured(Kind.MAX, X),
    Measured(Kind.SUM, X, Kind.COUNT),
    Measured(Kind.SUM, X, Kind.SUM),
    *(Measured(one, X, two) for one in (Kind.MIN, Kind.MAX) for two in Kind),
)
COMPILED = (*MEASURED[:6], Measured(Kind.MIN, X, Kind.MIN), Measured(Kind.MAX, X, Kind.MAX))


class Nothing:
    """A host of programs without conditions."""

    def holds(self, condition: int, columns: Mapping[Reference, Ids], rows: int) -> Mask:
        raise AssertionError(condition)

    def fold(self, value: FoldValue, offsets: Ids, ids: Ids) -> Ids:
        raise AssertionError(value)

    def texts(self, matches: Sequence[Match]) -> Sequence[tuple[str, ...]]:
        return [()] * len(matches)


class Quarters:
    """Ids below TEXTS are numbers, in quarters; the others are texts."""

    def addend(self, identifier: int) -> Addend | None:
        if identifier >= TEXTS:
            return None
        number = Fraction(identifier - 15, 4)
        return Addend(int(number), 0, 1) if number.denominator == 1 else Addend(0, number, 2)

    def place(self, identifier: int) -> tuple[int, Any]:
        return int(identifier >= TEXTS), identifier

    def numbers(self, ids: Ids) -> NDArray[np.float64]:
        return np.where(ids < TEXTS, (ids - 15) / 4, np.nan)

    def scaled(self, ids: Ids) -> Scaled | None:
        whole = (ids - 15) % 4 == 0
        if (ids >= TEXTS).any() or len(np.unique(whole)) > 1:
            return None
        if whole.all():
            return Scaled(1, False, (ids - 15) // 4, np.zeros_like(ids))
        return Scaled(2, False, (ids - 15) * 25, np.full_like(ids, -2))

    def sum_place(self, addend: Addend) -> Any:
        return addend.decimal + addend.binary


@dataclass(frozen=True, slots=True)
class Drawn:
    """A program, and a stream as (time, symbol → rows of the values of KEY, X and Y)."""

    program: Program
    stream: tuple[tuple[int, dict[int, list[tuple[int, int, int]]]], ...]


def expressions(random: Random, depth: int = 2) -> Expression:
    kind = random.randrange(9) if depth else 0
    if kind < 3:
        return Step(random.randrange(4))
    if kind < 6:
        count = random.randint(2, 3)
        items = tuple(expressions(random, depth - 1) for _ in range(count))
        operators = tuple(random.choice((ANY, ANY, NEXT, STRICT)) for _ in range(count - 1))
        return nodes.flattened(nodes.Sequence(items, operators))
    if kind == 6:
        branches = [expressions(random, depth - 1) for _ in range(2)]
        return Choice(tuple(b for one in branches for b in (one.branches if isinstance(one, Choice) else (one,))))
    low = random.randint(1, 2)
    high = random.choice((None, None, low, low + 1))
    return Repetition(expressions(random, depth - 1), low, high, random.choice((ANY, NEXT, STRICT)))


def sequences(random: Random) -> Expression:
    """A sequence whose items may be negated or optional, but not all of them."""
    items: list[Expression] = [expressions(random) for _ in range(random.randint(1, 3))]
    for _ in range(random.randrange(3)):
        step = Step(random.randrange(4))
        absent: Expression = random.choice((nodes.Negation(step), Optional(step)))
        items.insert(random.randint(0, len(items)), absent)
    operators = tuple(random.choice((ANY, ANY, NEXT, STRICT)) for _ in items[1:])
    return nodes.flattened(nodes.Sequence(tuple(items), operators)) if len(items) > 1 else items[0]


def drawn_pair(random: Random) -> Drawn:
    keyed, own = random.choice(((True, True), (True, False), (False, False))), []
    for number in range(4):
        scope = {KEY} if keyed[0] else set()
        scope |= {X} if random.random() < 0.5 and not any(X in symbol.scope for symbol in own) else set()
        scope |= {Y} if random.random() < 0.2 and not any(Y in symbol.scope for symbol in own) else set()
        certain = frozenset(scope) - ({X} if random.random() < 0.3 else set())
        own.append(Symbol("ABCD"[number], frozenset(scope), certain, frozenset({0})))
    partition = (KEY,) if keyed[0] and keyed[1] else ()
    program = Program(
        sequences(random), tuple(own), 3, (), windows(random), partition, Selector.ALL, Skip.NO_SKIP, (), 1
    )
    time, stream = 0, []
    for _ in range(random.randint(3, 12)):
        time += random.choice((0, 1, 1, 2))
        stream.append((time, {n: rows for n in range(4) if (rows := solutions_of(random, own[n]))}))
    return Drawn(program, tuple(stream))


def windows(random: Random) -> Window:
    events = random.random() < 0.3
    kind = random.randrange(3)
    size = random.randint(2, 14)
    start = random.choice((0, 0, 1, 2))
    if kind == 0:
        return Window(size, events, sliding=True)
    hop = random.randint(1, size) if kind == 1 else None
    return Window(size, events, sliding=False, start=start, anchored=start > 0, hop=hop)


def solutions_of(random: Random, symbol: Symbol) -> list[tuple[int, int, int]]:
    rows = set()
    for _ in range(random.choice((0, 0, 1, 1, 1, 2)) if random.random() < 0.85 else 0):
        value = random.choice((random.randint(1, 29), 12, 16, TEXTS, TEXTS + 1 if random.random() < 0.2 else 19))
        x = value if X in symbol.scope and (X in symbol.certain or random.random() < 0.7) else UNBOUND
        key = random.randint(1, 2) if KEY in symbol.scope else UNBOUND
        rows.add((key, x, random.randint(1, 3) if Y in symbol.scope else UNBOUND))
    return sorted(rows)


def slices(
    stream: Sequence[tuple[int, Any]], cuts: Sequence[int]
) -> Iterator[tuple[Events, dict[int, SymbolSolutions]]]:
    borders = [0, *cuts, len(stream)]
    for begin, end in pairwise(borders):
        part = stream[begin:end]
        solutions = {}
        for symbol in range(4):
            rows = [(n, *row) for n, (_, found) in enumerate(part) for row in found.get(symbol, ())]
            if rows:
                events, *columns = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
                solutions[symbol] = SymbolSolutions(events, dict(enumerate(columns)))
        times = np.array([time for time, _ in part], dtype=np.int64)
        yield Events(times, np.zeros(len(part), dtype=np.int64)), solutions


def enumerated(drawn: Drawn) -> dict[tuple[int, tuple[int, ...]], list[tuple[Match, list[int]]]]:
    """(unit, key) → the matches, each with the iterations' values of X."""
    window, found = drawn.program.window, defaultdict(list)
    key = key_of(compile_plan(drawn.program))
    if window.sliding:
        units = [(None, 0, drawn.stream)]
    else:
        units = list(units_of(window, drawn.stream))
    for unit, first, stream in units:
        own = drawn.program if window.sliding else replace(drawn.program, window=ENDLESS)
        evaluator = RunEvaluator(compile_plan(own), Nothing())
        for events, solutions in slices(stream, ()):
            matches = [*evaluator.on_batch(events, solutions), *evaluator.finish()]
            for match in matches:
                values = []
                for symbol, position, number in match.entries:
                    if X in drawn.program.symbols[symbol].scope:
                        values.append(stream[position][1][symbol][number][X])
                where = first + match.last if unit is None else unit
                group = tuple(match.registers[variable] for variable in key)
                found[where, group].append((match, [value for value in values if value != UNBOUND]))
    return found


def units_of(window: Window, stream: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, int, Sequence[tuple[int, Any]]]]:
    """Each window with its first position and its events."""
    hop = window.hop or window.size
    for number in range(-12, 40):
        begin = window.start + number * hop
        inside = [
            n
            for n, (time, _) in enumerate(stream)
            if begin <= (n if window.in_events else time) < begin + window.size and (number >= 0 or not window.anchored)
        ]
        if inside:
            yield number, inside[0], stream[inside[0] : inside[-1] + 1]


def aggregated(measured: Measured, matches: Sequence[tuple[Match, list[int]]]) -> Any:
    """The aggregate, literally; None where it has no value."""
    if measured.inner is None:
        return fold(measured.kind, [m.registers[X] for m, _ in matches if m.registers[X] != UNBOUND])
    inner = [fold(measured.inner, values, one=True) for _, values in matches]
    if measured.inner in (Kind.MIN, Kind.MAX):
        return fold(measured.kind, [value for value in inner if value is not None])
    numbers = [value for value in inner if value is not None]
    match measured.kind:
        case Kind.SUM:
            return sum(numbers)
        case Kind.MIN:
            return min(numbers, default=None)
    return max(numbers, default=None)


def fold(kind: Kind, values: Sequence[int], one: bool = False) -> Any:
    """An aggregate of ids; the outer ones do not compare numbers with texts, those of one match go by their order."""
    texts = [value for value in values if value >= TEXTS]
    match kind:
        case Kind.COUNT:
            return len(values)
        case Kind.SUM:
            return None if texts else sum((Fraction(value - 15, 4) for value in values), Fraction(0))
    if not one and texts and len(texts) < len(values):
        return None
    return (min if kind is Kind.MIN else max)(values, default=None)


def read(measured: Measured, value: Any) -> Any:
    """The aggregate that the value of a measure tells."""
    if measured.kind is Kind.COUNT or (measured.kind, measured.inner) == (Kind.SUM, Kind.COUNT):
        return value
    if measured.kind is Kind.SUM:
        return None if value.failed else value.decimal + value.binary
    best = {kind: found for kind, found in value.items() if kind != -1}
    if measured.inner in (Kind.SUM, Kind.COUNT):
        places = [place for place, _ in best.values()]
        return (min if measured.kind is Kind.MIN else max)(places, default=None)
    return next(iter(best.values()))[1] if len(best) == 1 else None


def propagated(
    drawn: Drawn, random: Random, measured: Sequence[Measured] = MEASURED, compiled: bool = False
) -> dict[tuple[int, tuple[int, ...]], Found]:
    """What is found, in random slices, with restarts."""
    plan = compile_plan(drawn.program)
    key = key_of(plan)
    assert why_not_propagated(plan, key, measured) is None

    def new() -> PropagatingEvaluator | CompiledPropagation:
        if compiled:
            return CompiledPropagation(plan, key, measured, Quarters())
        return PropagatingEvaluator(plan, key, measured, Quarters())

    evaluator, found = new(), list[Found]()
    plus = evaluator.measures.plus
    count = len(drawn.stream)
    cuts = sorted(random.sample(range(1, count), random.randrange(count)))
    for events, solutions in slices(drawn.stream, cuts):
        if len(events) == 1 and random.random() < 0.5:
            rows = {
                s: [
                    tuple(int(table.values[v][row]) for v in sorted(drawn.program.symbols[s].scope))
                    for row in range(len(table.events))
                ]
                for s, table in solutions.items()
            }
            found += evaluator.on_event(int(events.times[0]), rows)
        else:
            found += evaluator.on_batch(events, solutions)
        found += evaluator.on_watermark(int(events.times[-1]) - 1)
        if random.random() < 0.3:
            state = evaluator.snapshot()
            evaluator = new()
            evaluator.restore(state)
    found += evaluator.finish()
    by_unit: dict[tuple[int, tuple[int, ...]], Found] = {}
    for each in found:
        known = by_unit.get((each.unit, each.key))
        by_unit[each.unit, each.key] = each if known is None else each._replace(vector=plus(known.vector, each.vector))
    return by_unit


@given(st.integers(0, 1 << 40))
@settings(max_examples=PAIRS)
def test_propagated_aggregates_are_those_of_the_enumerated_matches(seed: int) -> None:
    random = Random(seed)
    drawn = applicable(random)
    agree(drawn, propagated(drawn, random), MEASURED)


@given(st.integers(0, 1 << 40))
@settings(max_examples=PAIRS)
def test_the_kernel_propagates_as_exact_values_do(seed: int) -> None:
    random = Random(seed)
    drawn = applicable(random)
    if random.random() < 0.8:
        drawn = replace(drawn, stream=tuple((time, numbers_only(rows)) for time, rows in drawn.stream))
    measured = tuple(random.sample(COMPILED, random.randint(0, len(COMPILED))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_cells, "_SLOTS_FIRST", 1)
        patch.setattr(panes, "WINDOWS_MIN", random.choice((2, 20)))
        patch.setattr(queued_cells, "SLOTS_FIRST", 1)
        patch.setattr(queued_cells, "NODES_FIRST", 1)
        patch.setattr(kernel_cells, "_OUTPUT_FIRST", 2)
        patch.setattr(limbed_cells, "ONE_LIMB", 1 << random.choice((2, 4, 8, 35, 61)))
        agree(drawn, propagated(drawn, random, measured, compiled=True), measured)


@pytest.mark.parametrize("idle", [True, False])
def test_numbers_that_were_large_become_small_again(idle: bool) -> None:
    """Windows of 2^90 matches and of one take turns, in slices that end where no window is open, or in their middle."""
    symbols = tuple(Symbol("ABC"[n], s := frozenset({X} if n == 1 else ()), s, frozenset({0})) for n in range(3))
    steps = nodes.Sequence((Step(0), Repetition(Step(1), 1, None, ANY), Step(2)), (ANY, ANY))
    window = Window(200, in_events=False, sliding=False)
    plan = compile_plan(Program(steps, symbols, 3, (), window, (), Selector.ALL, Skip.NO_SKIP, (), 1))
    measured = Measured(Kind.SUM, X), Measured(Kind.MAX, X), Measured(Kind.SUM, X, Kind.SUM)
    stream, cuts = [], []
    for number, size in enumerate((90, 1, 90, 1, 1, 5)):
        kinds = [0, *[1] * size, 2]
        stream += [(200 * number + at, {k: [(0, 3 + at % 7 * 4, 0)]}) for at, k in enumerate(kinds)]
        cuts.append(len(stream) - (0 if idle else 1))
    compiled = CompiledPropagation(plan, (), measured, Quarters())
    exact = PropagatingEvaluator(plan, (), measured, Quarters())
    found: list[list[Found]] = [[], []]
    for events, solutions in slices(stream, [cut for cut in cuts if cut < len(stream)]):
        for each, evaluator in zip(found, (compiled, exact), strict=True):
            each += evaluator.on_batch(events, solutions)
            each += evaluator.on_watermark(int(events.times[-1]) + (198 if idle else 0))
    found[0] += compiled.finish()
    found[1] += exact.finish()
    told = [[(each.unit, each.vector[0], each.vector[3]) for each in some] for some in found]
    assert len(told[0]) == 6
    assert told[0] == told[1]


@pytest.mark.parametrize("in_events", [False, True])
def test_a_sliding_window_of_many_events_is_in_kernels(in_events: bool) -> None:
    """Long windows, of which the front is turned often, with numbers that outgrow a limb and become small again."""
    random = Random(7)
    symbols = tuple(
        Symbol("ABC"[n], s := frozenset({KEY, X} if n == 1 else {KEY}), s, frozenset({0})) for n in range(3)
    )
    steps = nodes.Sequence((Step(0), Repetition(Step(1), 1, None, ANY), Step(2)), (ANY, ANY))
    program = Program(
        steps, symbols, 3, (), Window(240, in_events, sliding=True), (), Selector.ALL, Skip.NO_SKIP, (), 1
    )
    plan = compile_plan(program)
    measured = Measured(Kind.SUM, X), Measured(Kind.MAX, X), Measured(Kind.SUM, X, Kind.SUM), Measured(Kind.COUNT, X)
    stream = []
    for time in range(900):
        kind = random.choice((0, 1, 1, 1, 1, 2) if 200 < time < 500 else (0, 2, 2, 1))
        stream.append((time, {kind: [(random.randint(1, 2), 3 + random.randrange(6) * 4 if kind == 1 else 0, 0)]}))
    compiled = CompiledPropagation(plan, (KEY,), measured, Quarters())
    exact = PropagatingEvaluator(plan, (KEY,), measured, Quarters())
    found: list[list[Found]] = [[], []]
    for events, solutions in slices(stream, range(37, 900, 37)):
        for each, evaluator in zip(found, (compiled, exact), strict=True):
            each += evaluator.on_batch(events, solutions)
        assert compiled.exact.idle
    assert max(each.vector[0] for each in found[1]) > 1 << 62
    assert found[0] == found[1]


def test_sliding_windows_go_on_in_kernels_after_a_restart() -> None:
    symbol = Symbol("A", frozenset({X}), frozenset({X}), frozenset({0}))
    steps = nodes.Sequence((Step(0), Step(0)), (ANY,))
    program = Program(
        steps, (symbol,), 3, (), Window(5, in_events=False, sliding=True), (), Selector.ALL, Skip.NO_SKIP, (), 1
    )
    plan, measured = compile_plan(program), (Measured(Kind.SUM, X),)
    kept, restored = (CompiledPropagation(plan, (), measured, Quarters()) for _ in range(2))
    exact = PropagatingEvaluator(plan, (), measured, Quarters())
    for number, (events, solutions) in enumerate(slices([(t, {0: [(0, 3 + t % 5 * 4, 0)]}) for t in range(12)], (6,))):
        told = [
            list(each.on_batch(events, solutions))
            for each in ([kept, exact] if not number else [kept, restored, exact])
        ]
        assert all(each == told[0] for each in told)
        if not number:
            restored.restore(kept.snapshot())
            assert restored.exact.idle


@pytest.mark.parametrize("window", ["tumbling", "hopping", "panes", "sliding"])
@pytest.mark.parametrize("by", ["a restart", "a text"])
def test_kernels_take_what_begins_after_values_that_they_cannot_take(window: str, by: str) -> None:
    """Slices end in the middle of windows, so that something is open at every moment."""
    symbols = tuple(Symbol("AB"[n], s := frozenset({KEY, X} if n else {KEY}), s, frozenset({0})) for n in range(2))
    hop = {"hopping": 12, "panes": 2}.get(window)
    shape = Window(40, in_events=False, sliding=window == "sliding", hop=hop)
    steps = nodes.Sequence((Step(0), Repetition(Step(1), 1, None, ANY)), (ANY,))
    plan = compile_plan(Program(steps, symbols, 3, (), shape, (), Selector.ALL, Skip.NO_SKIP, (), 1))
    random, measured = Random(3), (Measured(Kind.MAX, X), Measured(Kind.SUM, X, Kind.SUM))
    stream = []
    for time in range(300):
        kind = random.randrange(2)
        x = TEXTS if by == "a text" and time in (51, 52, 190) else 3 + random.randrange(6) * 4
        if time in (51, 52, 190):
            kind = 1
        stream.append((time, {kind: [(random.randint(1, 2), x if kind else 0, 0)]}))
    exact = PropagatingEvaluator(plan, (KEY,), measured, Quarters())
    compiled, plus = CompiledPropagation(plan, (KEY,), measured, Quarters()), exact.measures.plus
    told: tuple[dict[tuple[int, tuple[int, ...]], Any], ...] = ({}, {})
    alone = []

    def tell(found: Sequence[Found], into: dict[tuple[int, tuple[int, ...]], Any]) -> None:
        for unit, key, vector in found:
            known = into.get((unit, key))
            into[unit, key] = vector if known is None else plus(known, vector)

    for number, (events, solutions) in enumerate(slices(stream, range(17, 300, 17))):
        if by == "a restart" and number in (3, 11):
            state, compiled = compiled.snapshot(), CompiledPropagation(plan, (KEY,), measured, Quarters())
            compiled.restore(state)
        tell(compiled.on_batch(events, solutions), told[0])
        tell(exact.on_batch(events, solutions), told[1])
        alone.append(compiled.exact.idle)
    tell(compiled.finish(), told[0])
    tell(exact.finish(), told[1])
    timed = window == "sliding"  # those of a window of time are not asked for
    told_of = [{group: v if timed else (v[0], v[3]) for group, v in some.items()} for some in told]
    assert told_of[0] == told_of[1]
    assert alone[0] and alone[9] and alone[-1], alone
    assert (window, by) == ("sliding", "a restart") or not all(alone)


def test_no_event_is_lost_where_rows_of_panes_fill_the_output_and_nothing_is_held_any_more() -> None:
    symbol = Symbol("A", frozenset({KEY}), frozenset({KEY}), frozenset({0}))
    window = Window(2, in_events=False, sliding=False, hop=1)
    plan = compile_plan(Program(Step(0), (symbol,), 3, (), window, (), Selector.ALL, Skip.NO_SKIP, (), 1))
    stream = [(0, {0: [(1, 0, 0)]}), (2, {0: [(1, 0, 0)]}), (4, {0: [(2, 0, 0)]})]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panes, "WINDOWS_MIN", 2)
        patch.setattr(kernel_cells, "_OUTPUT_FIRST", 2)
        compiled = CompiledPropagation(plan, (KEY,), (), Quarters())
        found = [each for events, solutions in slices(stream, (1,)) for each in compiled.on_batch(events, solutions)]
    found += compiled.finish()
    assert [(each.unit, each.key) for each in found] == [(n, (1 + (n > 2),)) for n in range(-1, 5)]


def test_slices_that_close_nothing_need_no_room_for_what_they_close() -> None:
    symbol = Symbol("A", frozenset(), frozenset(), frozenset({0}))
    program = Program(Step(0), (symbol,), 3, (), replace(ENDLESS, sliding=False), (), Selector.ALL, Skip.NO_SKIP, (), 1)
    compiled = CompiledPropagation(compile_plan(program), (), (), Quarters())
    stream = [(time, {0: [(0, 0, 0)]}) for time in range(60)]
    for events, solutions in slices(stream, range(1, 60)):
        assert not compiled.on_batch(events, solutions)
    assert [each.vector[0] for each in compiled.finish()] == [60]


def test_the_kernel_goes_on_after_a_snapshot() -> None:
    """A snapshot tells what the kernel holds, which keeps it."""
    symbol = Symbol("A", frozenset(), frozenset(), frozenset({0}))
    program = Program(Step(0), (symbol,), 3, (), replace(ENDLESS, sliding=False), (), Selector.ALL, Skip.NO_SKIP, (), 1)
    plan = compile_plan(program)
    kept, restored = CompiledPropagation(plan, (), (), Quarters()), CompiledPropagation(plan, (), (), Quarters())
    for number, (events, solutions) in enumerate(slices([(time, {0: [(0, 0, 0)]}) for time in range(6)], (3,))):
        kept.on_batch(events, solutions)
        assert kept.exact.idle
        if number == 0:
            restored.restore(kept.snapshot())
        else:
            restored.on_batch(events, solutions)
    assert [each.vector[0] for each in kept.finish()] == [each.vector[0] for each in restored.finish()] == [6]


def numbers_only(rows: Mapping[int, Sequence[tuple[int, int, int]]]) -> dict[int, list[tuple[int, int, int]]]:
    """The solutions with numbers of one type in place of the values of X."""
    return {symbol: sorted({(key, x and 3 + x % 7 * 4, y) for key, x, y in found}) for symbol, found in rows.items()}


def applicable(random: Random) -> Drawn:
    """A pair whose aggregates can be propagated."""
    for _ in range(200):
        drawn = drawn_pair(random)
        plan = compile_plan(drawn.program)
        if why_not_propagated(plan, key_of(plan), MEASURED) is None:
            return drawn
    pytest.fail("no program is applicable")


def agree(drawn: Drawn, found: Mapping[tuple[int, tuple[int, ...]], Found], aggregates: Sequence[Measured]) -> None:
    """Asserts that what is found is what the enumerated matches say."""
    expected = enumerated(drawn)
    in_time = not drawn.program.window.in_events and not drawn.program.window.sliding
    assert set(found) == set(expected)
    for group, matches in expected.items():
        count, first, last, values = found[group].vector
        assert count == len(matches)
        assert in_time or first == min(match.start for match, _ in matches)
        assert in_time or last == max(match.time for match, _ in matches)
        for measured, value in zip(aggregates, values, strict=True):
            assert read(measured, value) == aggregated(measured, matches), (measured, drawn)
