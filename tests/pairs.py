"""Random pairs of a query and its streams: each evaluator against the reference, from a seed.

    python -m tests.pairs                                    every evaluator, 5,000 pairs each
    python -m tests.pairs lazy tree --pairs 500 --seed 7     some of them, other pairs
    python -m tests.pairs --new                              only pairs with constructs of `tests.constructs`
    python -m tests.pairs lazy --seed 7 --from 4711 --pairs 1     one pair again
    python -m tests.pairs --at top                           at the end of the range of times; all: everywhere
    python -m tests.pairs --jit off                          kernels as Python, the invariants of tECS asserted

The reference evaluates a pair once for all evaluators that apply to it. Events come in one batch or in random ones, and
the rows must have the reference's order. Kinds of queries of which an evaluator takes next to none are drawn for others
only, once that is known of them. At the end it is shown how many pairs had each construct, and how many of them
had a row. The first difference ends it: exit code 1, and the pair is printed, without the events, clauses and
conditions that can be left out of it.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, count
from random import Random
from typing import Any
from unittest.mock import patch

from arrays.jit import ASSERTING
from automata.cea.applicability import why_not_cea
from automata.plan.program import ConditionEvaluator, Program
from automata.propagation.overlapping import panes
from sparql_gpm.syntax import grammar
from spaseq.algebra.build import build
from spaseq.algebra.nodes import TemporalQuery
from spaseq.physical import evaluators, replanning
from spaseq.physical.applicability import why_no_registers, why_not_lazy, why_not_replanned
from spaseq.physical.kernels_later import Kernels
from spaseq.physical.plan import PROPAGATION, Form
from spaseq.physical.planner import plan_query
from spaseq.physical.program import Compiled, compile_program
from spaseq.physical.propagation import propagation_of
from tests.automata.test_adaptive import Moody
from tests.constructs import constructs
from tests.driving import Comparable, comparable, run_engine
from tests.placed import PLACES, placed, places_of
from tests.random_pairs import TEXTS, Pair, drawn, expected_rows, shown
from tests.shrinking import smallest
from tests.strategies.stream import batches

STEADINESS = 0.5
"""The chance that the adaptive evaluator's mood lasts from batch to batch: the rates of ten events say nothing."""
KNOWN, RARE = 8, 10
"""Pairs of a kind of query after which an evaluator is known to take it rarely: a tenth as often as another kind."""
TREES_MAX = 1 << 12
"""Trees of SPARQL that are remembered: random patterns repeat themselves more seldom than those of users."""


@dataclass(frozen=True, slots=True)
class Tried:
    """An evaluator under its name.

    option      for `--evaluator`
    compiled    runs may be kept by compiled kernels
    why_not     what keeps it from a query, or None
    later       kernels take over while the query runs
    in_panes    hopping windows are products of panes, however few of them are open at once
    """

    option: str
    compiled: bool
    why_not: Callable[[Compiled], str | None]
    later: bool = False
    in_panes: bool = False


EVALUATORS = {
    "runs": Tried("nfa", False, lambda compiled: None),
    "registers": Tried("nfa", True, why_no_registers),
    "cea": Tried("cea", True, lambda compiled: why_not_cea(compiled.plan)),
    "lazy": Tried("lazy", False, lambda compiled: why_not_lazy(compiled.plan)),
    "tree": Tried("tree", False, lambda compiled: why_not_lazy(compiled.plan)),
    "adaptive": Tried("adaptive", False, lambda compiled: why_not_replanned(compiled.plan)),
    "kernels later": Tried("auto", False, lambda compiled: never_in_kernels(compiled), later=True),
    "propagation": Tried("auto", False, lambda compiled: not_propagated(compiled, kernels=False)),
    "propagation in kernels": Tried("auto", True, lambda compiled: not_propagated(compiled, kernels=True)),
    "propagation in panes": Tried("auto", True, lambda compiled: not_in_panes(compiled), in_panes=True),
}


def never_in_kernels(compiled: Compiled) -> str | None:
    """The reason why no kernels take over in `auto`, or None."""
    return "no evaluator in kernels would" if plan_query(compiled, kernels=None).later is None else None


def not_propagated(compiled: Compiled, kernels: bool) -> str | None:
    """The reason why `auto` does not propagate aggregates, in kernels if asked for, or None."""
    planned = plan_query(compiled, kernels=kernels)
    if planned.evaluator != PROPAGATION:
        return f"{planned.evaluator} runs it"
    return "its aggregates are exact values" if kernels and planned.form is not Form.KERNELS else None


@patch.object(panes, "WINDOWS_MIN", 2)
def not_in_panes(compiled: Compiled) -> str | None:
    """The reason why `auto` does not propagate aggregates in kernels over panes, or None."""
    return not_propagated(compiled, kernels=True) or panes.why_no_panes(propagation_of(compiled).plan)


def applies(evaluator: str, pair: Pair) -> bool:
    """Whether an evaluator covers the query."""
    return EVALUATORS[evaluator].why_not(compile_program(build(pair.query))) is None


def difference(
    evaluator: str, pair: Pair, expected: Sequence[Comparable], built: TemporalQuery | None = None
) -> str | None:
    """What an evaluator finds other than the reference, in words; None: nothing.

    built       the meaning of the query, where it is known
    """
    tried = EVALUATORS[evaluator]
    pieces = batches(pair.arrived, pair.sizes)

    def moody(program: Program, condition_evaluator: ConditionEvaluator) -> Moody:
        return Moody(Random(f"{pair.sizes} {pair.query.text}"), STEADINESS)

    def moody_later(other: Moody | None, name: str, kernels: Kernels) -> Moody:
        names = ("nfa", name) if other is None else (*replanning.NAMES, name)
        return Moody(Random(f"{pair.sizes} {pair.query.text}"), STEADINESS, names)

    beside: dict[str, Any] = {"compiled": tried.compiled, "built": built}
    if pair.reader:
        beside["reader"] = pair.reader
    open_min = 2 if tried.in_panes else panes.WINDOWS_MIN
    try:
        with (
            patch.object(replanning, "RatesDecide", moody),
            patch.object(evaluators, "KernelsLater", moody_later),
            patch.object(panes, "WINDOWS_MIN", open_min),
        ):
            if tried.later:  # slices of one event are not remembered
                beside |= {"later": True, "few": 0 if len(pair.arrived) % 4 else None}
            rows = run_engine(pair.query, pieces, evaluator=tried.option, **beside)
    except Exception:
        return traceback.format_exc()
    found = [comparable(row) for row in rows]
    missing, extra = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    if missing or extra:
        return "".join(f"{sign} {row}\n" for sign, some in (("-", missing), ("+", extra)) for row in some.elements())
    return None if found == list(expected) else "the order of the rows is another one\n"


def told(evaluator: str, pair: Pair) -> str:
    """A difference in words, with the least that shows it."""

    def differs(less: Pair) -> bool:
        return applies(evaluator, less) and difference(evaluator, less, expected_rows(less)) is not None

    least = smallest(pair, differs)
    signs = "# - the reference alone, + the evaluator alone"
    return f"{shown(least)}\n{signs}\n{difference(evaluator, least, expected_rows(least))}"


@dataclass(slots=True)
class Tally:
    """Of one evaluator: pairs compared, those with a row, all rows, and pairs and those with a row by construct."""

    pairs: int = 0
    matched: int = 0
    rows: int = 0
    having: Counter[str] = field(default_factory=Counter)
    shown: Counter[str] = field(default_factory=Counter)
    together: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, rows: int, found: Collection[str] = ()) -> None:
        """One more pair."""
        self.pairs += 1
        self.matched += rows > 0
        self.rows += rows
        self.having.update(found)
        if rows:
            self.shown.update(found)
            self.together.update(combinations(sorted(found), 2))


@dataclass(slots=True)
class Shares:
    """The pairs of each kind of query that were drawn, and those of them that each evaluator took."""

    pairs: Counter[int] = field(default_factory=Counter)
    taken: dict[str, Counter[int]] = field(default_factory=dict)

    def add(self, kind: int, able: Collection[str]) -> None:
        """One more pair, which these take."""
        self.pairs[kind] += 1
        for name in able:
            self.taken.setdefault(name, Counter())[kind] += 1

    def rare(self, kind: int, name: str) -> bool:
        """Whether an evaluator is known to take pairs of other kinds much more often."""
        taken = self.taken.get(name, Counter())
        most = max((count / self.pairs[each] for each, count in taken.items()), default=0.0)
        return self.pairs[kind] >= KNOWN and taken[kind] * RARE < most * self.pairs[kind]


def compare(
    tallies: Mapping[str, Tally], pairs: int, seed: int, first: int, new: bool = False, at: Sequence[str] = ()
) -> str | None:
    """Compares until every evaluator has had so many pairs; the first difference in words, or None.

    new     only pairs whose query has one of the constructs that are counted
    at      places where the events of one pair after the other are moved to
    """
    shares = Shares()
    for number in count(first):
        left, kind = [name for name, tally in tallies.items() if tally.pairs < pairs], number % len(TEXTS)
        if not left:
            return None
        if all(shares.rare(kind, name) for name in left):
            continue
        pair = drawn(seed, number)
        if pair is None or (new and not constructs(pair.query)):
            continue
        if at:
            pair = placed(pair, at[number // len(TEXTS) % len(at)])
        query = build(pair.query)
        compiled = compile_program(query)
        able = [name for name in left if EVALUATORS[name].why_not(compiled) is None]
        shares.add(kind, able)
        expected = expected_rows(pair) if able else []
        for name in able:
            if difference(name, pair, expected, query):
                return f"{name}, pair {number}:\n{told(name, pair)}"
            tallies[name].add(len(expected), constructs(pair.query))
    raise AssertionError("numbers do not end")


def report(tallies: Mapping[str, Tally]) -> str:
    """Pairs and rows of each evaluator; of each construct the pairs and, behind a slash, those with a row."""
    lines = [f"{'evaluator':22}{'pairs':>8}{'with rows':>11}{'rows':>10}{'two constructs with rows':>27}"]
    for name, tally in tallies.items():
        lines.append(f"{name:22}{tally.pairs:8,}{tally.matched:11,}{tally.rows:10,}{len(tally.together):27,}")
    short = [name.replace("propagation in kernels", "in kernels") for name in tallies]
    lines.append("\n" + f"{'construct':26}" + "".join(f"{name:>13}" for name in short))
    for construct in sorted(set().union(*(tally.having for tally in tallies.values()))):
        cells = (f"{tally.having[construct]}/{tally.shown[construct]}" for tally in tallies.values())
        lines.append(f"{construct:26}" + "".join(f"{cell:>13}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    """Compare and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluators", nargs="*", metavar="EVALUATOR", help=f"of {', '.join(EVALUATORS)} [all]")
    parser.add_argument("--pairs", type=int, default=5000, metavar="N", help="with each evaluator [5000]")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="[1]")
    parser.add_argument("--from", type=int, default=0, metavar="K", dest="first", help="the first pair's number [0]")
    parser.add_argument("--new", action="store_true", help="only pairs with one of the constructs that are counted")
    parser.add_argument("--at", choices=(*PLACES, "all"), help="where in the range of times the events are [2026]")
    parser.add_argument("--jit", choices=("on", "off"), default="off" if ASSERTING else "on", help="kernels [on]")
    options = parser.parse_args()
    if unknown := set(options.evaluators) - set(EVALUATORS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if (options.jit == "off") != ASSERTING:  # numba reads it when it is imported
        os.environ["NUMBA_DISABLE_JIT"] = str(int(options.jit == "off"))
        os.execv(sys.executable, sys.orig_argv)
    tallies = {name: Tally() for name in options.evaluators or EVALUATORS}
    grammar._kept = lru_cache(TREES_MAX)(grammar._kept.__wrapped__)
    try:
        found = compare(tallies, options.pairs, options.seed, options.first, options.new, places_of(options.at))
    except KeyboardInterrupt:
        print("stopped before its end")
        found = None
    print(f"seed {options.seed}, kernels {'as Python, invariants asserted' if ASSERTING else 'compiled'}")
    print(report(tallies))
    print(found or "no difference")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
