"""The peer of the benchmark of the service: pairs of events by key in Bytewax, with recovery.

python benchmarks/bytewax_peer.py FOLDER EVENTS

FOLDER has bodies of N-Quads, as clients would push them, in files whose names are in order. Each is cut into its
events, which are keyed by `urn:k`; an event with `urn:rare` is kept until one with `urn:alarm` of its key comes, and
rows go to a file. Bytewax stores a snapshot each second; it knows no acknowledgement of an event, nor numbers of rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
from bytewax.connectors.files import FileSink
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.run import cli_main

KEY, RARE, ALARM = "<urn:k>", "<urn:rare>", "<urn:alarm>"
Event = tuple[str, tuple[str, str]]
"""The key, and predicate and value of the event's own property."""


class _Bodies(StatefulSourcePartition[bytes, int]):
    """The files from one on."""

    def __init__(self, files: list[Path], first: int) -> None:
        self._files, self._next = files, first

    def next_batch(self) -> list[bytes]:
        """The next body."""
        if self._next == len(self._files):
            raise StopIteration
        self._next += 1
        return [self._files[self._next - 1].read_bytes()]

    def snapshot(self) -> int:
        """The number of files read."""
        return self._next


class Bodies(FixedPartitionedSource[bytes, int]):
    """The files of a folder."""

    def __init__(self, files: list[Path]) -> None:
        self._files = files

    def list_parts(self) -> list[str]:
        """One part."""
        return ["all"]

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> _Bodies:
        """The part, from where it was."""
        return _Bodies(self._files, resume_state or 0)


def events(body: bytes) -> Iterator[Event]:
    """The events of a body: lines are cut at their spaces, nothing is checked."""
    found: dict[str, dict[str, str]] = {}
    for line in body.decode().splitlines():
        _, predicate, value, graph, *_ = line.split(" ")
        if graph != ".":
            found.setdefault(graph, {})[predicate] = value
    for properties in found.values():
        key = properties.pop(KEY)
        yield key, next(iter(properties.items()))


def pairs(waiting: list[str] | None, event: tuple[str, str]) -> tuple[list[str], list[str]]:
    """What waits, and the rows of an event."""
    predicate, value = event
    kept = waiting or []
    if predicate == ALARM:
        return [], [f"{each} {value}" for each in kept]
    return ([*kept, value] if predicate == RARE else kept), []


def main() -> None:
    """Run the flow over so many events."""
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    recovery = folder / f"recovery {count}"
    recovery.mkdir()
    init_db_dir(recovery, 1)
    flow = Dataflow("pairs")
    bodies = op.input("bodies", flow, Bodies(sorted(folder.glob("*.nq")) if count else []))
    matched = op.stateful_flat_map(
        "pairs", op.flat_map("events", bodies, events), lambda kept, event: pairs(kept, event)
    )
    op.output("rows", matched, FileSink(folder / "rows"))
    cli_main(flow, epoch_interval=timedelta(seconds=1), recovery_config=RecoveryConfig(str(recovery)))


if __name__ == "__main__":
    main()
