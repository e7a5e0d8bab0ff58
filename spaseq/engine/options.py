"""Options and counters of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from automata.plan.program import RUNS_MAX
from sparql_gpm.rdf_io import BATCH_EVENTS, PROV_TIME
from sparql_gpm.reading.blocks import LINE_BYTES_MAX

_BATCHES_MAX = 6
"""The largest factor of the batch size when many queries share a batch: memory grows with it."""
_QUERIES_A_BATCH = 4


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run; only those of time and lateness change rows.

    evaluator           auto, or one by name
    runtime             embedded
    max_delay_ns        by how much an event may be late
    dead_letter         the file of dead letters; None: they are only counted
    strict              stop at the first dead letter
    time_predicates     the properties that state an event's time
    arrival_time        the time of an event is that at which it is read
    batch_events        events in a batch; None: of files, by the number of queries
    compiled            evaluators with compiled kernels may be chosen: they pay on long input. None: `run` and `Job`
                        look at the size of their files, `Engine` does without
    max_runs            the most partial matches of one query; one that needs more is stopped, the others go on
    max_line            the longest line, statement or graph block, or document of one event that is read, in bytes;
                        a longer one is a dead letter
    allow_hosts         the only hosts that endpoints may be on; None: those that queries and knowledge bases name
    optimise            queries are rewritten to equivalent ones first (`spaseq.optimise`)
    loading             called with a file of a knowledge base, the bytes read and the bytes in all
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
    max_runs: int = RUNS_MAX
    max_line: int = LINE_BYTES_MAX
    allow_hosts: tuple[str, ...] | None = None
    optimise: bool = True
    loading: Callable[[str, int, int], None] | None = None

    def batch_events_for(self, queries: int) -> int:
        """Events in a batch that so many queries share: each query has a fixed cost for each batch."""
        if self.batch_events is not None:
            return self.batch_events
        return BATCH_EVENTS * max(1, min(_BATCHES_MAX, queries // _QUERIES_A_BATCH))


@dataclass(slots=True)
class Statistics:
    """Counters of a run, live while it goes on.

    lag_ns          how far the slowest stream is behind the newest, in event time
    dead_letters    letters by sort
    skipped_rows    for each skipped endpoint that failed, the rows that it left without solutions
    replanned       for each query whose evaluator was exchanged while it ran: the exchanges, in words
    """

    events: int = 0
    matches: int = 0
    lag_ns: int = 0
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    skipped_rows: Mapping[str, int] = field(default_factory=dict)
    replanned: Mapping[str, Sequence[str]] = field(default_factory=dict)
