"""The options of readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sparql_gpm.reading.blocks import LINE_BYTES_MAX
from sparql_gpm.reading.event_times import TimeRule
from sparql_gpm.reading.predicate_filter import PredicateFilter

PROV_TIME = "http://www.w3.org/ns/prov#generatedAtTime"
BATCH_EVENTS = 10_000
READERS_MAX = 4
"""Threads that read one stream: more of them wait for the one that makes batches of what they read."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of a reader.

    time_predicates     IRIs of the predicates that state an event's time
    arrival_time        a clock in nanoseconds: events get its time, and timestamp triples are ignored
    batch_events        events in a batch, at most; fewer at the end, and when a live stream pauses
    stream              names events without a graph IRI: urn:spaseq:event:STREAM:N
    compiled            N-Quads, TriG and Jelly are read by compiled kernels; None: where the input is long enough
    line_bytes_max      the longest line, statement or graph block, or document of one event that is read
    bytes_expected      a lower bound of the length of this process's input, as far as it is known
    contexts            of JSON-LD, by URL
    threads             that read N-Quads by kernels, the caller's included; events and ids do not depend on it
    predicates          the triples that are read, where a reader can leave out others; None: all
    time_rule           paths, choice and numbers: all else by which an event gets its time
    quiet_s             seconds without a byte after which the open event of a live stream is complete, if it has its
                        time and the last line is whole; None: with the next graph
    reopens             a graph that comes again after others is an event of its own, not malformed
    """

    time_predicates: tuple[str, ...] = (PROV_TIME,)
    arrival_time: Callable[[], int] | None = None
    batch_events: int = BATCH_EVENTS
    stream: str = "S"
    compiled: bool | None = None
    line_bytes_max: int = LINE_BYTES_MAX
    bytes_expected: int = 0
    threads: int = 1
    predicates: PredicateFilter | None = None
    time_rule: TimeRule = field(default_factory=TimeRule)
    contexts: Mapping[str, Any] = field(default_factory=dict)
    reopens: bool = False
    quiet_s: float | None = None
