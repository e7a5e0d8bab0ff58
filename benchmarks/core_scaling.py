"""Complex event automata as windows, streams and outputs grow: what an update and a reported match cost.

Generated and seeded, so that the work of an event is the same everywhere: each of the pattern's steps comes again and
again within the smallest window. On CORE's trades (benchmarks/core.py) a wider window also *has more to do*: there
the steps are rare, and in a narrow window most of them find nothing to follow; the column of nodes made shows it.
Run from the project's folder: python benchmarks/core_scaling.py [--events N] [--runs K]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from automata.plan.plan import Plan, compile_plan

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from automata.cea.core import CeaCore
from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Expression, Step
from automata.plan.program import Program, Selector, Skip, Symbol, Window
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids

STEPS, SPARE = 6, 6
"""Steps of the pattern; as many events again serve none of them."""
WINDOW = 1_000
"""T, in events' times: about 80 events of each step."""
FACTORS = (1, 2, 4, 8, 16, 32, 64)
BATCH = 1 << 17
WARM_UP = BATCH
"""Events taken in before the clock starts: cells are determined, arena and columns get their size."""
COLD = 100_000
"""Events of the stream whose clock starts with its first event, to show what that costs once."""
OUTPUTS = (32, 100, 316, 1000)
"""So many events of each of two steps; each event of the last step then ends their product of matches."""
REPORTED = 1_000_000
"""Matches in all, of so many events of the last step as it takes."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """One run.

    made, held, room    nodes of tECS made in all, the largest number held after a batch, rows of the arena
    """

    title: str
    events: int
    seconds: float
    matches: int = 0
    size: int = 0
    made: int = 0
    held: int = 0
    room: int = 0


def plan(steps: int, window: int) -> Plan:
    """A : B : … of so many steps, within a sliding window."""
    empty: frozenset[int] = frozenset()
    symbols = tuple(Symbol(f"S{number}", empty, empty, frozenset({0})) for number in range(steps))
    taken: list[Expression] = [Step(number) for number in range(steps)]
    chain = nodes.Sequence(tuple(taken), (Contiguity.ANY,) * (steps - 1))
    within = Window(window, in_events=False, sliding=True)
    return compile_plan(Program(chain, symbols, 0, (), within, (), Selector.ALL, Skip.NO_SKIP, (), 1))


def stretches(count: int, warm_up: int) -> Iterator[tuple[Events, dict[int, SymbolSolutions]]]:
    """Events one time unit apart, each for one step or none; the pattern's last step never comes."""
    random = np.random.default_rng(4)
    borders = sorted({0, *range(warm_up, count + warm_up, BATCH), count + warm_up})
    for begin, end in pairwise(borders):
        kinds = random.integers(0, STEPS + SPARE, end - begin)
        events = Events(np.arange(begin, end, dtype=np.int64), np.zeros(end - begin, dtype=np.int64))
        solved = {step: SymbolSolutions(np.flatnonzero(kinds == step), {}) for step in range(STEPS)}
        yield events, {**solved, STEPS: SymbolSolutions(np.zeros(0, dtype=np.int64), {})}


def updates(title: str, count: int, window: int, warm_up: int = WARM_UP) -> Scaled:
    """Time to take the stream in: nothing is ever reported."""
    core = CeaCore(plan(STEPS + 1, window))
    taken, held, made = 0.0, 0, 0
    for number, (events, solutions) in enumerate(stretches(count, warm_up)):
        started = time.process_time()
        for _ in core.feed(events, solutions):
            raise AssertionError("the last step does not come")
        core.forget(int(events.times[-1]))
        if number or not warm_up:
            taken += time.process_time() - started
        else:
            made = core.nodes_made
        held = max(held, core.nodes)
    return Scaled(title, count, taken, made=core.nodes_made - made, held=held, room=core.capacity)


def enumeration(each: int, steps: int) -> Scaled:
    """Time to report the matches of single events: two steps with `each` events, one event of each other step."""
    counts = [1] * (steps - 3) + [each, each]
    kinds = np.repeat(np.arange(steps - 1), counts)
    core = CeaCore(plan(steps, 1 << 40))
    events = Events(np.arange(len(kinds), dtype=np.int64), np.zeros(len(kinds), dtype=np.int64))
    for _ in core.feed(events, {step: SymbolSolutions(np.flatnonzero(kinds == step), {}) for step in range(steps - 1)}):
        raise AssertionError("the last step has not come")
    last: Ids = np.arange(max(1, REPORTED // each**2), dtype=np.int64)
    found, started = 0, time.process_time()
    for complex_events in core.feed(Events(last + len(kinds), 0 * last), {steps - 1: SymbolSolutions(last, {})}):
        found += len(complex_events.ends)
    taken = time.process_time() - started
    assert found == each * each * len(last), found
    return Scaled(f"{steps} steps, {each * each:,} an event", len(last), taken, found, steps)


def best(runs: Sequence[Scaled]) -> Scaled:
    """The fastest."""
    return min(runs, key=lambda run: run.seconds)


def update_table(runs: Sequence[Scaled]) -> Table:
    """Cost of updates; the last column compares the time of an event with that of the first row."""
    shown = Table(title="taking in generated events, one core")
    for heading in ("", "events", "events/s", "nodes made/event", "ns/node", "nodes held", "arena", "÷ first"):
        shown.add_column(heading, justify="right" if heading else "left")
    first = runs[0].seconds / runs[0].events
    for run in runs:
        cost = run.seconds / run.events
        shown.add_row(
            run.title, f"{run.events:,}", f"{1 / cost:,.0f}", f"{run.made / run.events:.2f}",
            f"{1e9 * run.seconds / run.made:.0f}", f"{run.held:,}", f"{run.room:,}", f"{cost / first:.2f}",
        )  # fmt: skip
    return shown


def enumeration_table(runs: Sequence[Scaled]) -> Table:
    """Cost of matches."""
    shown = Table(title="reporting matches into columns, one core")
    for heading in ("", "matches", "matches/s", "ns/match", "ns/match/step"):
        shown.add_column(heading, justify="right" if heading else "left")
    for run in runs:
        cost = 1e9 * run.seconds / run.matches
        shown.add_row(run.title, f"{run.matches:,}", f"{1e9 / cost:,.0f}", f"{cost:.0f}", f"{cost / run.size:.1f}")
    return shown


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, metavar="N", help="for each window [1000000]")
    parser.add_argument("--longest", type=int, default=10_000_000, metavar="N", help="the longest stream [10000000]")
    parser.add_argument("--runs", type=int, default=3, metavar="K", help="runs of each; the fastest counts [3]")
    options = parser.parse_args()
    updates("", BATCH, WINDOW)  # compiles, or loads what is compiled
    enumeration(1, 3)
    runs = [(f"window {factor} T", options.events, WINDOW * factor, WARM_UP) for factor in FACTORS]
    length = options.longest
    while length >= 100_000:
        runs.append(("window T", length, WINDOW, WARM_UP))
        length //= 10
    runs.append(("window T, cold", COLD, WINDOW, 0))
    rounds = [[updates(*run) for run in runs] for _ in range(options.runs)]  # a slow moment slows all a little
    measured = [best(some) for some in zip(*rounds, strict=True)]
    console = Console(width=120)
    console.print(update_table(measured))
    console.print(
        enumeration_table(
            [best([enumeration(each, steps) for _ in range(options.runs)]) for steps in (3, 6, 12) for each in OUTPUTS]
        )
    )


if __name__ == "__main__":
    main()
