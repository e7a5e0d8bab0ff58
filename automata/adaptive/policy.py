"""The interfaces of the exchange of evaluators: evaluators, policy, log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from automata.protocol import Restorable
from automata.slices.events import Events, SymbolSolutions
from automata.values import Ids


class Startable(Restorable, Protocol):
    """An evaluator that can begin in the middle of a stream."""

    @property
    def operations(self) -> int:
        """Run operations so far."""

    def begin_at(self, position: int) -> None:
        """The first event to come has this position; nothing has been taken in before."""


class Policy(Protocol):
    """Says which evaluator should run; whatever it says, the matches are the same."""

    def observe(self, events: Events, solutions: Mapping[int, SymbolSolutions]) -> None:
        """A slice that has been taken in."""

    def wanted(self, current: str, alone: bool) -> tuple[str, str]:
        """The name of the evaluator that should run from the next boundary on, and why.

        current     runs now
        alone       events come one by one
        """

    def live_ids(self) -> list[Ids]:
        """Columns of the ids that it keeps."""

    def snapshot(self) -> dict[str, Any]:
        """Its measurements, as `automata.state.State`."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A change of evaluator before the event at `time`; `operations` is what the old one had made."""

    time: int
    old: str
    new: str
    reason: str
    operations: int
