"""How queries are run, and what is counted while they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sparql_gpm.rdf_io import BATCH_EVENTS, PROV_TIME

_BATCHES_MAX = 6
"""A batch becomes so many times as large where many queries share it, and no larger: memory grows with it."""
_QUERIES_A_BATCH = 4


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How queries are run; no option changes a row but those about time and lateness.

    evaluator           auto, or one by name
    runtime             embedded
    max_delay_ns        by how much an event may be late
    dead_letter         where to write what cannot be used; None: it is only counted
    strict              stop at the first thing that cannot be used
    time_predicates     the properties that state an event's time
    arrival_time        events get the time at which they are read
    batch_events        events handled at a time; None: of files, the more the more queries there are
    compiled            evaluators with compiled kernels may be chosen: they pay on long input. None: `run` and `Job`
                        look at the size of their files, `Engine` does without
    allow_hosts         the only hosts that endpoints may be on; None: those that queries and knowledge bases name
    optimise            queries are rewritten to equivalent ones first (`spaseq.optimise`)
    loading             told of a file of a knowledge base how many bytes were read, and of how many
    """

    evaluator: str = "auto"
    runtime: str = "embedded"
    max_delay_ns: int = 0
    dead_letter: Path | None = None
    strict: bool = False
    time_predicates: tuple[str, ...] = (PROV_TIME,)
    arrival_time: bool = False
    batch_events: int | None = None
    compiled: bool | None = None
    allow_hosts: tuple[str, ...] | None = None
    optimise: bool = True
    loading: Callable[[str, int, int], None] | None = None

    def batch_events_for(self, queries: int) -> int:
        """Events handled at a time by so many queries: each has a cost of its own for each batch."""
        if self.batch_events is not None:
            return self.batch_events
        return BATCH_EVENTS * max(1, min(_BATCHES_MAX, queries // _QUERIES_A_BATCH))


@dataclass(slots=True)
class Statistics:
    """Counters of a run, live while it goes on.

    lag_ns          how far the slowest stream is behind the newest, in event time
    dead_letters    letters by sort
    skipped_rows    for each endpoint that failed and was to be skipped, the rows that were joined with nothing
    replanned       for each query whose evaluator was exchanged while it ran: when, for which and why, in words
    """

    events: int = 0
    matches: int = 0
    lag_ns: int = 0
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    skipped_rows: Mapping[str, int] = field(default_factory=dict)
    replanned: Mapping[str, Sequence[str]] = field(default_factory=dict)
