"""Histories drawn one after the other, until enough hours have passed or one fails, which is then reduced."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

from tests.simulation.drawing import HOUR_NS, LEAST
from tests.simulation.drawn_events import drawn_knowledge
from tests.simulation.history import Different, Follows, first_difference
from tests.simulation.once import work_done_once
from tests.simulation.reduction import Reduction
from tests.simulation.shown import traits
from tests.simulation.subjects import Subject
from tests.simulation.texts import Texts
from tests.strategies.sequence import SeededDice

HISTORY_HOURS = 2
"""Hours after which another history begins: `since=window` of a window of events reads all of its log again."""
TEXTS = {"plain": 12, "knowing": 2, "producer": 4}
"""The texts of a history, of each kind."""
HISTORIES_ALIKE = 40
"""Histories with the same texts; a process runs so many, one after the other."""


@dataclass(slots=True)
class Ran:
    """What has been simulated.

    hours       those that count
    counts      of steps, events, rows, restarts and kills
    cpu_s       of processor time
    """

    follows: Follows
    hours: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    cpu_s: float = 0.0

    def add(self, other: Ran) -> None:
        """What else has been simulated."""
        self.follows.add(other.follows)
        self.hours += other.hours
        self.counts += other.counts
        self.cpu_s += other.cpu_s

    def __str__(self) -> str:
        counts = ", ".join(f"{number:,} {what}" for what, number in sorted(self.counts.items()))
        each = self.cpu_s / max(1, self.hours)
        return (
            f"{self.hours:,} hours, {counts}; {self.cpu_s:.0f} s of CPU, {each:.2f} s an hour\n{self.follows.table()}"
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """A history that failed, with its steps up to there and the difference."""

    subject: Subject
    seed: int
    number: int
    steps: Sequence[Any]
    different: Different

    def reduced(self) -> Failure:
        """The same with fewer steps."""

        def fails(steps: Sequence[Any]) -> bool:
            found = _replayed(self.subject, steps)
            return found is not None and found.sort == self.different.sort

        steps = Reduction(fails).shortest(self.steps, self.subject.simpler, traits)
        return Failure(self.subject, self.seed, self.number, steps, _replayed(self.subject, steps) or self.different)

    def __str__(self) -> str:
        steps = "\n".join(f"{number}. {self.subject.shown(step)}" for number, step in enumerate(self.steps, 1))
        again = f"python -m tests.simulation {self.subject.name} --seed {self.seed} --from {self.number}"
        return f"{steps}\n\nafter step {len(self.steps)} there is a difference, found is\n{self.different}\n\n{again}"


def simulate(subject: Subject, seed: int, hours: int, first: int = 0, processes: int = 1) -> tuple[Ran, Failure | None]:
    """Histories from the one with a number on, until so many hours have passed, or the first that fails."""
    ran, failure = Ran(Follows(subject.kinds)), None
    numbers = range(first, first - (-hours // HISTORY_HOURS))
    lengths = [min(HISTORY_HOURS, hours - done) for done in range(0, hours, HISTORY_HOURS)]
    run = partial(_history, subject, seed)
    with ProcessPoolExecutor(processes) if processes > 1 else nullcontext() as pool:
        ended = (
            map(run, numbers, lengths) if pool is None else pool.map(run, numbers, lengths, chunksize=HISTORIES_ALIKE)
        )
        for each, failure in ended:
            ran.add(each)
            if failure is not None:
                break
        if pool is not None:
            pool.shutdown(cancel_futures=True)
    return ran, failure


def _history(subject: Subject, seed: int, number: int, hours: int) -> tuple[Ran, Failure | None]:
    """A history of so many hours."""
    ran, begin_s = Ran(Follows(subject.kinds)), process_time()
    random = Random(f"{subject.name} {seed} {number}")
    drawing = subject.drawing(random, _texts(f"{seed} {number // HISTORIES_ALIKE}"), ran.follows)
    steps: list[Any] = []
    failure = None
    with work_done_once(), subject.trial() as trial:
        try:
            for _ in range(hours):
                begin, before = drawing.now, Counter(trial.counts)
                while drawing.now < begin + HOUR_NS or any(
                    trial.counts[what] - before[what] < least for what, least in LEAST.items()
                ):
                    steps.append(drawing.next())
                    trial.take(steps[-1])
                    drawing.hour.events = trial.counts["events"] - before["events"]
                ran.hours += 1
                drawing.next_hour()
            trial.check_batch()
        except Different as different:
            failure = Failure(subject, seed, number, steps, different)
        ran.counts += trial.counts
    ran.cpu_s = process_time() - begin_s
    return ran, failure


@lru_cache(1)
def _texts(seed: str) -> Texts:
    random = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        knowledge = Path(folder) / "knowledge.nt"
        knowledge.write_text(drawn_knowledge(SeededDice(random)))
        return Texts(random, TEXTS, knowledge)


def _replayed(subject: Subject, steps: Sequence[Any]) -> Different | None:
    with work_done_once(), subject.trial() as trial:
        return first_difference(trial, steps)
