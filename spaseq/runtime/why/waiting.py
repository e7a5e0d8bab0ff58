"""Streams that go on: an event that may still come would let an attempt go on, or decides whether a match is a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from arrays.times import AFTER_ALL, TIME_NS_MAX
from automata.plan.expression import Contiguity
from spaseq.algebra.partitions import as_written
from spaseq.outputs.attempts import Attempt, Fault
from spaseq.outputs.rows import time_text
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.furthest import Furthest, Stuck
from spaseq.runtime.why.places import NOTHING, Step
from spaseq.runtime.why.reasons import bound, events_of
from spaseq.runtime.why.runs import Run, seen_from
from spaseq.runtime.why.search import Search

Watermarks = Mapping[str, int]
"""By the name of a stream that goes on, the time before which no event is to come."""


def with_waiting(
    evidence: Evidence, furthest: Furthest, attempts: Sequence[Attempt], streams: Watermarks
) -> list[Attempt]:
    """The attempts, before them those that an event which may still come would let go on; these have not ended.

    An attempt without events waits only where there is no event that could be its first.
    """
    waiting = {
        _identity(attempt): attempt
        for stuck in furthest.kept
        for attempt in _going_on(evidence, furthest, stuck, streams)
    }
    ended = {_identity(attempt) for attempt in attempts if _has_ended(attempt)}
    shown = [attempt for identity, attempt in waiting.items() if attempt.events or identity in ended]
    return [*shown, *(each for each in attempts if not (_has_ended(each) and _identity(each) in waiting))]


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
    waits = f"the watermark of stream {behind} has passed {time_text(until)}" if until < TIME_NS_MAX else "more come"
    return _fault(behind, until, f"wait until {waits}")


def _going_on(evidence: Evidence, furthest: Furthest, stuck: Stuck, streams: Watermarks) -> Iterator[Attempt]:
    """The attempt of a run that an event may still let go on; an event that the step has to take is there already."""
    step, run, asked, query = stuck.step, stuck.run, furthest.asked, evidence.compiled.query
    if step is None or any(s in asked.pins and s not in furthest.repeated for s in step.place.symbols):
        return
    if (stuck.ahead or NOTHING).operator is Contiguity.STRICT and _has_later(evidence, run):
        return
    until = min(_last_time(stuck.search, run, step), asked.most)
    read = {stream for symbol in step.place.symbols for stream in query.patterns[symbol].streams}
    names = [query.streams[stream][0] for stream in sorted(read)]
    open_ = [name for name in names if name in streams and streams[name] <= until]
    if open_:
        fault = _fault(open_[0], until, f"wait for an event on stream {open_[0]}")
        given = stuck.search.world.given if run.entries else {}
        bindings = tuple((as_written(name), term) for name, term in bound(evidence, seen_from(run.entries, (), given)))
        name = " & ".join(query.patterns[symbol].name for symbol in step.place.symbols)
        yield Attempt(events_of(evidence, run), bindings, name, None, (fault,))


def _identity(attempt: Attempt) -> object:
    return attempt.events, attempt.bindings, attempt.step


def _has_ended(attempt: Attempt) -> bool:
    return any(fault.cause == "end" for fault in attempt.faults)


def _has_later(evidence: Evidence, run: Run) -> bool:
    """True if an event came after a run, on whatever stream."""
    merged = evidence.merged
    return any(merged.before(run.last, (event,)) for event in range(min(run.last, default=0), merged.count))


def _last_time(search: Search, run: Run, step: Step) -> int:
    """The last time of an event that a run may take as a step; AFTER_ALL where no time says so."""
    if not run.events:
        return AFTER_ALL
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


def _fault(stream: str, until: int, repair: str) -> Fault:
    known = until < TIME_NS_MAX
    return Fault("waiting", {"stream": stream, "until": time_text(until) if known else None}, repair)
