"""Lazy against eager evaluation: run operations and events per second, over skewed and over shifting rates.

A run operation is one partial match made: a row of a run, or of the lazy evaluators' partial matches. All
systems work on the same stream in the same process, from columns of ids to matches, and must find as many. Seconds
are processor time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from automata.adaptive.evaluator import AdaptiveEvaluator
from automata.lazy.evaluator import LazyEvaluator, TreeEvaluator
from automata.lazy.join import Bound
from automata.runs.evaluator import RunEvaluator
from benchmarks.flink_peer import measure_flink, why_no_flink
from benchmarks.lazy_patterns import MARGIN, A, B, C, Pattern, Stream, patterns, stream
from benchmarks.sase import PlainRuns, Run
from spaseq.physical.replanning import adaptive_evaluator

SHIFTS = ((100, 100, 1, 1), (1, 100, 100, 1), (100, 1, 100, 1))
FLINK_EVENTS = 300
"""FlinkCEP takes minutes for more at these rates."""
EvaluatorOf = Callable[[Pattern], RunEvaluator | LazyEvaluator | AdaptiveEvaluator]


@dataclass(frozen=True, slots=True)
class Measured:
    """One run."""

    pattern: str
    system: str
    events: int
    matches: int
    operations: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FixedPlan:
    """One order, whatever the frequencies."""

    order: tuple[int, ...]

    def observe(self, counts: Sequence[int], at_boundary: bool) -> None:
        """Looks at nothing."""

    def following(self, bound: Bound, current: int | None) -> int:
        """The first in the order that is not bound."""
        return next(unit for unit in self.order if unit not in bound)


SYSTEMS: dict[str, EvaluatorOf] = {
    "run-based": lambda pattern: RunEvaluator(pattern.program, pattern.host),
    "lazy chain": lambda pattern: LazyEvaluator(pattern.program, pattern.host),
    "lazy tree": lambda pattern: TreeEvaluator(pattern.program, pattern.host),
    "adaptive": lambda pattern: adaptive_evaluator(pattern.program, pattern.host),
}


def fixed(order: tuple[int, ...]) -> EvaluatorOf:
    """A lazy chain with this order."""
    return lambda pattern: LazyEvaluator(pattern.program, pattern.host, lambda related: FixedPlan(order))


def measure(system: str, make: EvaluatorOf, pattern: Pattern, events: Stream, batch: int, parts: int) -> list[Measured]:
    """One run over the stream, measured in so many equal parts."""
    evaluator = make(pattern)
    measured = []
    size = len(events) // parts
    for part in range(parts):
        matches, operations, started = 0, evaluator.operations, time.process_time()
        for begin in range(part * size, (part + 1) * size, batch):
            matches += len(evaluator.on_batch(*events.batch(begin, min(begin + batch, (part + 1) * size))))
        if part == parts - 1:
            matches += len(evaluator.finish())
        seconds = time.process_time() - started
        name = pattern.name if parts == 1 else f"{pattern.name}, part {part + 1}"
        measured.append(Measured(name, system, size, matches, evaluator.operations - operations, seconds))
    return measured


def skewed(skew: int, events: int, window: int, batch: int) -> list[Measured]:
    """Every pattern with every system; A and B are `skew` times as frequent as C and D."""
    some = stream([(skew, skew, 1, 1)], events, seed=1)
    measured = [
        result
        for pattern in patterns(window)
        for system, make in SYSTEMS.items()
        for result in measure(system, make, pattern, some, batch, 1)
    ]
    measured.insert(1, with_plain_runs(some, window))
    _agree(measured)
    return measured


def with_plain_runs(events: Stream, window: int) -> Measured:
    """The sequence in plain Python."""
    types, values = events.types.tolist(), events.values.tolist()

    def admits(run: Run, position: int) -> bool:
        return types[position] != C or all(values[other] + MARGIN < values[position] for other in run)

    runs, started = PlainRuns((A, B, C), window, admits), time.process_time()
    matches = sum(1 for position, kind in enumerate(types) for _ in runs.take(position, kind))
    seconds = time.process_time() - started
    return Measured("SEQ", "plain Python", len(events), matches, runs.operations, seconds)


def with_flink(skew: int, window: int, timeout_s: float) -> list[Measured]:
    """The sequence by FlinkCEP beside others, over few events; its run operations are not known."""
    few, sequence = stream([(skew, skew, 1, 1)], FLINK_EVENTS, seed=1), patterns(window)[0]
    measured = [m for name, make in SYSTEMS.items() for m in measure(name, make, sequence, few, len(few), 1)]
    found = measure_flink(few, (A, B, C), window, MARGIN, timeout_s)
    if found.matches is not None and found.seconds is not None:
        measured.append(Measured("SEQ", "FlinkCEP", len(few), found.matches, 0, found.seconds))
    _agree(measured)
    return measured


def shifting(events: int, window: int, batch: int) -> list[Measured]:
    """The sequence while the rates shift twice: the tree beside the chain that re-plans, and every fixed chain."""
    some, sequence = stream(SHIFTS, events, seed=2), patterns(window)[0]
    systems = dict(SYSTEMS)
    for order in permutations(range(3)):
        systems["chain " + "".join("ABC"[unit] for unit in order)] = fixed(order)
    measured = [
        result
        for system, make in systems.items()
        for result in measure(system, make, sequence, some, batch, len(SHIFTS))
    ]
    _agree(measured)
    return sorted(measured, key=lambda result: result.pattern)


def _agree(measured: Sequence[Measured]) -> None:
    for result in measured:
        others = {other.matches for other in measured if other.pattern == result.pattern}
        assert len(others) == 1, (result.pattern, others)


def table(title: str, measured: Sequence[Measured]) -> Table:
    """The figures as they are shown on a terminal, each beside the first system's."""
    shown = Table(title=title)
    for heading in ("pattern", "system", "matches", "operations", "fewer", "seconds", "events/s", "faster"):
        shown.add_column(heading, justify="left" if heading in ("pattern", "system") else "right")
    eager = {m.pattern: m for m in measured if m.system == "run-based"}
    for m in measured:
        base = eager[m.pattern]
        fewer, faster = base.operations / max(1, m.operations), base.seconds / m.seconds
        counted = f"{m.operations:,}", f"{fewer:.1f} ×"
        shown.add_row(
            m.pattern, m.system, f"{m.matches:,}", *(counted if m.operations else ("?", "?")),
            f"{m.seconds:.2f}", f"{m.events / m.seconds:,.0f}", f"{faster:.1f} ×",
        )  # fmt: skip
    return shown


def main() -> None:
    """Generate, run, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--events",
        type=int,
        default=1800,
        metavar="N",
        help="in the stream; six times as many where rates shift [1800]",
    )
    parser.add_argument("--window", type=int, default=150, metavar="W", help="in events [150]")
    parser.add_argument("--skew", type=int, default=100, metavar="S", help="A and B to C [100]")
    parser.add_argument("--batch", type=int, default=300, metavar="K", help="events that arrive together [300]")
    parser.add_argument("--flink-timeout", type=float, default=300.0, metavar="S", help="seconds for FlinkCEP [300]")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    options = parser.parse_args()
    skew = skewed(options.skew, options.events, options.window, options.batch)
    shift = shifting(6 * options.events, options.window, options.batch)
    console = Console(width=110)
    console.print(table(f"A and B {options.skew} times as frequent as C", skew))
    console.print(table("shifting rates", shift))
    missing = why_no_flink()
    if missing:
        console.print(f"without FlinkCEP: {missing}")
    else:
        flink = with_flink(options.skew, options.window, options.flink_timeout)
        console.print(table(f"the first {FLINK_EVENTS} events", flink))
    if options.json:
        figures = {"skewed": [asdict(m) for m in skew], "shifting": [asdict(m) for m in shift]}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
