"""The interfaces for the exchange of evaluators, and its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from automata.protocol import Restorable
from automata.slices.events import Events, Gap, SymbolSolutions
from automata.values import Ids


class Startable(Restorable, Protocol):
    """An evaluator that can begin in the middle of a stream."""

    @property
    def operations(self) -> int:
        """Run operations so far."""

    def begin_at(self, position: int) -> None:
        """The first event has this position; nothing has been consumed before."""


class Policy(Protocol):
    """The choice of the evaluator that runs; the matches do not depend on it."""

    @property
    def observes(self) -> bool:
        """True if it measures single events, too."""

    def observe(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> None:
        """Measure a slice that has been consumed."""

    def skip(self, gap: Gap) -> None:
        """Count events without solutions."""

    def wanted(self, current: str, alone: bool, operations: int) -> tuple[str, str]:
        """The name of the evaluator that should run from the next boundary on, and the reason.

        current     runs now
        alone       events come one by one
        operations  run operations so far
        """

    def live_ids(self) -> list[Ids]:
        """Columns of the ids that it keeps."""

    def snapshot(self) -> dict[str, Any]:
        """Its measurements, as `automata.state.State`."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a snapshot."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A change of evaluator before the event at `time`; `operations` counts those of the old one."""

    time: int
    old: str
    new: str
    reason: str
    operations: int
