"""The state of one query of a network, without its input; and what holds ids beside a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sparql_gpm.columns import Ids
from spaseq.errors import RunError
from spaseq.runtime.embedded.audience import Reader
from spaseq.runtime.state.layouts import STOPPED

ReaderState = list[Any]
"""Of a query that moves from one network to another: its input, its operator, the stream that it makes."""


def reader_state(reader: Reader) -> list[Any]:
    """The snapshots of the operator of a query that is awake, and of the stream that it makes."""
    if reader.operator is not None:
        running = reader.operator.snapshot()
    else:
        running = STOPPED.written(stopped=True, reason="" if reader.reason is None else str(reader.reason))
    return [running, reader.derived and reader.derived.snapshot()]


def restore_reader(reader: Reader, running: Any, derived: Any) -> None:
    """Continues from such snapshots of the same query."""
    reader.wake()
    if isinstance(running, Mapping) and "stopped" in running:
        reason = STOPPED.read(running)["reason"]
        reader.stop(RunError(reason) if reason else None)
    elif reader.operator is not None:
        reader.operator.restore(running)
        reader.patterns = reader.operator.touching
    if reader.derived is not None:
        reader.derived.restore(derived)


class HoldsIds(Protocol):
    """A thing that holds term ids."""

    def live_ids(self) -> list[Ids]:
        """Columns of every term id that it needs."""
