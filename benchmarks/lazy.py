"""Lazy against eager evaluation: run operations and events per second, over skewed and over shifting rates.

A run operation is one partial match made: a row of a run, or of the lazy evaluators' partial matches. All
systems work on the same stream in the same process, from columns of ids to matches, and must find as many. Seconds
are processor time. Three experiments: skewed rates; FlinkCEP beside all others, over a shorter stream; rates that
shift.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from automata.adaptive.adaptive_evaluator import AdaptiveEvaluator
from automata.lazy.join import Bound
from automata.lazy.lazy_evaluator import LazyEvaluator, TreeEvaluator
from automata.runs.columns.negated_groups import NegatedGroups
from automata.runs.columns.run_evaluator import RunEvaluator
from benchmarks.flink_peer import measure_flink, why_no_flink
from benchmarks.lazy_patterns import MARGIN, A, B, C, Pattern, Stream, patterns, stream
from benchmarks.sase import PlainRuns, Run
from spaseq.physical.evaluators import adaptive_evaluator

SHIFTS = ((100, 100, 1, 1), (1, 100, 100, 1), (100, 1, 100, 1))
SHARES = {"AND": 16, "ITER": 24}
"""Patterns of which runs make so many that they are given so many times fewer events."""
FLINK_EVENTS = 1500
"""FlinkCEP takes minutes for more at these rates."""
EXPERIMENTS = ("skewed", "flink", "shifting")
EvaluatorOf = Callable[[Pattern], RunEvaluator | LazyEvaluator | AdaptiveEvaluator]


@dataclass(frozen=True, slots=True)
class Measured:
    """One run. `operations` is None where they are not known."""

    pattern: str
    system: str
    events: int
    matches: int
    operations: int | None
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

    def snapshot(self) -> dict[str, Any]:
        """Nothing changes."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Nothing has changed."""


SYSTEMS: dict[str, EvaluatorOf] = {
    "run-based": lambda pattern: RunEvaluator(pattern.plan, pattern.condition_evaluator),
    "lazy chain": lambda pattern: LazyEvaluator(pattern.plan, pattern.condition_evaluator, NegatedGroups),
    "lazy tree": lambda pattern: TreeEvaluator(pattern.plan, pattern.condition_evaluator, NegatedGroups),
    "adaptive": lambda pattern: adaptive_evaluator(pattern.plan, pattern.condition_evaluator),
}


def fixed(order: tuple[int, ...]) -> EvaluatorOf:
    """A lazy chain with this order."""
    return lambda pattern: LazyEvaluator(
        pattern.plan, pattern.condition_evaluator, NegatedGroups, lambda related: FixedPlan(order)
    )


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
        for result in measure(system, make, pattern, some.first(events // SHARES.get(pattern.name, 1)), batch, 1)
    ]
    measured.insert(1, with_plain_runs("SEQ", some, window))
    _agree(measured)
    return measured


def with_plain_runs(name: str, events: Stream, window: int) -> Measured:
    """The sequence in plain Python."""
    types, values = events.types.tolist(), events.values.tolist()

    def admits(run: Run, position: int) -> bool:
        return types[position] != C or all(values[other] + MARGIN < values[position] for other in run)

    runs, started = PlainRuns((A, B, C), window, admits), time.process_time()
    matches = sum(1 for position, kind in enumerate(types) for _ in runs.take(position, kind))
    seconds = time.process_time() - started
    return Measured(name, "plain Python", len(events), matches, runs.operations, seconds)


def with_flink(skew: int, window: int, batch: int, timeout_s: float) -> list[Measured]:
    """The sequence by FlinkCEP beside all others, over a short stream; its run operations are not known."""
    few = stream([(skew, skew, 1, 1)], FLINK_EVENTS, seed=8)
    sequence = replace(patterns(window)[0], name=f"SEQ, {FLINK_EVENTS:,} events")
    measured = [m for name, make in SYSTEMS.items() for m in measure(name, make, sequence, few, batch, 1)]
    measured.insert(1, with_plain_runs(sequence.name, few, window))
    found = measure_flink(few, (A, B, C), window, MARGIN, timeout_s)
    if found.matches is not None and found.seconds is not None:
        measured.append(Measured(sequence.name, "FlinkCEP", len(few), found.matches, None, found.seconds))
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
        counted = ["?", "?"]
        if base.operations is not None and m.operations is not None:
            counted = [f"{m.operations:,}", f"{base.operations / max(1, m.operations):.1f} ×"]
        shown.add_row(
            m.pattern, m.system, f"{m.matches:,}", *counted, f"{m.seconds:.2f}", f"{m.events / m.seconds:,.0f}",
            _times(base.seconds / m.seconds),
        )  # fmt: skip
    return shown


def _times(factor: float) -> str:
    return f"{factor:.1f} ×" if factor >= 0.1 else f"1/{1 / factor:,.0f} ×"


def tree_beside_best(measured: Sequence[Measured]) -> str:
    """After each shift, how many times faster than the tree the best fixed chain is."""
    parts: dict[str, dict[str, float]] = {}
    for m in measured:
        parts.setdefault(m.pattern, {})[m.system] = m.seconds
    told = []
    for part, seconds in parts.items():
        name, best = min((took, name) for name, took in seconds.items() if name.startswith("chain "))[::-1]
        told.append(f"{part}: {seconds['lazy tree'] / best:.2f} × the time of {name}")
    return f"the tree beside the best fixed order: {'; '.join(told)}"


def main() -> None:
    """Generate, run, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--events",
        type=int,
        default=120_000,
        metavar="N",
        help=f"in the stream [120000]; fewer of them for {', '.join(SHARES)}; half as many where rates shift",
    )
    parser.add_argument("--window", type=int, default=150, metavar="W", help="in events [150]")
    parser.add_argument("--skew", type=int, default=100, metavar="S", help="A and B to C [100]")
    parser.add_argument("--batch", type=int, default=300, metavar="K", help="events that arrive together [300]")
    parser.add_argument("--flink-timeout", type=float, default=300.0, metavar="S", help="seconds for FlinkCEP [300]")
    parser.add_argument("--only", choices=EXPERIMENTS, action="append", metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    options = parser.parse_args()
    figures = {name: _experiment(name, options) for name in options.only or EXPERIMENTS}
    console = Console(width=120)
    if known := [m for name in ("skewed", "flink") for m in figures.get(name, ())]:
        console.print(table(f"A and B {options.skew} times as frequent as C", known))
    if "shifting" in figures:
        console.print(table("shifting rates", figures["shifting"]))
        console.print(tree_beside_best(figures["shifting"]))
    if missing := "flink" in figures and why_no_flink():
        console.print(f"without FlinkCEP: {missing}")
    if options.json:
        written = {name: [asdict(m) for m in measured] for name, measured in figures.items()}
        options.json.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def _experiment(name: str, options: argparse.Namespace) -> list[Measured]:
    match name:
        case "skewed":
            return skewed(options.skew, options.events, options.window, options.batch)
        case "flink" if why_no_flink():
            return []
        case "flink":
            return with_flink(options.skew, options.window, options.batch, options.flink_timeout)
    return shifting(options.events // 2, options.window, options.batch)


if __name__ == "__main__":
    main()
