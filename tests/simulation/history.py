"""Histories, the first difference that one shows, and what it was made of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

StepOf = TypeVar("StepOf", contravariant=True)
_BLANK = re.compile(r'"type": ?"bnode", ?"value": ?"[^"]*"|_:\w+')


class Different(Exception):
    """What is under test differs from its twin.

    sort    what differs, the same for all differences of one kind
    """

    def __init__(self, sort: str, shown: str) -> None:
        super().__init__(sort, shown)
        self.sort = sort

    def __str__(self) -> str:
        return ": ".join(self.args)


class Trial(Protocol[StepOf]):
    """Something under test and its twin.

    counts  of steps, events, rows, restarts and kills so far
    """

    counts: Counter[str]

    def take(self, step: StepOf) -> None:
        """Take a step and compare; raises Different."""

    def check_batch(self) -> None:
        """Compare with what a single run over all events finds; raises Different."""


def plain(line: str) -> str:
    """A row or dead letter in JSON whose blank nodes are all the same."""
    return _BLANK.sub("_:b", line)


@dataclass(slots=True)
class Follows:
    """How often each kind of step was followed by each other.

    kinds   all of them
    counts  by two kinds, the earlier one first
    """

    kinds: Sequence[str]
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def note(self, before: str | None, kind: str) -> None:
        """A step came behind another one."""
        if before is not None:
            self.counts[before, kind] += 1

    def add(self, other: Follows) -> None:
        """What else was followed by what."""
        self.counts += other.counts

    @property
    def missing(self) -> list[tuple[str, str]]:
        """What was never followed by what."""
        return [(one, other) for one in self.kinds for other in self.kinds if not self.counts[one, other]]

    def table(self) -> str:
        """A line for each kind of step, a column for each that followed it; columns are numbered as lines are."""
        width = max(map(len, self.kinds))
        cell = max(4, len(str(max(self.counts.values(), default=0))) + 1)
        lines = [" " * (width + 4) + "".join(f"{number:>{cell}}" for number in range(1, len(self.kinds) + 1))]
        for number, one in enumerate(self.kinds, 1):
            cells = "".join(f"{self.counts[one, other]:>{cell}}" for other in self.kinds)
            lines.append(f"{number:>2}  {one:<{width}}{cells}")
        return "\n".join(lines)


def first_difference(trial: Trial[StepOf], steps: Iterable[StepOf]) -> Different | None:
    """The first difference that a trial shows in these steps, or behind them; None: there is none."""
    try:
        for step in steps:
            trial.take(step)
        trial.check_batch()
    except Different as found:
        return found
    return None
