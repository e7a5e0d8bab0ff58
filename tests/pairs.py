"""Random pairs of a query and its streams: each evaluator against the reference, from a seed.

    python -m tests.pairs                                    every evaluator, 5,000 pairs each
    python -m tests.pairs lazy tree --pairs 500 --seed 7     some of them, other pairs
    python -m tests.pairs lazy --seed 7 --from 4711 --pairs 1     one pair again
    NUMBA_DISABLE_JIT=1 python -m tests.pairs                kernels as Python, the invariants of tECS asserted

The reference evaluates a pair once for all evaluators that apply to it. Events come in one batch or in random ones, and
the rows must have the reference's order. The first difference ends it: exit code 1, and the pair is printed, without
the events that can be left out of it.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from unittest.mock import patch

from arrays.jit import ASSERTING
from automata.cea.applicability import why_not_cea
from automata.plan.program import ConditionEvaluator, Program
from spaseq.algebra.build import build
from spaseq.errors import QueryError
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.physical import replanning
from spaseq.physical.applicability import why_no_registers, why_not_lazy, why_not_replanned
from spaseq.physical.plan import PROPAGATION, Form
from spaseq.physical.planner import plan_query
from spaseq.physical.program import Compiled, compile_program
from tests.automata.test_adaptive import Moody
from tests.driving import Comparable, comparable, run_engine
from tests.reference.api import evaluate
from tests.strategies import batches, interleaved, to_trig
from tests.strategies_keyed import KeyedText
from tests.strategies_late import LateText
from tests.strategies_limited import LimitedLateText, LimitedText
from tests.strategies_over import OverText
from tests.strategies_possessive import PossessiveText
from tests.strategies_propagated import PropagatedText
from tests.strategies_query import QueryText, rewindowed, under_any
from tests.strategies_register import FirstQuery, RegisterQuery
from tests.strategies_sequence import Dice, SeededDice
from tests.strategies_stream import Arrived, drawn_cuts, drawn_streams
from tests.strategies_subsets import SubsetText

STEADINESS = 0.5
"""The chance that the adaptive evaluator's mood lasts from batch to batch: the rates of ten events say nothing."""


@dataclass(frozen=True, slots=True)
class Tried:
    """An evaluator under its name.

    option      for `--evaluator`
    compiled    runs may be kept by compiled kernels
    why_not     what keeps it from a query, or None
    """

    option: str
    compiled: bool
    why_not: Callable[[Compiled], str | None]


EVALUATORS = {
    "runs": Tried("nfa", False, lambda compiled: None),
    "registers": Tried("nfa", True, why_no_registers),
    "cea": Tried("cea", True, lambda compiled: why_not_cea(compiled.plan)),
    "lazy": Tried("lazy", False, lambda compiled: why_not_lazy(compiled.plan)),
    "tree": Tried("tree", False, lambda compiled: why_not_lazy(compiled.plan)),
    "adaptive": Tried("adaptive", False, lambda compiled: why_not_replanned(compiled.plan)),
    "propagation": Tried("auto", False, lambda compiled: not_propagated(compiled, kernels=False)),
    "propagation in kernels": Tried("auto", True, lambda compiled: not_propagated(compiled, kernels=True)),
}


def not_propagated(compiled: Compiled, kernels: bool) -> str | None:
    """The reason why `auto` does not propagate aggregates, in kernels if asked for, or None."""
    planned = plan_query(compiled, kernels=kernels)
    if planned.evaluator != PROPAGATION:
        return f"{planned.evaluator} runs it"
    return "its aggregates are exact values" if kernels and planned.form is not Form.KERNELS else None


BRIEF = ("2 SECONDS SLIDING", "3 SECONDS SLIDING", "3 SECONDS", "3 EVENTS SLIDING", "4 EVENTS")
"""Windows that pass several times in a stream: evaluators are exchanged after one or two."""


def brief(dice: Dice) -> str:
    """A query for the lazy evaluators with a window that is short beside the streams."""
    return rewindowed(any_order(dice), dice.pick(*BRIEF))


def any_order(dice: Dice) -> str:
    """A query for the lazy evaluators."""
    return under_any(QueryText(dice).whole())


def late_any_order(dice: Dice) -> str:
    """The same, with matches that are decided late."""
    return under_any(LateText(dice).whole())


def any_subsets(dice: Dice) -> str:
    """A query for the lazy evaluators of whose matches few count."""
    return under_any(SubsetText(dice).whole())


def limited_any_order(dice: Dice) -> str:
    """A query for the lazy evaluators with limits."""
    return under_any(LimitedText(dice).whole())


def limited_late_any_order(dice: Dice) -> str:
    """The same, with matches that are decided late."""
    return under_any(LimitedLateText(dice).whole())


def over(dice: Dice) -> str:
    """A query OVER MATCHES."""
    return OverText(dice, late=dice.chance(30)).whole()


def any_over(dice: Dice) -> str:
    """The same for the lazy evaluators."""
    return under_any(over(dice))


TEXTS: Sequence[Callable[[Dice], str]] = (
    lambda dice: QueryText(dice).whole(),
    any_order,
    brief,
    lambda dice: KeyedText(dice).keyed(),
    lambda dice: LateText(dice).whole(),
    late_any_order,
    lambda dice: RegisterQuery(dice).whole(),
    lambda dice: FirstQuery(dice).whole(),
    lambda dice: SubsetText(dice).whole(),
    any_subsets,
    lambda dice: LimitedText(dice).whole(),
    lambda dice: LimitedLateText(dice).whole(),
    limited_any_order,
    limited_late_any_order,
    over,
    any_over,
    lambda dice: PossessiveText(dice).whole(),
    lambda dice: PropagatedText(dice).keyed(),
    lambda dice: PropagatedText(dice).keyed(),
)
"""Kinds of random queries, one after the other: of the whole language, and of what single evaluators cover."""
_REWRITTEN = (any_order, brief, late_any_order, any_subsets, limited_any_order, limited_late_any_order, any_over)
"""Those that may not be valid any more: what they drop may be asked for elsewhere."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A query, its events in order of arrival, and the sizes of the batches that they come in."""

    query: Query
    arrived: tuple[Arrived, ...]
    sizes: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """Whether all events come at once."""
        return len(self.sizes) == 1

    def without(self, number: int) -> Pair:
        """The pair that lacks one event."""
        before, batch = 0, 0
        while before + self.sizes[batch] <= number:
            before, batch = before + self.sizes[batch], batch + 1
        sizes = (*self.sizes[:batch], self.sizes[batch] - 1, *self.sizes[batch + 1 :])
        return replace(self, arrived=self.arrived[:number] + self.arrived[number + 1 :], sizes=sizes)


def drawn(seed: int, number: int) -> Pair | None:
    """The pair with this number; None where the kind asked for is not valid without what was taken from it."""
    dice, kind = SeededDice(Random(f"{seed} {number}")), TEXTS[number % len(TEXTS)]
    try:
        query = parse(kind(dice), "q")
    except QueryError:
        assert kind in _REWRITTEN, number
        return None
    declared = {stream.name for stream in query.streams}
    least, most = (8, 14) if kind is brief else (4, 12)
    arrivals = {name: events for name, events in drawn_streams(dice, least, most).items() if name in declared}
    arrived = tuple(interleaved(arrivals))
    sizes = (len(arrived),) if dice.chance(5 if kind is brief else 30) else tuple(drawn_cuts(dice, len(arrived)))
    return Pair(query, arrived, sizes)


def expected_rows(pair: Pair) -> list[Comparable]:
    """The reference's."""
    arrivals = {s.name: tuple(e[1:] for e in pair.arrived if e[0] == s.name) for s in pair.query.streams}
    return [comparable(row) for row in evaluate(pair.query, arrivals)]


def difference(evaluator: str, pair: Pair, expected: Sequence[Comparable]) -> str | None:
    """What an evaluator finds other than the reference, in words; None: nothing."""
    tried = EVALUATORS[evaluator]
    pieces = batches(pair.arrived, pair.sizes)

    def moody(program: Program, condition_evaluator: ConditionEvaluator) -> Moody:
        return Moody(Random(f"{pair.sizes} {pair.query.text}"), STEADINESS)

    try:
        with patch.object(replanning, "RatesDecide", moody):
            rows = run_engine(pair.query, pieces, evaluator=tried.option, compiled=tried.compiled)
    except Exception:
        return traceback.format_exc()
    found = [comparable(row) for row in rows]
    missing, extra = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    if missing or extra:
        return "".join(f"{sign} {row}\n" for sign, some in (("-", missing), ("+", extra)) for row in some.elements())
    return None if found == list(expected) else "the order of the rows is another one\n"


def smallest(evaluator: str, pair: Pair) -> Pair:
    """The pair without every event that the difference does not need."""
    for number in reversed(range(len(pair.arrived))):
        less = pair.without(number)
        if difference(evaluator, less, expected_rows(less)):
            pair = less
    return pair


def shown(pair: Pair) -> str:
    """The pair to be read."""
    lines = [pair.query.text.rstrip()]
    for stream in pair.query.streams:
        lines.append(f"# {stream.name}\n{to_trig(tuple(e[1:] for e in pair.arrived if e[0] == stream.name)).rstrip()}")
    return "\n".join([*lines, f"# batches of {', '.join(map(str, pair.sizes))} events"])


@dataclass(slots=True)
class Tally:
    """Of one evaluator: pairs compared, those with a row, all rows."""

    pairs: int = 0
    matched: int = 0
    rows: int = 0

    def add(self, rows: int) -> None:
        """One more pair."""
        self.pairs += 1
        self.matched += rows > 0
        self.rows += rows


def compare(tallies: Mapping[str, Tally], pairs: int, seed: int, first: int) -> str | None:
    """Compares until every evaluator has had so many pairs; the first difference in words, or None."""
    for number in count(first):
        left = [name for name, tally in tallies.items() if tally.pairs < pairs]
        pair = drawn(seed, number) if left else None
        if not left:
            return None
        if pair is None:
            continue
        compiled = compile_program(build(pair.query))
        able = [name for name in left if EVALUATORS[name].why_not(compiled) is None]
        expected = expected_rows(pair) if able else []
        for name in able:
            if difference(name, pair, expected):
                least = smallest(name, pair)
                told = difference(name, least, expected_rows(least))
                return f"{name}, pair {number}:\n{shown(least)}\n# - the reference alone, + {name} alone\n{told}"
            tallies[name].add(len(expected))
    raise AssertionError("numbers do not end")


def main() -> None:
    """Compare and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluators", nargs="*", metavar="EVALUATOR", help=f"of {', '.join(EVALUATORS)} [all]")
    parser.add_argument("--pairs", type=int, default=5000, metavar="N", help="with each evaluator [5000]")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="[1]")
    parser.add_argument("--from", type=int, default=0, metavar="K", dest="first", help="the first pair's number [0]")
    options = parser.parse_args()
    if unknown := set(options.evaluators) - set(EVALUATORS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    tallies = {name: Tally() for name in options.evaluators or EVALUATORS}
    try:
        found = compare(tallies, options.pairs, options.seed, options.first)
    except KeyboardInterrupt:
        print("stopped before its end")
        found = None
    print(f"seed {options.seed}, kernels {'as Python, invariants asserted' if ASSERTING else 'compiled'}")
    print(f"{'evaluator':22}{'pairs':>8}{'with rows':>11}{'rows':>10}")
    for name, tally in tallies.items():
        print(f"{name:22}{tally.pairs:8,}{tally.matched:11,}{tally.rows:10,}")
    print(found or "no difference")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
