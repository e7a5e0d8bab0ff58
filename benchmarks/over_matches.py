"""Aggregates over all matches without a match being built: events a second, from ids to the counts of windows.

One keyed query, the same with aggregates and in windows that slide or hop, fifty queries over the same events in
mixes that share more or less, at once and one by one, windows with 10^30 matches and more, and a plain Python program
that counts one of the queries by hand.
The least processor time of some runs, and how many times as fast as plain Python in the same run that is; a first
round, which compiles the kernels or loads them, is not counted.
Run from the project's folder: python benchmarks/over_matches.py [--events N] [--runs N]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the packages
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from automata.plan.expression import Contiguity, Expression, Repetition, Step
from automata.plan.expression import Sequence as Steps
from automata.plan.plan import Plan, compile_plan
from automata.plan.program import Program, Selector, Skip, Symbol, Window
from automata.propagation.compiled import CompiledPropagation
from automata.propagation.measures import Kind, Measured
from automata.propagation.propagating_evaluator import PropagatingEvaluator
from automata.propagation.shared.members import Member
from automata.propagation.shared.shared_propagation import SharedPropagation
from automata.propagation.windows import Found
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.terms import XSD, Literal
from spaseq.runtime.stages.term_values import TermValues

KEYS, PRICES, BATCH = 1_000, 200, 1 << 18
FEW, KINDS = 3, 12
"""Kinds of events, each of which is a step: A, B and C, or nine more."""
WINDOW = 50_000
"""Events of a window: one a nanosecond."""
KEY, VALUE = 0, 1
ANY, NEXT = Contiguity.ANY, Contiguity.NEXT
EXACT = 40_000
"""Events that exact values are given in windows that overlap."""
Slice = tuple[Events, dict[int, SymbolSolutions]]
Query = tuple[Plan, Sequence[Measured]]


def plan_of(expression: Expression, size: int, keyed: bool = True) -> Plan:
    """A tumbling query; every event has a key and a value, the value is bound by the second step."""
    key = frozenset({KEY}) if keyed else frozenset[int]()
    scopes = [key | ({VALUE} if kind == 1 else set()) for kind in range(KINDS)]
    symbols = tuple(Symbol(chr(65 + kind), scope, scope, frozenset({0})) for kind, scope in enumerate(scopes))
    window = Window(size, in_events=False, sliding=False)
    return compile_plan(Program(expression, symbols, 2, (), window, (), Selector.ALL, Skip.NO_SKIP, (), 1))


def stream(events: int, keys: int, prices: Sequence[int], steps: int = FEW) -> list[Slice]:
    """Events of so many kinds at random, in slices."""
    draw = np.random.default_rng(1)
    kinds, key = draw.integers(0, steps, events), draw.integers(1, keys + 1, events)
    value = np.array(prices, dtype=np.int64)[draw.integers(0, len(prices), events)]
    slices = []
    for begin in range(0, events, BATCH):
        part = slice(begin, min(begin + BATCH, events))
        times = np.arange(part.start, part.stop, dtype=np.int64)
        solutions = {}
        for kind in range(steps):
            at = np.flatnonzero(kinds[part] == kind)
            columns: dict[int, Ids] = {KEY: key[part][at]}
            if kind == 1:
                columns[VALUE] = value[part][at]
            solutions[kind] = SymbolSolutions(at, columns)
        slices.append((Events(times, np.zeros(len(times), dtype=np.int64)), solutions))
    return slices


def run(
    plan: Plan, measured: Sequence[Measured], slices: Sequence[Slice], values: TermValues, exact: bool = False
) -> list[Sequence[Found]]:
    """All windows of one query, as columns; `exact`: in exact values, without kernels."""
    kind = PropagatingEvaluator if exact else CompiledPropagation
    evaluator = kind(plan, (KEY,) if plan.program.symbols[0].scope else (), measured, values)
    return [*(evaluator.on_batch(events, solutions) for events, solutions in slices), evaluator.finish()]


def run_together(queries: Sequence[Query], slices: Sequence[Slice], values: TermValues) -> list[list[Sequence[Found]]]:
    """All windows of each query of a group, as columns."""
    numbers = {kind: kind for kind in range(KINDS)}
    members = [Member(plan, (KEY,), tuple(measured), numbers, {VALUE: VALUE}) for plan, measured in queries]
    group = SharedPropagation(members, KINDS, 1, values)
    found: list[list[Sequence[Found]]] = [[] for _ in queries]
    for events, solutions in slices:
        assert not group.on_batch(events, solutions)
        for number, own in enumerate(found):
            own.append(group.take(number))
    group.finish()
    return [[*own, group.take(number)] for number, own in enumerate(found)]


def overlapping(plan: Plan) -> dict[str, Plan]:
    """The same query in windows that overlap."""
    hops = {f"windows hop, {count} at once": WINDOW // count for count in (10, 50)}
    windows = {"windows slide": replace(plan.program.window, sliding=True)}
    windows |= {label: replace(plan.program.window, hop=hop) for label, hop in hops.items()}
    return {label: compile_plan(replace(plan.program, window=window)) for label, window in windows.items()}


def first_events(slice_: Slice, count: int) -> list[Slice]:
    """The first events of a slice."""
    events, solutions = slice_
    part = Events(events.times[:count], events.streams[:count])
    kept = {symbol: int(np.searchsorted(table.events, count)) for symbol, table in solutions.items()}
    return [
        (
            part,
            {
                s: SymbolSolutions(t.events[: kept[s]], {v: c[: kept[s]] for v, c in t.values.items()})
                for s, t in solutions.items()
            },
        )
    ]


def mixes() -> dict[str, list[Query]]:
    """Fifty queries each."""
    plus = Repetition(Step(1), 1, None, ANY)
    chain = Steps((Step(0), plus, Step(2)), (ANY, ANY))
    kinds = [Measured(kind, VALUE) for kind in Kind] + [Measured(k, VALUE, k) for k in Kind if k is not Kind.COUNT]
    least = [Steps((Step(0), Repetition(Step(1), n + 1, None, ANY), Step(2)), (ANY, ANY)) for n in range(50)]
    prefixes = [Steps((Step(n), plus, Step(2)), (ANY, ANY)) for n in (0, *range(FEW, KINDS))]
    sizes = [WINDOW * (n + 1) // 5 for n in range(5)]
    return {
        "aggregates of one pattern": [(plan_of(chain, WINDOW), (kinds[n % len(kinds)],)) for n in range(50)],
        "B:{n,}": [(plan_of(each, WINDOW), ()) for each in least],
        "B:{n,}, SUM": [(plan_of(each, WINDOW), (Measured(Kind.SUM, VALUE),)) for each in least],
        "ten steps before one B:+": [(plan_of(prefixes[n % 10], WINDOW), kinds[: n // 10 % 3]) for n in range(50)],
        "five windows": [(plan_of(least[n // 5], sizes[n % 5]), ()) for n in range(50)],
    }


def counted(found: Sequence[Sequence[Found]]) -> int:
    """The matches of all windows."""
    return sum(each.vector[0] for some in found for each in some)


def by_hand(slices: Sequence[Slice]) -> int:
    """A plain Python program that counts `A : B:+ : C` of each key in each window."""
    total, window = 0, 0
    first: dict[int, int] = {}
    open_: dict[int, int] = {}
    for events, solutions in slices:
        kinds, keys = np.zeros(len(events), dtype=np.int64), np.zeros(len(events), dtype=np.int64)
        for kind, table in solutions.items():
            kinds[table.events], keys[table.events] = kind, table.values[KEY]
        for time_, kind, key in zip(events.times.tolist(), kinds.tolist(), keys.tolist(), strict=True):
            if time_ >= window + WINDOW:
                window, first, open_ = time_ - time_ % WINDOW, {}, {}
            if kind == 0:
                first[key] = first.get(key, 0) + 1
            elif kind == 1:
                open_[key] = 2 * open_.get(key, 0) + first.get(key, 0)
            else:
                total += open_.get(key, 0)
    return total


def measured_time(work: Callable[[], object], runs: int) -> float:
    """The least processor seconds of some runs, after one that is not counted."""
    work()
    times = []
    for _ in range(runs):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=4_000_000, metavar="N", help="[4000000]")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="[5]")
    options = parser.parse_args()
    dictionary = Dictionary()
    values = TermValues(dictionary)
    whole = [dictionary.intern(Literal(str(n), XSD + "integer")) for n in range(PRICES)]
    double = [dictionary.intern(Literal(f"{n / 10 + 0.1:.1f}", XSD + "double")) for n in range(PRICES)]
    chain = Steps((Step(0), Repetition(Step(1), 1, None, ANY), Step(2)), (ANY, ANY))
    plan = plan_of(chain, WINDOW)
    ids, doubles = stream(options.events, KEYS, whole), stream(options.events, KEYS, double)
    many = stream(options.events, KEYS, whole, KINDS)
    told = counted(run(plan, (), ids, values))
    few = ids[: max(1, len(ids) // 8)]
    assert counted(run(plan, (), few, values)) == by_hand(few)
    print(f"{options.events:,} events, {KEYS:,} keys, windows of {WINDOW:,} events; {told:.2e} matches")
    by_python = sum(len(events) for events, _ in few)
    peer = by_python / measured_time(lambda: by_hand(few), options.runs)
    report = partial(told_as, peer)
    report("COUNT(*), plain Python", by_python, by_python / peer)
    for label, aggregates, slices in (
        ("COUNT(*)", (), ids),
        ("SUM(?v), integers", (Measured(Kind.SUM, VALUE),), ids),
        ("SUM(SUM(?v)), doubles", (Measured(Kind.SUM, VALUE, Kind.SUM),), doubles),
        ("MIN(?v), MAX(?v)", (Measured(Kind.MIN, VALUE), Measured(Kind.MAX, VALUE)), ids),
    ):
        report(label, options.events, measured_time(partial(run, plan, aggregates, slices, values), options.runs))
    for label, windowed in overlapping(plan).items():
        for name, aggregates in (("COUNT(*)", ()), ("SUM(?v)", (Measured(Kind.SUM, VALUE),))):
            seconds = measured_time(partial(run, windowed, aggregates, ids, values), options.runs)
            report(f"{name}, {label}", options.events, seconds)
        short = first_events(ids[0], EXACT)
        report("    COUNT(*), exact values", EXACT, measured_time(partial(run, windowed, (), short, values, True), 1))
        assert counted(run(windowed, (), short, values)) == counted(run(windowed, (), short, values, True))
    for label, queries in mixes().items():
        own = many if "steps" in label else ids
        few = own[: max(1, len(own) // 8)]
        together = measured_time(lambda q=queries, s=own: run_together(q, s, values), options.runs)
        report(f"50 queries: {label}", options.events, together)
        apart = measured_time(lambda q=queries, s=few: [run(p, m, s, values) for p, m in q], 1)
        report("    one by one", by_python, apart)
        told = [counted(found) for found in run_together(queries[::7], few, values)]
        assert told == [counted(run(plan, measured, few, values)) for plan, measured in queries[::7]], label
    endless = plan_of(chain, 1 << 60, keyed=False)
    endless_stream = stream(3_000, 1, whole)
    begin = time.perf_counter()
    all_of_it = counted(run(endless, (), endless_stream, values))
    seconds = time.perf_counter() - begin
    print(f"one window of 3,000 events: 10^{len(str(all_of_it)) - 1} matches in {seconds:.3f} s")


def told_as(peer: float, label: str, events: int, seconds: float) -> None:
    """One line: `peer` is the events a second of plain Python."""
    rate = events / seconds
    print(f"{label:40}{rate / 1e6:8.2f} M events/s{rate / peer:9.3g} times plain Python", flush=True)


if __name__ == "__main__":
    main()
