"""Streams that go on: an event that may still come would let an attempt go on, or decides whether a match is a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparql_gpm.times import TIME_NS_MAX
from spaseq.outputs.attempts import Fault
from spaseq.outputs.rows import time_text
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.places import Step
from spaseq.runtime.why.runs import FOREVER, Run
from spaseq.runtime.why.search import Search

Watermarks = Mapping[str, int]
"""By the name of a stream that goes on, the time before which no event is to come."""


def waits_for_event(search: Search, run: Run, step: Step, streams: Watermarks, most: int) -> Fault | None:
    """The fault of a run that an event on one of these streams may still let go on; None: none may come in time.

    most    the last time of an event that is asked about
    """
    until = min(_last_time(search, run, step), most)
    open_ = [name for name, watermark in streams.items() if watermark <= until]
    if not open_:
        return None
    return _waiting(open_[0], until, f"wait for an event on stream {open_[0]}")


def waits_for_decision(evidence: Evidence, run: Run, streams: Watermarks) -> Fault:
    """The fault of a match that is not reported yet: earlier events may come, or some that it says are absent."""
    world = evidence.worlds[0]
    last = max(world.merged.times[event] for event in run.events)
    behind, _ = min(streams.items(), key=lambda each: each[1])
    until = last
    if evidence.compiled.plan.trails:
        until = world.frame.last_time(min(run.events))
        patience = evidence.compiled.plan.patience
        if all(each is not None for each in patience):
            until = min(until, last + max((each for each in patience if each is not None), default=0))
    return _waiting(behind, until, f"wait until the watermark of stream {behind} has passed")


def _last_time(search: Search, run: Run, step: Step) -> int:
    """The last time of an event that a run may take as a step; FOREVER where no time says so."""
    if not run.events:
        return FOREVER
    world = search.world
    times = world.merged.times
    ends = [world.frame.last_time(min(run.events))]
    if step.limit is not None and run.last:
        ends.append(max(times[event] for event in run.last) + step.limit)
    for begun, limit in run.bounds:
        inside: Sequence[int] = [times[event] for event in run.events[begun:]]
        if inside:
            ends.append(min(inside) + limit)
    return min(ends)


def _waiting(stream: str, until: int, repair: str) -> Fault:
    known = until < min(FOREVER, TIME_NS_MAX)
    detail = {"stream": stream, "until": time_text(until) if known else None}
    return Fault("waiting", detail, f"{repair} {time_text(until)}" if known and repair.endswith("passed") else repair)
