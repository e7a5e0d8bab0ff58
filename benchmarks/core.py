"""Complex event automata on stock trades: CORE's patterns over trades in memory, beside two run-based peers.

Set SPASEQ_STOCK to the gzipped trades of CORE's experiments. The measured time begins with trades in memory, whose
types and names are strings, and ends with columns of complex events: encoding of the strings, predicates, bit vectors,
Algorithm 1 and enumeration. The peers encode the same strings. Seconds are those of the processor; a figure is the
median of its runs, after one run over few trades that loads or compiles the kernels.

CORE (C, Section 5) is measured alike, from events loaded in memory to enumerated complex events, but on another machine
and per event object: its published rates are no measurement beside ours. Compare figures of one run only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from automata.plan.plan import compile_plan

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from automata.cea.core import CeaCore
from automata.plan.program import FoldValue, Reference
from automata.runs.columns.run_evaluator import RunEvaluator
from automata.values import Ids, Mask, Match
from benchmarks.core_patterns import WINDOW_MS, Pattern, Tape, events_of, iteration, operators, read_trades, sequence

ENVIRONMENT = "SPASEQ_STOCK"
BATCH = 1 << 17
PEER_BATCH = 1 << 12
PEER_EVENTS = 20_000


@dataclass(frozen=True, slots=True)
class Measured:
    """One run. `nodes` is the largest number of rows that the arena held after a batch, `made` that of all made."""

    pattern: str
    system: str
    events: int
    matches: int
    seconds: float
    nodes: int = 0
    made: int = 0


class _NoConditions:
    """The host of programs without conditions and aggregates, whose matches project nothing."""

    def holds(self, condition: int, columns: Mapping[Reference, Ids], rows: int) -> Mask:
        """Never asked."""
        raise AssertionError(condition)

    def fold(self, value: FoldValue, offsets: Ids, ids: Ids) -> Ids:
        """Never asked."""
        raise AssertionError(value)

    def texts(self, matches: Sequence[Match]) -> Sequence[tuple[str, ...]]:
        """All alike."""
        return [()] * len(matches)


def with_cea(pattern: Pattern, tape: Tape) -> Measured:
    """CEA over tECS, complex events into columns."""
    core = CeaCore(compile_plan(pattern.program))
    matches = nodes = 0
    started = time.process_time()
    for some in tape.batches(BATCH):
        for found in core.feed(events_of(some), pattern.solutions(some)):
            matches += len(found.ends)
        core.forget(int(some.times[-1]))
        nodes = max(nodes, core.nodes)
    seconds = time.process_time() - started
    return Measured(pattern.name, "CEA + tECS", len(tape), matches, seconds, nodes, core.nodes_made)


def with_runs(pattern: Pattern, tape: Tape) -> Measured:
    """The run-based evaluator, matches as objects."""
    evaluator = RunEvaluator(compile_plan(pattern.program), _NoConditions())
    matches = 0
    started = time.process_time()
    for some in tape.batches(PEER_BATCH):
        matches += len(evaluator.on_batch(events_of(some), pattern.solutions(some)))
    return Measured(pattern.name, "run-based", len(tape), matches, time.process_time() - started)


def with_plain_runs(pattern: Pattern, tape: Tape) -> Measured:
    """A SASE-like evaluator in plain Python: every partial match of a sequence is a run, extended by copying."""
    waiting: list[deque[tuple[int, ...]]] = [deque() for _ in pattern.asks]
    last, size, matches = len(pattern.asks) - 1, pattern.program.window.size, 0
    started = time.process_time()
    (trades,) = tape.batches(len(tape))
    takes: dict[int, list[int]] = {}
    for symbol, table in pattern.solutions(trades).items():
        for event in table.events.tolist():
            takes.setdefault(event, []).append(symbol)
    times = trades.times.tolist()
    for event, clock in enumerate(times):
        for symbol in sorted(takes.get(event, ()), reverse=True):
            runs = waiting[symbol - 1] if symbol else deque([()])
            alive = [run for run in runs if not run or times[run[0]] >= clock - size]
            if symbol:
                waiting[symbol - 1] = deque(alive)
            if symbol == last:
                matches += len(alive)
            else:
                waiting[symbol].extend((*run, event) for run in alive)
    return Measured(pattern.name, "plain Python", len(tape), matches, time.process_time() - started)


def median(system: Callable[[Pattern, Tape], Measured], pattern: Pattern, tape: Tape, runs: int) -> Measured:
    """The run with the median time of `runs` runs."""
    measured = sorted((system(pattern, tape) for _ in range(runs)), key=lambda measured: measured.seconds)
    return measured[runs // 2]


def measure(tape: Tape, lengths: Sequence[int], runs: int) -> list[Measured]:
    """Every pattern with every system; the peers on the first PEER_EVENTS trades only."""
    patterns = [sequence(length, open_ended) for length in lengths for open_ended in (False, True)]
    patterns += operators() + [iteration(open_ended) for open_ended in (False, True)]
    measured: list[Measured] = []
    few = tape.first(PEER_EVENTS)
    for pattern in patterns:
        with_cea(pattern, few)  # compiles, or loads what is compiled
        measured.append(median(with_cea, pattern, tape, runs))
        if len(pattern.asks) <= 5:
            peers = [with_cea, with_runs, with_plain_runs] if pattern.name.startswith("P") else [with_cea, with_runs]
            measured.extend(median(system, pattern, few, runs) for system in peers)
    return measured


def windows(tape: Tape, length: int, runs: int, days: int) -> list[Measured]:
    """Pn′ with windows from T to 64 T, and over the same day many times."""
    measured = []
    for factor in (1, 4, 16, 64):
        pattern = sequence(length, True, WINDOW_MS * factor)
        found = median(with_cea, pattern, tape, runs)
        measured.append(Measured(f"{pattern.name}, {factor} T", *_facts(found)))
    pattern = sequence(length, True)
    found = median(with_cea, pattern, tape.repeated(days), runs)
    measured.append(Measured(f"{pattern.name}, {days} days", *_facts(found)))
    return measured


def _facts(found: Measured) -> tuple[str, int, int, float, int, int]:
    return found.system, found.events, found.matches, found.seconds, found.nodes, found.made


def table(measured: Sequence[Measured]) -> Table:
    """The figures as they are shown on a terminal."""
    shown = Table(title="stock trades in memory, one core")
    for heading in ("pattern", "system", "events", "matches", "seconds", "events/s", "matches/s", "nodes held", "made"):
        shown.add_column(heading, justify="left" if heading in ("pattern", "system") else "right")
    for m in measured:
        rates = f"{m.events / m.seconds:,.0f}", f"{m.matches / m.seconds:,.0f}"
        shown.add_row(
            m.pattern, m.system, f"{m.events:,}", f"{m.matches:,}", f"{m.seconds:.3f}", *rates, f"{m.nodes:,}",
            f"{m.made:,}",
        )  # fmt: skip
    return shown


def main() -> None:
    """Read, run, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[3, 6, 9, 12, 24], metavar="N", help="of Pn")
    parser.add_argument("--runs", type=int, default=5, metavar="K", help="runs of each; the median counts [5]")
    parser.add_argument("--days", type=int, default=8, metavar="D", help="how often the day is repeated [8]")
    options = parser.parse_args()
    if ENVIRONMENT not in os.environ:
        sys.exit(f"error: set {ENVIRONMENT} to the gzipped stock trades of CORE's experiments")
    tape = read_trades(Path(os.environ[ENVIRONMENT]))
    console = Console(width=120)
    console.print(table(measure(tape, options.lengths, options.runs)))
    console.print(table(windows(tape, 6, options.runs, options.days)))


if __name__ == "__main__":
    main()
