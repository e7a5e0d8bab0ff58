"""The attempts of why-not are the partial matches of the reference that come furthest, and their causes are true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, map_children
from automata.plan.program import Window
from sparql_gpm.algebra.parts import parts_of, triple_text, with_parts
from sparql_gpm.terms import BlankNode, Term
from sparql_gpm.times import TIME_NS_MAX, TIME_NS_MIN
from spaseq.lang.ast import Define, Query, TopLevelFilter
from spaseq.outputs.attempts import Attempt
from spaseq.runtime.why.furthest import Analysis, Asked, Furthest
from tests.random_pairs import drawn
from tests.reference.graph import Solution
from tests.reference.run import MATCH, Run
from tests.reference.sequence import NOTHING, Before, Search, Then
from tests.reference.shape import Node, Path, Take, variants
from tests.reference.stream import Events, precedes
from tests.reference.world import World, partitions, whole_world
from tests.runtime.test_why_search import merged_events
from tests.why_evidence import evidence_of

PAIRS = 48
"""Random pairs."""
ENDLESS = Window(size=1 << 61, in_events=False, sliding=True)


@dataclass(frozen=True, slots=True)
class Watched(Search):
    """The reference's search, with every run that takes a step."""

    def walk(self, node: Node, run: Run, path: Path, ahead: Before, then: Then) -> Iterator[Run]:
        if not isinstance(node, Take):
            yield from Search.walk(self, node, run, path, ahead, then)
            return
        for events, longer in self.extensions(run, node, path, ahead.limit):
            if self.allowed(ahead, run, events):
                REACHED.append(longer)
                if len(REACHED) > RUNS_MAX:
                    raise TooMany
                yield from then(longer)


class TooMany(Exception):
    """More partial matches than are looked at."""


ATTEMPTS = 3
"""Attempts of a pair whose causes are repaired."""
RUNS_MAX = 5_000
REACHED: list[Run] = []
Reach = tuple[int, int]


def reach(run: Run) -> Reach:
    return len({entry.place for entry in run.entries}), len({entry.event for entry in run.entries})


def partial_matches(
    query: Query, events: Events, more: Attempt | None = None, lacking: Query | None = None
) -> tuple[list[Run], int]:
    """Every partial match by the reference, and the number of matches.

    more, lacking   the event that an attempt was to take has the solutions of this query's patterns, too
    """
    REACHED.clear()
    matches = 0
    for part in partitions(with_solutions(whole_world(query, events, {}), more, lacking)):
        search = Watched(part, part.frame.holds)
        owed = frozenset((MATCH, which) for which, _ in enumerate(part.waiting))
        for variant in variants(part.root):
            matches += sum(1 for _ in search.walk(variant, Run((), owed=owed), (), NOTHING, search.complete))
    return list(REACHED), matches


def with_solutions(world: World, more: Attempt | None, lacking: Query | None) -> World:
    if more is None or lacking is None:
        return world
    other, terms = whole_world(lacking, world.events, {}), joined_terms(more)
    patched = {name: dict(found) for name, found in world.solutions.items()}
    for step in more.step.split(" & "):
        for event, found in other.solutions.get(step, {}).items():
            if event.name == more.event:
                patched[step][event] = [*found, *(with_terms(solution, terms) for solution in found)]
    return replace(world, solutions=patched)


def joined_terms(attempt: Attempt) -> dict[str, Term]:
    """The terms of the run that the event was to have."""
    found: dict[str, Term] = {}
    for fault in attempt.faults:
        if fault.cause == "join":
            term = fault.detail["run"]
            local = BlankNode(term.label.partition(".")[2]) if isinstance(term, BlankNode) else term
            found.setdefault(fault.detail["variable"], local)
    return found


def with_terms(solution: Solution, terms: Mapping[str, Term]) -> Solution:
    return tuple(sorted((dict(solution) | {v: t for v, t in terms.items() if v in dict(solution)}).items()))


def taken(run: Run) -> frozenset[tuple[str, str]]:
    return frozenset((entry.step, entry.event.name) for entry in run.entries)


def attempts_of(query: Query, events: Events) -> tuple[Furthest, list[Attempt], bool]:
    evidence = evidence_of(query, events)
    furthest = Furthest(evidence, Asked({}, {}, TIME_NS_MIN, TIME_NS_MAX))
    found = furthest.look()
    return furthest, [] if found else Analysis(evidence, furthest, {}).attempts(), bool(found)


def cases(seed: int) -> Iterator[tuple[int, Query, Events]]:
    for number in range(PAIRS):
        pair = drawn(seed, number)
        if pair is not None and pair.query.window.hop is None:
            yield number, pair.query, merged_events(pair)


def test_the_attempts_are_the_partial_matches_of_the_reference_that_come_furthest() -> None:
    seen = 0
    for number, query, events in cases(31):
        try:
            partial, matches = partial_matches(query, events)
        except TooMany:
            continue
        furthest, attempts, found = attempts_of(query, events)
        assert found == bool(matches), number
        if found:
            continue
        best = max(map(reach, partial), default=(0, 0))
        if any(isinstance(node, nodes.AnyOrder) for node in nodes.walk(query.sequence)):
            continue  # the runs of a member are not yet joined with those of the others
        assert furthest.reach == best, number
        expected = {taken(run) for run in partial if reach(run) == best} or {frozenset()}
        mine = {frozenset((s, name) for s, names in attempt.events for name in names) for attempt in attempts}
        assert mine == expected, number
        seen += 1
    assert seen > PAIRS // 6


# --- causes, repaired -----------------------------------------------------------------------------------------------


def test_an_attempt_goes_further_once_its_causes_are_repaired() -> None:
    seen: Counter[str] = Counter()
    for number, query, events in cases(32):
        _, attempts, found = attempts_of(query, events)
        for attempt in () if found else attempts[:ATTEMPTS]:
            causes = {fault.cause for fault in attempt.faults}
            if "pattern" in causes and "EXISTS" in query.text:
                continue  # what EXISTS reads is a condition once no triple pattern binds it
            if any(fault.cause == "join" and fault.detail["variable"] in query.partition for fault in attempt.faults):
                continue  # another term may change the partitions of other events
            if causes <= REPAIRED.keys():
                check_repaired(number, query, events, attempt)
                seen.update(causes)
            elif causes == {"end"}:
                check_end(query, events, attempt)
                seen["end"] += 1
    assert {"window", "condition", "pattern", "end"} <= seen.keys(), seen


def check_repaired(number: int, query: Query, events: Events, attempt: Attempt) -> None:
    lacking = query
    for fault in attempt.faults:
        if fault.cause == "pattern":  # of this event: without it others may come in between
            lacking, _ = without_part(lacking, events, attempt, fault.detail)
        else:
            query, events = REPAIRED[fault.cause](query, events, attempt, fault.detail)
    prefix = {(step, name) for step, names in attempt.events for name in names}
    try:
        partial, matches = partial_matches(query, events, attempt, lacking)
    except TooMany:
        return
    if attempt.event is None:
        assert matches, (number, attempt)
    else:
        assert any(prefix < taken(run) for run in partial), (number, attempt)


def check_end(query: Query, events: Events, attempt: Attempt) -> None:
    last = max(
        (e for e in events if any(e.name in names for _, names in attempt.events)), key=lambda e: (e.time, e.position)
    )
    streams = {stream for d in query.defines if d.name in attempt.step.split(" & ") for stream in d.streams}
    assert not any(precedes(last, event) for event in events if event.stream in streams)


Detail = Mapping[str, Any]


def without_window(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    return replace(query, window=ENDLESS), events


def loosened(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    def loose(node: Any) -> Any:
        node = map_children(node, loose)
        match node:
            case nodes.Sequence(_, operators):
                return replace(node, operators=(Contiguity.ANY,) * len(operators))
            case nodes.Repetition():
                return replace(node, contiguity=Contiguity.ANY)
        return node

    return replace(query, sequence=loose(query.sequence)), events


def without_limits(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    def free(node: Any) -> Any:
        node = map_children(node, free)
        match node:
            case nodes.Limited(inner):
                return inner
            case nodes.Sequence():
                return replace(node, limits=())
        return node

    return replace(query, sequence=free(query.sequence)), events


def without_counts(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    def once(node: Any) -> Any:
        node = map_children(node, once)
        return replace(node, at_least=1) if isinstance(node, nodes.Repetition) else node

    return replace(query, sequence=once(query.sequence)), events


def without_filter(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    text = detail.get("text") or detail["filter"]

    def stays(written: TopLevelFilter) -> bool:
        own = " ".join(query.text[written.span.start : written.span.end].split())
        return text not in (own, f"FILTER {own}")

    defines = tuple(replace(d, filters=tuple(f for f in d.filters if stays(f))) for d in query.defines)
    filters = tuple(f for f in query.filters if stays(f))
    if (defines, filters) == (query.defines, query.filters):
        filters = ()  # one that reads a BIND is shown with its expression
    return replace(query, defines=defines, filters=filters), events


def without_part(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    if "filter" in detail:
        return without_filter(query, events, attempt, detail)

    def lacking(define: Define) -> Define:
        parts = parts_of(define.pattern)
        gone = {n for n, p in enumerate(parts) if p.triple is not None and triple_text(p.triple) == detail["pattern"]}
        return replace(define, pattern=with_parts(define.pattern, set(range(len(parts))) - gone))

    return replace(query, defines=tuple(map(lacking, query.defines))), events


def without_event(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    gone = detail.get("events", (detail["event"],))
    left = tuple(event for event in events if event.name not in gone)
    return query, tuple(replace(event, position=place) for place, event in enumerate(left))


def as_it_is(query: Query, events: Events, attempt: Attempt, detail: Detail) -> tuple[Query, Events]:
    """Nothing: `with_solutions` gives the event other terms, and the solutions of a pattern without a part."""
    return query, events


REPAIRED: Mapping[str, Callable[[Query, Events, Attempt, Detail], tuple[Query, Events]]] = {
    "window": without_window,
    "contiguity": loosened,
    "limit": without_limits,
    "iterations": without_counts,
    "condition": without_filter,
    "pattern": without_part,
    "absence": without_event,
    "extendable": without_event,
    "join": as_it_is,
}
"""The repair of each cause, as the reference sees it."""
