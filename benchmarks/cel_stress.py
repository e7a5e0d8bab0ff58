"""CEL's stress experiment (B Section 8.2): a stream in which nothing can match until its very last event.

A ; B ; C over events of A, B and others, and A ; B ; C ; D over events of A, B, C and others, uniformly drawn; the one
C, or D, comes last. Measured are the processor time of all events but the last, what is held then, and the processor
time that the last one takes, its matches enumerated one by one. Systems that keep partial matches keep all of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from automata.plan.plan import Plan, compile_plan

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from automata.cea.core import CeaCore
from automata.lazy.lazy_evaluator import LazyEvaluator
from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Step
from automata.plan.program import ConditionEvaluator, Program, Selector, Skip, Symbol, Window
from automata.runs.columns.negated_groups import NegatedGroups
from automata.runs.columns.run_evaluator import RunEvaluator
from benchmarks.flink_peer import measure_flink, why_no_flink
from benchmarks.lazy_patterns import Comparisons, Stream
from benchmarks.sase import PlainRuns

BATCH = 100
OTHER = 5
PARTIAL_MAX = 400_000
"""Systems that keep partial matches run only where there are at most so many."""
FLINK_EVENTS_MAX = 400


@dataclass(frozen=True, slots=True)
class Measured:
    """One run; `held` is what was kept before the last event: nodes, partial matches or buffered events."""

    system: str
    events: int
    matches: int
    seconds_before: float
    seconds_last: float
    held: int


def stress_stream(steps: int, events: int, seed: int) -> Stream:
    """The steps but the last, and others, uniformly drawn; then the last step once."""
    kinds = np.array([*range(steps - 1), OTHER])
    drawn = np.random.default_rng(seed).choice(kinds, events - 1)
    types = np.append(drawn, steps - 1).astype(np.int64)
    return Stream(types, np.ones(events, dtype=np.int64))


def plan(steps: int, events: int) -> Plan:
    """The sequence under skip-till-any, in a window that holds everything."""
    symbols = tuple(Symbol("ABCD"[n], frozenset({n}), frozenset({n}), frozenset({0})) for n in range(4))
    takes = tuple(Step(number) for number in range(steps))
    window = Window(events, in_events=False, sliding=True)
    chain = nodes.Sequence(takes, (Contiguity.ANY,) * (steps - 1))
    return compile_plan(Program(chain, symbols, 4, (), window, (), Selector.ALL, Skip.NO_SKIP, (), 1))


def _timed(system: str, events: Stream, feed: Callable[[int, int], int], held: Callable[[], int]) -> Measured:
    """Feeds batches up to the last event, and that one alone; `feed` gives the matches found."""
    started = time.process_time()
    last = len(events) - 1
    matches = sum(feed(begin, min(begin + BATCH, last)) for begin in range(0, last, BATCH))
    before, kept = time.process_time(), held()
    matches += feed(last, last + 1)
    return Measured(system, len(events), matches, before - started, time.process_time() - before, kept)


def with_cea(steps: int, events: Stream) -> Measured:
    """CEA over tECS; the matches as rows of positions."""
    core = CeaCore(plan(steps, len(events)))

    def feed(begin: int, end: int) -> int:
        return sum(len(found.ends) for found in core.feed(*events.batch(begin, end)))

    return _timed("CEA + tECS", events, feed, lambda: core.nodes)


def with_evaluator(
    name: str, make: Callable[[Plan, ConditionEvaluator], RunEvaluator | LazyEvaluator], steps: int, events: Stream
) -> Measured:
    """An evaluator whose matches are objects; what it holds is taken to be what it has made."""
    evaluator = make(plan(steps, len(events)), Comparisons(()))

    def feed(begin: int, end: int) -> int:
        return len(evaluator.on_batch(*events.batch(begin, end)))

    return _timed(name, events, feed, lambda: evaluator.operations)


def with_plain_runs(steps: int, events: Stream) -> Measured:
    """Plain Python."""
    runs, types = PlainRuns(range(steps), len(events)), events.types.tolist()

    def feed(begin: int, end: int) -> int:
        return sum(1 for position in range(begin, end) for _ in runs.take(position, types[position]))

    return _timed("plain Python", events, feed, lambda: runs.held)


def with_flink(steps: int, events: Stream, timeout_s: float) -> Measured | None:
    """FlinkCEP; all events together, since it does not tell. None: it was stopped."""
    found = measure_flink(events, range(steps), len(events), None, timeout_s)
    if found.matches is None or found.seconds is None:
        return None
    return Measured("FlinkCEP", len(events), found.matches, found.seconds, 0.0, 0)


def partial_matches(steps: int, events: Stream) -> int:
    """How many there are before the last event."""
    counts = [1, *([0] * steps)]
    for kind in events.types[:-1].tolist():
        if kind < steps - 1:
            counts[kind + 1] += counts[kind]
    return sum(counts[1:])


def measure(steps: int, sizes: Sequence[int], flink_timeout_s: float | None) -> list[Measured]:
    """Every system that can be expected to end, over streams of these sizes."""
    with_cea(steps, stress_stream(steps, 50, seed=1))  # compiles, or loads what is compiled
    measured: list[Measured] = []
    for size in sizes:
        events = stress_stream(steps, size, seed=1)
        measured.append(with_cea(steps, events))
        if partial_matches(steps, events) <= PARTIAL_MAX:
            measured.append(with_evaluator("run-based", RunEvaluator, steps, events))
            measured.append(
                with_evaluator("lazy chain", partial(LazyEvaluator, group_search=NegatedGroups), steps, events)
            )
            measured.append(with_plain_runs(steps, events))
        if flink_timeout_s is not None and size <= FLINK_EVENTS_MAX:
            found = with_flink(steps, events, flink_timeout_s)
            measured += [found] if found else []
        assert len({m.matches for m in measured if m.events == size}) == 1, measured
    return measured


def table(title: str, measured: Sequence[Measured]) -> Table:
    """The figures as they are shown on a terminal."""
    shown = Table(title=title)
    for heading in ("events", "system", "matches", "before the last, s", "events/s", "the last, s", "held before it"):
        shown.add_column(heading, justify="left" if heading == "system" else "right")
    for m in measured:
        rate = m.events / max(m.seconds_before, 1e-6)
        row = f"{m.seconds_before:.4f}", f"{rate:,.0f}", f"{m.seconds_last:.4f}", f"{m.held:,}" if m.held else "?"
        shown.add_row(f"{m.events:,}", m.system, f"{m.matches:,}", *row)
    return shown


def main() -> None:
    """Generate, run, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(range(200, 2001, 200)), metavar="N")
    parser.add_argument("--flink-timeout", type=float, default=120.0, metavar="S", help="seconds for FlinkCEP [120]")
    options = parser.parse_args()
    console = Console(width=110)
    missing = why_no_flink()
    if missing:
        console.print(f"without FlinkCEP: {missing}")
    for steps, name in ((3, "A ; B ; C"), (4, "A ; B ; C ; D")):
        found = measure(steps, options.sizes, None if missing else options.flink_timeout)
        console.print(table(f"{name}, nothing matches until the last event", found))


if __name__ == "__main__":
    main()
