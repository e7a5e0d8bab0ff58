"""Options and counters of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from arrays.times import TIME_NS_MAX
from automata.plan.program import RUNS_MAX
from sparql_gpm.bounds import SOLUTIONS_MAX, MatchBounds
from sparql_gpm.rdf_io import BATCH_EVENTS, PROV_TIME
from sparql_gpm.reading.blocks import LINE_BYTES_MAX
from sparql_gpm.reading.options import READERS_MAX
from spaseq.errors import InputError
from spaseq.inputs.event_times import CHOICES, UNITS_NS, TimeReading, is_path, is_time, reading_of

_BATCHES_MAX = 6
"""The largest factor of the batch size when many queries share a batch: memory grows with it."""
_QUERIES_A_BATCH = 4


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= TIME_NS_MAX


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _all(value: object, test: Callable[[str], bool]) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(each, str) and test(each) for each in value)


def _by_name(value: object, kind: Any) -> bool:
    given = list(value.values()) if isinstance(value, Mapping) else [value]
    return value is None or (bool(given) and all(isinstance(each, kind) for each in given))


_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "max_delay_ns": (lambda value: _is_whole(value, 0), "a number of nanoseconds from 0 on"),
    "dead_letter": (lambda value: value is None or isinstance(value, str | os.PathLike), "the path of a file"),
    "strict": (_is_flag, "True or False"),
    "time_predicates": (lambda value: bool(value) and _all(value, is_path), "a tuple of absolute IRIs or paths"),
    "time_choice": (lambda value: value is None or value in CHOICES, "earliest, latest or None"),
    "time_unit": (lambda value: isinstance(value, str) and value in UNITS_NS, f"one of {', '.join(UNITS_NS)}"),
    "time_origin": (lambda value: value is None or (isinstance(value, str) and is_time(value)), "an xsd:dateTime text"),
    "template": (lambda value: _by_name(value, str | os.PathLike), "the path of a template, or paths by stream"),
    "input_format": (lambda value: _by_name(value, str), "the name of a format, or names by stream"),
    "contexts": (lambda value: isinstance(value, Mapping), "a mapping from URLs to paths of JSON-LD contexts"),
    "columns": (lambda value: _all(value, bool), "a tuple of names of columns"),
    "delimiter": (lambda value: isinstance(value, str) and len(value) == 1 and value.isascii(), "one character"),
    "arrival_time": (_is_flag, "True or False"),
    "unordered": (_is_flag, "True or False"),
    "quiet_end_s": (lambda value: value == 0 or _is_seconds(value), "a number of seconds from 0 on"),
    "follow": (_is_flag, "True or False"),
    "batch_events": (lambda value: value is None or _is_whole(value, 1), "a number from 1 on"),
    "threads": (lambda value: value is None or _is_whole(value, 1), "a number from 1 on"),
    "compiled": (lambda value: value is None or _is_flag(value), "True, False or None"),
    "max_runs": (lambda value: _is_whole(value, 1), "a number of partial matches, at least 1"),
    "max_line": (lambda value: _is_whole(value, 1), "a number of bytes from 1 on"),
    "max_solutions": (lambda value: _is_whole(value, 1), "a number from 1 on"),
    "max_event_seconds": (lambda value: value is None or _is_seconds(value), "a positive number of seconds or None"),
    "allow_hosts": (lambda value: value is None or _all(value, bool), "a tuple of host names"),
    "optimise": (_is_flag, "True or False"),
    "analyze": (_is_flag, "True or False"),
    "loading": (lambda value: value is None or callable(value), "a function"),
}
"""Option → a test of its value, and the values that pass."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run; only those of time and lateness change rows.

    evaluator           auto, or one by name
    runtime             embedded
    max_delay_ns        by how much an event may be late
    dead_letter         the file of dead letters; None: they are only counted
    strict              stop at the first dead letter
    time_predicates     the properties that state an event's time, IRIs or paths `<IRI1>/<IRI2>`
    time_choice         of several values inside a graph the "earliest" or "latest"; None: the event is malformed
    time_unit           what a number counts: s, ms, us or ns
    time_origin         the xsd:dateTime at which numbers begin; None: 1970
    template            of the rows of tables: the path of a template, or paths by the name or IRI of a stream
    input_format        of inputs: the name of a format, or names by stream; None: their suffixes say it
    contexts            of JSON-LD: the path of the file by URL; none is ever fetched
    columns             names of the columns of CSV without a header
    delimiter           between the cells of CSV
    arrival_time        the time of an event is that at which it is read
    unordered           files are grouped by graph and sorted by time first, all of them; `Engine` does not
    quiet_end_s         seconds of silence after which an event of a pipe is complete, if it has its time and its last
                        line is whole; 0: when the next one begins
    follow              files are read as they grow, for ever
    batch_events        events in a batch; None: of files, by the number of queries
    threads             that read long N-Quads, at most; with more than one, batches are read while those before them
                        are evaluated. None: one for each processor
    compiled            evaluators with compiled kernels may be chosen: they pay on long input. None: `run` and `Job`
                        look at the size of their files; on less, and in `Engine`, kernels take over once they pay
    max_runs            the most partial matches of one query; one that needs more is stopped, the others go on
    max_line            the longest line, statement or graph block, or document of one event that is read, in bytes;
                        a longer one is a dead letter
    max_solutions       solutions of one pattern in one event
    max_event_seconds   CPU time of matching one pattern in one event; None: any. What exceeds either is a dead letter
                        and has no solution of that pattern
    allow_hosts         the only hosts that endpoints may be on; None: those that queries and knowledge bases name
    optimise            queries are rewritten to equivalent ones first (`spaseq.optimise`), and triples that they cannot
                        use may not be read
    analyze             count the funnel of each query, in `run` and `Job`: the events that each part of it leaves over
    loading             called with a file of a knowledge base, the bytes read and the bytes in all
    """

    evaluator: str = "auto"
    runtime: str = "embedded"
    max_delay_ns: int = 0
    dead_letter: Path | None = None
    strict: bool = False
    time_predicates: tuple[str, ...] = (PROV_TIME,)
    time_choice: str | None = None
    time_unit: str = "s"
    time_origin: str | None = None
    template: Mapping[str, str | os.PathLike[str]] | str | os.PathLike[str] | None = None
    input_format: Mapping[str, str] | str | None = None
    contexts: Mapping[str, str | os.PathLike[str]] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    delimiter: str = ","
    arrival_time: bool = False
    unordered: bool = False
    quiet_end_s: float = 0.05
    follow: bool = False
    batch_events: int | None = None
    threads: int | None = None
    compiled: bool | None = None
    max_runs: int = RUNS_MAX
    max_line: int = LINE_BYTES_MAX
    max_solutions: int = SOLUTIONS_MAX
    max_event_seconds: float | None = None
    allow_hosts: tuple[str, ...] | None = None
    optimise: bool = True
    analyze: bool = False
    loading: Callable[[str, int, int], None] | None = None

    def __post_init__(self) -> None:
        for name, (test, expected) in _RULES.items():
            if not test(value := getattr(self, name)):
                raise InputError(f"the option {name} is {expected}, not {value!r:.100}")

    @staticmethod
    def of(options: Mapping[str, Any]) -> RunOptions:
        """The options by name; raises InputError for one that does not exist or has a wrong value."""
        known = [each.name for each in fields(RunOptions)]
        if unknown := next((name for name in options if name not in known), None):
            raise InputError(f"there is no option {unknown}", hint=f"the options are {', '.join(known)}")
        return RunOptions(**options)

    @property
    def reader_threads(self) -> int:
        """The threads that read a stream: those allowed, but no more than there are processors."""
        has_affinity = hasattr(os, "sched_getaffinity")
        processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
        return min(self.threads or processors, processors, READERS_MAX)

    def time_reading(self, prefixes: Mapping[str, str]) -> TimeReading:
        """The properties of time as readers take them; prefixed names are those of queries with these prefixes."""
        return reading_of(self.time_predicates, self.time_choice, self.time_unit, self.time_origin, prefixes)

    @property
    def match_bounds(self) -> MatchBounds:
        """The bounds on matching one event."""
        return MatchBounds(self.max_solutions, self.max_event_seconds)

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
