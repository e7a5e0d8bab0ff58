"""The events that remove a complete run: those of what is negated, and those that extend a possessive repetition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from spaseq.algebra.written import elements_written
from spaseq.outputs.attempts import Fault
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.faults import Faults
from spaseq.runtime.why.places import Place
from spaseq.runtime.why.runs import Run
from spaseq.runtime.why.search import Search, whole

OCCURRENCES_MAX = 10
"""Events of one negation or repetition that are named; if more are in the way, it is to be left out itself."""


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """One occurrence of what must not occur.

    place   the negation's or the repetition's
    events  its events, in the order of the steps
    """

    cause: str
    number: int
    place: Place
    events: Sequence[int]


def in_the_way(known: Faults, run: Run) -> list[tuple[str, Fault]]:
    """Everything that must not occur and does, as the query writes it, with each event that is to be removed.

    Without one event others may count that it kept from counting: so they are found one after the other, each in the
    events that the ones before have left.
    """
    evidence, search, left_out = known.evidence, known.search, list[_Obstacle]()
    while True:
        found = _removable(search, run)
        crowd = next((each for each in found if _is_crowd(each, found, run)), None)
        if crowd is None:
            break
        left_out.append(crowd)
        run = _without(run, crowd)
    faults = [*(_leave_out(evidence, each) for each in left_out), *(_remove(evidence, each) for each in found)]
    named = [(written(evidence, each.place), fault) for each, fault in zip([*left_out, *found], faults, strict=True)]
    frame = search.world.without(frozenset(each.events[0] for each in found)).frame
    return [*(("", fault) for fault in known.window(frame, run.events)), *named]


def _removable(search: Search, run: Run) -> list[_Obstacle]:
    """Events, one of each obstacle, without which the run is a match; or one obstacle too many, or one of its own."""
    found: list[_Obstacle] = []
    world, own = search.world, frozenset(run.events)
    while True:
        remaining = whole(world.without(frozenset(each.events[0] for each in found)))
        obstacle = next(_obstacles(remaining, run), None)
        if obstacle is None:
            return found
        others = [event for event in obstacle.events if event not in own]
        found.append(replace(obstacle, events=others))
        if not others or sum(each.number == obstacle.number for each in found) > OCCURRENCES_MAX:
            return found


def _obstacles(search: Search, run: Run) -> Iterator[_Obstacle]:
    taken = len(run.entries)
    for gap, occurred in search.occurring(run):
        events = tuple(dict.fromkeys(occurred.events[taken:]))
        yield _Obstacle("absence", gap.place, search.world.negated[gap.place], events)
    for end, event in search.extended(run):
        yield _Obstacle("extendable", end.loop.number, end.loop, (event,))


def _is_crowd(obstacle: _Obstacle, found: Sequence[_Obstacle], run: Run) -> bool:
    """True if the events of an obstacle cannot be removed, or are too many to name."""
    return not obstacle.events or sum(each.number == obstacle.number for each in found) > OCCURRENCES_MAX


def _without(run: Run, obstacle: _Obstacle) -> Run:
    """The run without what an obstacle is in the way of."""
    if obstacle.cause == "absence":
        gaps, still_open = ([g for g in own if g.place != obstacle.number] for own in (run.gaps, run.open))
        return replace(run, gaps=tuple(gaps), open=tuple(still_open))
    ends, left = ([e for e in own if e.loop.number != obstacle.number] for own in (run.ends, run.left))
    return replace(run, ends=tuple(ends), left=tuple(left))


def _remove(evidence: Evidence, obstacle: _Obstacle) -> Fault:
    names = tuple(dict.fromkeys(map(evidence.name, obstacle.events)))
    if obstacle.cause == "extendable":
        return Fault("extendable", {"event": names[0]}, f"remove <{names[0]}>, which extends it")
    detail = {"event": names[0], **({"events": names} if len(names) > 1 else {})}
    return Fault("absence", detail, f"remove <{names[0]}>")


def _leave_out(evidence: Evidence, obstacle: _Obstacle) -> Fault:
    text = written(evidence, obstacle.place)
    if obstacle.cause == "extendable":
        return Fault("extendable", {"repetition": text}, f"write {text} so that it is not possessive")
    return Fault("absence", {"negation": text}, f"leave out the absence of {text}: too many events are in the way")


def written(evidence: Evidence, place: Place) -> str:
    """A part of the sequence as the query writes it."""
    return elements_written(evidence.compiled.query, [place.node])
