"""Complex event automata by the examples of CEL, and what must not grow with the stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from automata.cea import ordered
from automata.cea.cea_evaluator import CeaEvaluator
from automata.cea.configurations import Configurations
from automata.cea.core import CeaCore
from automata.cea.determinize import Determinised
from automata.cea.strategies import strategy_for
from automata.plan import expression as nodes
from automata.plan.expression import Choice, Contiguity, Expression, Repetition, Step
from automata.plan.plan import Plan, compile_plan
from automata.plan.program import FoldValue, Program, Reference, Selector, Skip, Symbol, Window
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids, Mask, Match
from sparql_gpm.times import format_time
from spaseq import Engine, Row, parse

ANY = Contiguity.ANY
FOREVER = Window(1 << 40, in_events=False, sliding=True)
# CEL's running stream: (type, sensor, value); its symbols are what the filters of φ1, φ2 and φ3 ask for
STREAM = (
    ("H", 2, 25), ("T", 0, 45), ("H", 0, 20), ("H", 1, 25), ("T", 1, 40), ("T", 0, 42), ("T", 1, 25), ("H", 1, 70),
    ("H", 0, 18),
)  # fmt: skip
HOT = [n for n, (kind, sensor, value) in enumerate(STREAM) if kind == "T" and sensor == 0 and value > 40]
DRY = [n for n, (kind, sensor, value) in enumerate(STREAM) if kind == "H" and sensor == 0 and value <= 25]
LOW = [n for n, (kind, sensor, value) in enumerate(STREAM) if kind == "H" and sensor == 1 and value < 30]
READ = [n for n, (kind, sensor, _) in enumerate(STREAM) if kind == "T" and sensor == 1]
HIGH = [n for n, (kind, sensor, value) in enumerate(STREAM) if kind == "H" and sensor == 1 and value > 60]
PHI1: Expression = nodes.Sequence((Step(0), Step(1)), (ANY,))
PHI2: Expression = Choice((PHI1, nodes.Sequence((Step(1), Step(0)), (ANY,))))
PHI3: Expression = nodes.Sequence((Step(0), Repetition(Step(1), 1, None, ANY), Step(2)), (ANY, ANY))


class Nothing:
    """A host of programs without conditions, whose matches project nothing."""

    def holds(self, condition: int, columns: Mapping[Reference, Ids], rows: int) -> Mask:
        raise AssertionError(condition)

    def fold(self, value: FoldValue, offsets: Ids, ids: Ids) -> Ids:
        raise AssertionError(value)

    def texts(self, matches: Sequence[Match]) -> Sequence[tuple[str, ...]]:
        return [()] * len(matches)


def plan(
    expression: Expression,
    symbols: int,
    window: Window = FOREVER,
    selector: Selector = Selector.ALL,
    skip: Skip = Skip.NO_SKIP,
    key: bool = False,
) -> Plan:
    """The plan of a program over one stream whose solutions bind nothing, or only the partition."""
    scope = frozenset({0}) if key else frozenset[int]()
    named = tuple(Symbol(f"S{number}", scope, scope, frozenset({0})) for number in range(symbols))
    return compile_plan(Program(expression, named, int(key), (), window, (0,) if key else (), selector, skip, (), 1))


def events(count: int, first: int = 0) -> Events:
    """One event a nanosecond."""
    return Events(np.arange(first, first + count, dtype=np.int64), np.zeros(count, dtype=np.int64))


def taken(*places: Sequence[int]) -> dict[int, SymbolSolutions]:
    """Which events each symbol takes."""
    return {number: SymbolSolutions(np.array(own, dtype=np.int64), {}) for number, own in enumerate(places)}


def positions(expression: Expression, selector: Selector, *places: Sequence[int]) -> list[set[int]]:
    """The complex events of CEL's stream."""
    evaluator = CeaEvaluator(plan(expression, len(places), selector=selector), Nothing())
    return [{entry[1] for entry in match.entries} for match in evaluator.on_batch(events(len(STREAM)), taken(*places))]


def test_phi_one_two_and_three_give_the_complex_events_that_the_paper_lists() -> None:
    assert positions(PHI1, Selector.ALL, HOT, DRY) == [{1, 2}, {1, 8}, {5, 8}]
    assert positions(PHI2, Selector.ALL, HOT, DRY) == [{1, 2}, {2, 5}, {1, 8}, {5, 8}]
    assert positions(PHI3, Selector.ALL, LOW, READ, HIGH) == [{3, 4, 6, 7}, {3, 4, 7}, {3, 6, 7}]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (Selector.NEXT, [{1, 2}, {1, 8}]),
        (Selector.LAST, [{1, 2}, {5, 8}]),
        (Selector.STRICT, [{1, 2}]),
        (Selector.MAX, [{1, 2}, {1, 8}, {5, 8}]),
    ],
)
def test_each_selector_keeps_of_phi_one_what_the_paper_says(selector: Selector, expected: list[set[int]]) -> None:
    assert positions(PHI1, selector, HOT, DRY) == expected


@pytest.mark.parametrize("selector", [Selector.NEXT, Selector.LAST, Selector.MAX])
def test_the_selectors_keep_of_phi_three_the_largest(selector: Selector) -> None:
    assert positions(PHI3, selector, LOW, READ, HIGH) == [{3, 4, 6, 7}]


@pytest.mark.parametrize("selector", [Selector.NEXT, Selector.LAST, Selector.MAX])
def test_a_selector_goes_on_with_few_of_exponentially_many_markings(selector: Selector) -> None:
    """A start, 300 iterations and an end: 2^300 - 1 matches, one of which is kept."""
    evaluator = CeaEvaluator(plan(PHI3, 3, selector=selector), Nothing())
    (match,) = evaluator.on_batch(events(302), taken([0], range(1, 301), [301]))
    assert [position for _, position, _ in match.entries] == list(range(302))


def test_the_matches_of_one_event_come_in_order_in_pieces_of_a_bounded_size() -> None:
    """Starts and iterations in turn, then one end: the matches of a triggering event are divided."""
    sequence = nodes.Sequence((Step(0), Step(1), Step(2)), (ANY, ANY))
    slice_ = events(201), taken(range(0, 200, 2), range(1, 200, 2), [200])
    whole = CeaEvaluator(plan(sequence, 3), Nothing()).on_batch(*slice_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered, "ROWS_MAX", 64)
        pieces = list(CeaEvaluator(plan(sequence, 3), Nothing()).pieces(*slice_))
    assert len(whole) == 5050
    assert [match for piece in pieces for match in piece] == list(whole)
    assert max(map(len, pieces)) <= 65


def test_the_arena_is_bounded_by_the_window() -> None:
    core = CeaCore(plan(PHI3, 3, Window(50, in_events=False, sliding=True)))
    held = []
    for first in range(0, 4000, 100):
        for _ in core.feed(events(100, first), taken(range(0, 100, 2), range(1, 100, 2), [])):
            pass
        core.forget(first + 99)
        held.append(core.nodes)
    assert max(held[1:]) <= 2 * held[1]
    assert len(core.entries.rows) <= 51


def test_the_arena_is_bounded_by_the_window_however_long_the_stretch_and_finds_the_same() -> None:
    window = Window(50, in_events=False, sliding=True)
    core, few, count = (
        CeaCore(plan(PHI1, 2, window)),
        CeaCore(plan(PHI1, 2, window)),
        6000,
    )
    every = range(0, count, 2), range(1, count, 2)
    found = [part.ends.size for part in core.feed(events(count), taken(*every))]
    assert core.nodes_made > 2 * core.capacity
    pieces = range(0, count, 10)
    alone = [p.ends.size for n in pieces for p in few.feed(events(10, n), taken(range(0, 10, 2), range(1, 10, 2)))]
    assert sum(found) == sum(alone) == sum(min(n, 49) // 2 + 1 for n in range(1, count, 2))


def test_one_event_may_have_more_matches_than_there_is_room_for() -> None:
    core = CeaCore(plan(PHI3, 3))
    parts = [(c.entries.size, c.ends.size) for c in core.feed(events(20), taken([0], range(1, 19), [19]))]
    assert sum(matches for _, matches in parts) == 2**18 - 1
    assert sum(labels for labels, _ in parts) == 2**18 * (2 + 9) - 2
    assert max(labels for labels, _ in parts) <= 1 << 18


def test_keys_out_of_the_window_are_forgotten() -> None:
    evaluator = CeaEvaluator(plan(PHI1, 2, Window(20, in_events=False, sliding=True), key=True), Nothing())
    for first in range(0, 5000, 10):
        column = np.arange(10, dtype=np.int64)
        solutions = {0: SymbolSolutions(column, {0: 1 + first + column})}
        assert evaluator.on_batch(events(10, first), solutions) == []
    ids = np.unique(np.concatenate([column.ravel() for column in evaluator.live_ids()]))
    assert len(ids) <= 100


def test_determinisation_forgets_what_no_run_needs() -> None:
    automaton = plan(PHI3, 3)
    determinised = Determinised(strategy_for(automaton, Configurations(automaton)))
    determinised.determine(0, determinised.number_of(0b001))
    (wanted,) = (int(cell) for cell in determinised.moves.targets[:1])
    for bits in range(1, 8):
        determinised.determine(wanted, determinised.number_of(bits))
    numbers = determinised.forget_all_but(np.array([wanted]))
    assert numbers[wanted] == 1
    assert determinised.number_of(0b010) == 1
    determinised.determine(1, 1)
    assert determinised.moves.effort[1, 1] > 0


def test_a_limit_gives_the_newest_starts_of_each_triggering_event() -> None:
    core = CeaCore(plan(PHI1, 2))
    solutions = taken([0, 1, 2], [3])
    found = [c.entries.tolist() for c in core.feed(events(4), solutions, limit=2)]
    assert found == [[2, 3, 1, 3]]


@pytest.mark.parametrize("selector", [Selector.NEXT, Selector.LAST, Selector.MAX])
def test_what_is_consumed_still_outdoes_others_before_they_are_reported(selector: Selector) -> None:
    """The selector comes before AFTER MATCH: {1} loses against {0, 1}, which the report of {0} forbids."""
    some = Repetition(Step(0), 1, None, ANY)
    evaluator = CeaEvaluator(plan(some, 1, selector=selector, skip=Skip.CONSUME_ALL), Nothing())
    assert [match.entries[0][1] for match in evaluator.on_batch(events(3), taken([0, 1, 2]))] == [0]
    every = CeaEvaluator(plan(some, 1, skip=Skip.CONSUME_ALL), Nothing())
    assert [match.entries[0][1] for match in every.on_batch(events(3), taken([0, 1, 2]))] == [0, 1, 2]


@pytest.mark.parametrize("window", ["10 SECONDS SLIDING", "10 SECONDS", "10 EVENTS SLIDING"])
@pytest.mark.parametrize("origin", [-(2**63) + 1, -(2**62) - 5 * 10**9, -(2**62)])
def test_times_from_the_first_one_on_are_times(window: str, origin: int) -> None:
    text = f"""PREFIX : <http://x/> SELECT * WITHIN {window} FROM STREAM S1 <http://x/s> WHERE {{
      SEQ(A : B) DEFINE GPM A ON S1 {{ ?a a :A }} DEFINE GPM B ON S1 {{ ?b a :B }} }}"""
    found = []
    for evaluator in ("nfa", "cea"):
        rows: list[Row] = []
        with Engine(evaluator=evaluator) as engine:
            engine.register(parse(text), on_match=rows.append)
            for number in range(12):
                engine.push(
                    "S1", f"<urn:e{number}> a <http://x/{'AB'[number % 2]}> .", format_time(origin + number * 3 * 10**9)
                )
        found.append([row.events for row in rows])
    assert found[0] == found[1] and found[0]
